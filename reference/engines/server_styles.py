"""How trusted servers tell the logprobs of tokens that they are given. One class per way, tried in this order.

``prompt_logprobs``: vLLM's own parameter of its completions. ``echo``: the legacy completions of the OpenAI API, where
the prompt comes back with logprobs (SGLang, and others that kept it). ``one_token``: llama.cpp has neither, so each
position is asked for on its own, with the tokens before it as the prompt; its cache makes that one token's work.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol

from monitor.errors import GoldenError
from monitor.ports import ScoreTask, Tokenizer
from reference.engines.known import Known

_PIECE = "\ufffd"


class Ask(Protocol):
    """Posts JSON to a trusted server and returns the JSON of its answer."""

    def __call__(self, path: str, body: Mapping[str, Any]) -> Any:
        """Raises GoldenError with the server's own words when the answer is no success, or there is none."""
        ...

    def close(self) -> None:
        """Close the connections. Idempotent."""
        ...


class Style(Protocol):
    """One way."""

    name: ClassVar[str]

    def works(self, ask: Ask, model: str) -> bool:
        """Whether the server answers in this way."""
        ...

    def known(self, ask: Ask, model: str, task: ScoreTask, top_k: int, tokenizer: Tokenizer) -> list[Known]:
        """What the server knows at each position of the answer of `task`."""
        ...


class PromptLogprobs:
    """One request per task; alternatives by token id, and the rank of the given token."""

    name: ClassVar[str] = "prompt_logprobs"

    def works(self, ask: Ask, model: str) -> bool:
        """Whether a prompt of two tokens comes back with two entries."""
        return _tells(lambda: len(self._entries(ask, model, (1, 1), 1)) == 2)

    def known(self, ask: Ask, model: str, task: ScoreTask, top_k: int, tokenizer: Tokenizer) -> list[Known]:
        """What the server knows at each position."""
        del tokenizer
        ids = task.prompt_ids + task.completion_ids
        entries = self._entries(ask, model, ids, top_k)
        if len(entries) != len(ids):
            raise GoldenError(f"the server tells {len(entries)} prompt logprobs of {len(ids)} tokens")
        answer = zip(entries[len(task.prompt_ids) :], task.completion_ids, strict=True)
        return [self._position(entry, token, top_k) for entry, token in answer]

    def _entries(self, ask: Ask, model: str, ids: Sequence[int], top_k: int) -> list[Any]:
        body = {"model": model, "prompt": list(ids), "max_tokens": 1, "temperature": 0, "prompt_logprobs": top_k}
        return list(ask("/v1/completions", body)["choices"][0]["prompt_logprobs"])

    def _position(self, entry: Mapping[str, Any], token: int, top_k: int) -> Known:
        ranked = sorted(entry.items(), key=lambda item: int(item[1]["rank"]))
        top = [(int(identifier), float(value["logprob"])) for identifier, value in ranked][:top_k]
        own = entry[str(token)]
        return Known(top=top, others={token: float(own["logprob"])}, rank=int(own["rank"]) - 1)


class Echo:
    """One request per task; alternatives by their text, which does not always say the token."""

    name: ClassVar[str] = "echo"

    def works(self, ask: Ask, model: str) -> bool:
        """Whether a prompt of two tokens comes back with a logprob of the second."""
        return _tells(lambda: self._logprobs(ask, model, (1, 1), 1)["token_logprobs"][1] is not None)

    def known(self, ask: Ask, model: str, task: ScoreTask, top_k: int, tokenizer: Tokenizer) -> list[Known]:
        """What the server knows at each position."""
        ids = task.prompt_ids + task.completion_ids
        told = self._logprobs(ask, model, ids, top_k)
        if len(told["token_logprobs"]) < len(ids):
            raise GoldenError(f"the server echoes {len(told['token_logprobs'])} tokens of {len(ids)}")
        return [
            self._position(told["token_logprobs"][at], told["top_logprobs"][at] or {}, ids[at], top_k, tokenizer)
            for at in range(len(task.prompt_ids), len(ids))
        ]

    def _logprobs(self, ask: Ask, model: str, ids: Sequence[int], top_k: int) -> Mapping[str, Any]:
        body = {"model": model, "prompt": list(ids), "max_tokens": 1, "temperature": 0, "echo": True,
                "logprobs": top_k}  # fmt: skip
        told: Mapping[str, Any] = ask("/v1/completions", body)["choices"][0]["logprobs"]
        return told

    def _position(
        self, own: float, listed: Mapping[str, float], token: int, top_k: int, tokenizer: Tokenizer
    ) -> Known:
        """Pieces of characters all read U+FFFD, and overwrite one another: then who is most likely is not known."""
        ids = {text: token if value == own else tokenizer.token_id(text) for text, value in listed.items()}
        others = {identifier: float(listed[text]) for text, identifier in ids.items() if identifier is not None}
        others[token] = float(own)
        if any(_PIECE in text for text in listed) or None in ids.values():
            return Known(others=others)
        return Known(top=sorted(others.items(), key=lambda item: -item[1])[:top_k], others=others)


class OneToken:
    """One request per position. Where a wanted token is not among the alternatives, the whole vocabulary is asked."""

    name: ClassVar[str] = "one_token"

    _WIDE = 256
    _ALL = 1 << 20

    def works(self, ask: Ask, model: str) -> bool:
        """Whether the next token comes with alternatives that have ids."""
        del model
        return _tells(lambda: isinstance(self._top(ask, (1, 1), 2, 1)[0][0], int))

    def known(self, ask: Ask, model: str, task: ScoreTask, top_k: int, tokenizer: Tokenizer) -> list[Known]:
        """What the server knows at each position."""
        del model
        return list(self._positions(ask, task, top_k, tokenizer.encode("a")[0]))

    def _positions(self, ask: Ask, task: ScoreTask, top_k: int, spoken: int) -> Iterator[Known]:
        for at, token in enumerate(task.completion_ids):
            wanted = {token, *(task.gather[at] if task.gather else ())}
            ids = task.prompt_ids + task.completion_ids[:at]
            top = self._top(ask, ids, max(top_k, self._WIDE), spoken)
            if not wanted <= dict(top).keys():
                top = self._top(ask, ids, self._ALL, spoken)
            yield Known(top=top)

    def _top(self, ask: Ask, ids: Sequence[int], n: int, spoken: int) -> list[tuple[int, float]]:
        """Alternatives to the next token, which is made to be `spoken`: the model's own logprobs do not change by that.

        After a piece of a character llama.cpp would hold its answer back, and its logprobs with it.
        """
        body = {"prompt": list(ids), "n_predict": 1, "n_probs": n, "temperature": 0, "cache_prompt": True,
                "logit_bias": [[spoken, 1000.0]]}  # fmt: skip
        (entry,) = ask("/completion", body)["completion_probabilities"]
        return [(int(one["id"]), float(one["logprob"])) for one in entry["top_logprobs"] if one["logprob"] is not None]


STYLES: tuple[Style, ...] = (PromptLogprobs(), Echo(), OneToken())
"""All of them, the fastest first."""


def _tells(try_it: Any) -> bool:
    """Whether the server does what is tried; an answer of another shape is a no."""
    try:
        return bool(try_it())
    except (GoldenError, LookupError, TypeError, ValueError):
        return False

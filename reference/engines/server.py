"""A trusted server of one's own (vLLM, SGLang, llama.cpp) as golden engine: it computes, the golden folder reads.

The tokenizer and template are those of the golden folder, so the server only ever sees token ids when it scores. What
it can tell is its own most likely tokens; what lies outside them is not known (see `reference.engines.known`).
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self

from monitor.errors import GoldenError
from monitor.ports import Client, Scores, ScoreTask
from monitor.results import Fingerprint
from monitor.types import Capture, Request
from reference.engines.known import scores_of
from reference.engines.server_styles import STYLES, Ask, Style
from reference.tokenizer import GoldenTokenizer

# Texts that tokenizers split differently: digits, scripts, emoji, spaces.
_SAMPLES = ("12 boats and 345 stones", "naïve café  日本語 🙂", "def f(x):\n\treturn x ** 2\n")


@dataclass(frozen=True, kw_only=True, eq=False)
class ServerEngine:
    """Scores by asking a server (port `Scorer`), and passes requests on to it (port `Client`). Made by `connect`."""

    fingerprint: Fingerprint
    tokenizer: GoldenTokenizer
    model: str
    style: Style
    client: Client
    ask: Ask
    parallel: int

    @classmethod
    def connect(
        cls, *, fingerprint: Fingerprint, tokenizer: GoldenTokenizer, model: str, client: Client, ask: Ask,
        parallel: int = 4,
    ) -> Self:  # fmt: skip
        """Find out how the server tells logprobs, and whether its tokenizer is the golden one.

        Parameters
        ----------
        fingerprint : Fingerprint
            What the server is said to hold.
        tokenizer : GoldenTokenizer
            Of the golden folder.
        model : str
            The name that the server knows the model by.
        client : Client
            Sends whole requests.
        ask : Ask
            Posts JSON to a path of the server.
        parallel : int
            Requests in flight at once when scoring.

        Raises
        ------
        GoldenError
            When the server tells no logprobs of given tokens, or splits text otherwise than the golden tokenizer.
        """
        _check_tokenizer(ask, model, tokenizer)
        style = next((style for style in STYLES if style.works(ask, model)), None)
        if style is None:
            tried = ", ".join(style.name for style in STYLES)
            raise GoldenError(
                f"the server tells no logprobs of given tokens (tried {tried}); serve the model with vLLM, SGLang or "
                "llama.cpp, or use the engine torch"
            )
        return cls(fingerprint=fingerprint, tokenizer=tokenizer, model=model, style=style, client=client, ask=ask,
                   parallel=parallel)  # fmt: skip

    async def send(self, request: Request) -> Capture:
        """Pass `request` on."""
        return await self.client.send(request)

    def close(self) -> None:
        """Close the connections that scoring opened. Idempotent. What `send` opened belongs to its loop: `aclose`."""
        self.ask.close()

    async def aclose(self) -> None:
        """Close all connections. Idempotent."""
        self.close()
        await self.client.aclose()

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        """Score all `tasks`; results in the order of `tasks`.

        Raises
        ------
        GoldenError
            When a prompt is empty, or the server refuses or does not answer.
        """
        return [scores for _, scores in sorted(self.score_each(tasks, top_k=top_k), key=lambda pair: pair[0])]

    def score_each(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> Iterator[tuple[int, Scores]]:
        """Score `tasks`; yield (index, scores), tasks of the same prompt together so that its cache serves them."""
        empty = next((at for at, task in enumerate(tasks) if not task.prompt_ids), None)
        if empty is not None:
            raise GoldenError(f"score task {empty}: empty prompt; the first token of an answer needs one before it")
        order = sorted(range(len(tasks)), key=lambda at: tasks[at].prompt_ids)
        with ThreadPoolExecutor(self.parallel, "golden-server") as pool:
            yield from zip(order, pool.map(lambda at: self._scores(tasks[at], top_k), order), strict=True)

    def _scores(self, task: ScoreTask, top_k: int) -> Scores:
        if not task.completion_ids:
            return scores_of(task, (), top_k=top_k)
        try:
            known = self.style.known(self.ask, self.model, task, top_k, self.tokenizer)
        except (LookupError, TypeError, ValueError) as error:
            raise GoldenError(f"the server's logprobs have another shape than before: {error!r}") from error
        return scores_of(task, known, top_k=top_k)


def _check_tokenizer(ask: Ask, model: str, tokenizer: GoldenTokenizer) -> None:
    """Compare how text is split, where the server can be asked (vLLM and llama.cpp can)."""
    for text in _SAMPLES:
        wanted = {"model": model, "content": text, "prompt": text, "add_special": False, "add_special_tokens": False}
        try:
            found = ask("/tokenize", wanted)["tokens"]
        except (GoldenError, LookupError, TypeError):
            return
        if found != tokenizer.encode(text):
            raise GoldenError(f"the server splits {text!r} into other tokens than the golden tokenizer: another model?")

"""Golden weights without weights: a character tokenizer, and logits that follow from the context by a hash."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson

from monitor.ports import Floats, Scores, ScoreTask
from monitor.results import Fingerprint
from monitor.stats.samplers import RULES, Rule
from monitor.types import Capture, Read, Request

VOCABULARY = 256
EOS = 0
_OF_TOKENS = np.random.default_rng(1).normal(0, 1, VOCABULARY)


class FakeTokenizer:
    """One token per Latin-1 character; the template is ``role: content|``; a default system turn is put in front."""

    def __init__(self, *, system: str = "be kind") -> None:
        self._system = system

    def prompt_ids(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        turns = [{"role": "system", "content": self._system}] if self._system else []
        text = "".join(f"{turn['role']}: {turn['content']}|" for turn in (*turns, *messages))
        return self.encode(text + "assistant: ")

    def prompt_parts(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> dict[str, int]:
        system = len(f"system: {self._system}|") if self._system else 0
        stub = len("assistant: ")
        return {"system": system, "tools": 0, "stub": stub,
                "history": len(self.prompt_ids(messages)) - system - stub}  # fmt: skip

    def encode(self, text: str) -> list[int]:
        return list(text.encode("latin-1", "replace"))

    def decode(self, ids: Sequence[int]) -> str:
        return bytes(ids).decode("latin-1")

    def token_id(self, token: str, raw: Sequence[int] | None = None) -> int | None:
        data = bytes(raw) if raw is not None else token.encode("latin-1", "replace")
        return data[0] if len(data) == 1 else None

    @property
    def eos_ids(self) -> frozenset[int]:
        return frozenset({EOS})


def logprobs_after(context: Sequence[int], *, noise: float = 0.0, of_tokens: float = 0.5) -> Floats:
    """Log-probabilities (VOCABULARY,) after `context`; `noise` adds a fixed deviation.

    As with quantised weights, half of its variance (`of_tokens`) belongs to the token, the rest to the token in this
    context.
    """
    seed = int.from_bytes(hashlib.blake2b(bytes(context), digest_size=8).digest())
    rng = np.random.default_rng(seed)
    clean, deviation = rng.normal(0, 3, VOCABULARY), rng.normal(0, 1, VOCABULARY)
    logits = clean + noise * (np.sqrt(1 - of_tokens) * deviation + np.sqrt(of_tokens) * _OF_TOKENS)
    return np.asarray(logits - np.logaddexp.reduce(logits), dtype=np.float64)


def drawn(table: Floats, given: Sequence[int]) -> dict[str, Floats]:
    """What tests of samplers need of the distributions `table` (t, V), computed the plain way: an oracle too."""
    p = np.exp(table)
    said = [sorted(set(given[:at])) for at in range(len(given))]
    own = p[np.arange(len(given)), list(given)]
    return {
        "mass_above": np.array([row[row > mine].sum() for row, mine in zip(p, own, strict=True)]),
        "said_mass": np.array([row[ids].sum() for row, ids in zip(p, said, strict=True)]),
        "log_norms": np.array([[_log_norm(rule, row) for rule in RULES] for row in p]),
    }


def _log_norm(rule: Rule, p: Floats) -> float:
    ordered = np.sort(p)[::-1]
    if rule.kind == "temperature":
        return float(np.log((p ** (1 / rule.value)).sum()))
    if rule.kind == "top_k":
        kept = ordered[: int(rule.value)]
    elif rule.kind == "min_p":
        kept = ordered[ordered >= rule.value * ordered[0]]
    else:
        kept = ordered[: int(np.searchsorted(np.cumsum(ordered), rule.value)) + 1]
    return float(np.log(kept.sum()))


class FakeScorer:
    """Implements `monitor.ports.Scorer` over `logprobs_after`."""

    def __init__(self) -> None:
        self.tokenizer = FakeTokenizer()
        self.fingerprint = Fingerprint(
            digest="fake", weights_sha256="0", tokenizer_sha256="0", template_sha256="0", dtype="float64", engine="fake"
        )
        self.n_calls = 0

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        self.n_calls += 1
        return [self._one(task, top_k) for task in tasks]

    def close(self) -> None:
        return

    def _one(self, task: ScoreTask, top_k: int) -> Scores:
        context, rows = list(task.prompt_ids), []
        for token in task.completion_ids:
            rows.append(logprobs_after(context))
            context.append(token)
        table = np.stack(rows)
        order = np.argsort(-table, axis=1)
        given = np.array(task.completion_ids)
        own = table[np.arange(len(given)), given]
        return Scores(
            logprob=own,
            rank=(table > own[:, None]).sum(axis=1),
            entropy_nats=-(np.exp(table) * table).sum(axis=1),
            top_ids=order[:, :top_k],
            top_logprobs=np.take_along_axis(table, order, axis=1)[:, :top_k],
            gathered=tuple(row[list(ids)] for row, ids in zip(table, task.gather, strict=bool(task.gather))),
            **(drawn(table, task.completion_ids) if task.drawn else {}),
        )


class FakeEndpoint:
    """A `Client` that serves the fake weights with a deviation, another default system turn, or without logprobs.

    Requests at temperature 0 are answered greedily; others are sampled at `temperature_served` times what they ask.
    """

    def __init__(
        self, *, noise: float = 0.0, of_tokens: float = 0.5, system: str = "be kind", logprobs: bool = True,
        status: int = 200, temperature_served: float = 1.0, refuses_logprobs: bool = False,
    ) -> None:  # fmt: skip
        self._noise, self._of_tokens, self._tokenizer = noise, of_tokens, FakeTokenizer(system=system)
        self._logprobs, self._status = logprobs, status
        self._refuses = refuses_logprobs
        self._served, self._rng = temperature_served, np.random.default_rng(7)
        self.asked: list[Request] = []

    async def send(self, request: Request) -> Capture:
        self.asked.append(request)
        refused = self._refuses and request.top_logprobs is not None
        status = 400 if refused else self._status
        wrong = {"message": "logprobs is not supported", "type": "invalid_request_error", "param": "logprobs"}
        body = self._answer(request) if status == 200 else {"error": wrong if refused else {"message": "no"}}
        n = len(self.asked) * 1_000_000_000
        return Capture(
            request=request, sent=b"{}", started_at=datetime.now(UTC), status=status,
            headers=(("content-type", "application/json"),), t0_ns=n, sent_ns=n + 1, first_byte_ns=n + 2,
            reads=(Read(n + 50_000_000, orjson.dumps(body)),), eof_ns=n + 50_000_001, lag_ms=0.1,
        )  # fmt: skip

    async def aclose(self) -> None:
        return

    def _answer(self, request: Request) -> dict[str, Any]:
        prompt = self._tokenizer.prompt_ids(request.messages)
        context, entries, text = list(prompt), [], ""
        for _ in range(request.max_tokens):
            row = logprobs_after(context, noise=self._noise, of_tokens=self._of_tokens)
            order = np.argsort(-row)
            token = int(order[0]) if not request.temperature else self._draw(row, request.temperature)
            entries.append({**_entry(token, row), "top_logprobs": [_entry(int(i), row) for i in order[:20]]})
            context.append(token)
            text += chr(token)
        message = {"role": "assistant", "content": text}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "length"}
        if self._logprobs and request.top_logprobs:
            choice["logprobs"] = {"content": entries}
        usage = {"prompt_tokens": len(prompt), "completion_tokens": request.max_tokens}
        return {"model": "m", "choices": [choice], "usage": usage}

    def _draw(self, row: Floats, temperature: float) -> int:
        """Gumbel-max."""
        return int(np.argmax(row / (temperature * self._served) + self._rng.gumbel(size=row.size)))


def _entry(token: int, row: Floats) -> dict[str, Any]:
    return {"token": chr(token), "bytes": [token], "logprob": float(row[token])}

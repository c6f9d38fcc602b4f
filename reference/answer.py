"""A golden answer as the capture of a chat completion, so that every probe decodes it like any endpoint's."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

import numpy as np

from monitor.codec import encode
from monitor.ports import Floats
from monitor.types import Capture, Read, Request
from reference.tokenizer import GoldenTokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One generated token; ``top`` holds (id, logprob) of the most likely tokens, empty when not asked for."""

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()

    @classmethod
    def of(cls, token_id: int, logprobs: Floats, *, n_top: int) -> Self:
        """Return the step that took `token_id` where the vocabulary had `logprobs` (V,)."""
        order = np.argsort(-logprobs, kind="stable")[:n_top] if n_top else ()
        top = tuple((int(identifier), float(logprobs[identifier])) for identifier in order)
        return cls(token_id=token_id, logprob=float(logprobs[token_id]), top=top)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A generated answer; the end token, where there is one, is its last step."""

    prompt_ids: tuple[int, ...]
    steps: tuple[Step, ...]
    finish: Literal["stop", "length"]


def chat_body(answer: Answer, request: Request, tokenizer: GoldenTokenizer, *, model: str, fingerprint: str) -> bytes:
    """Return the body of a non-streamed chat completion.

    ``token_ids`` in the choice and ``prompt_token_ids`` are named as vLLM names them; like there, the end token counts
    as a completion token and has an entry in ``logprobs``.
    """
    ids = [step.token_id for step in answer.steps]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": tokenizer.visible_text(ids)},
        "finish_reason": answer.finish,
        "logprobs": None if request.top_logprobs is None else {"content": _entries(answer.steps, tokenizer)},
        "token_ids": ids,
    }
    n_prompt, n_answer = len(answer.prompt_ids), len(ids)
    usage = {"prompt_tokens": n_prompt, "completion_tokens": n_answer, "total_tokens": n_prompt + n_answer}
    document = {
        "id": f"golden-{request.prompt_id}",
        "object": "chat.completion",
        "model": model,
        "system_fingerprint": fingerprint,
        "choices": [choice],
        "prompt_token_ids": list(answer.prompt_ids),
        "usage": usage,
    }
    return encode(document)


def request_body(request: Request, *, model: str) -> bytes:
    """Return what an endpoint would have been sent: the evidence of what was asked."""
    asked: dict[str, Any] = {"model": model, "messages": request.messages, "max_tokens": request.max_tokens}
    for name in ("temperature", "top_p", "seed", "top_logprobs"):
        if getattr(request, name) is not None:
            asked[name] = getattr(request, name)
    if request.top_logprobs is not None:
        asked["logprobs"] = True
    if request.tools:
        asked["tools"] = request.tools
    return encode(asked)


def capture_of(
    request: Request, body: bytes, *, model: str, started_at: datetime, t0_ns: int, done_ns: int
) -> Capture:
    """Return the capture of an answer that arrived as a whole: one read, at the end."""
    return Capture(
        request=request,
        sent=request_body(request, model=model),
        started_at=started_at,
        status=200,
        headers=(("content-type", "application/json"),),
        reads=(Read(done_ns, body),),
        t0_ns=t0_ns,
        sent_ns=t0_ns,
        first_byte_ns=done_ns,
        eof_ns=done_ns,
    )


def _entries(steps: Sequence[Step], tokenizer: GoldenTokenizer) -> list[dict[str, Any]]:
    return [
        _entry(step.token_id, step.logprob, tokenizer)
        | {"top_logprobs": [_entry(identifier, logprob, tokenizer) for identifier, logprob in step.top]}
        for step in steps
    ]


def _entry(identifier: int, logprob: float, tokenizer: GoldenTokenizer) -> dict[str, Any]:
    raw = tokenizer.token_bytes(identifier)
    return {"id": identifier, "token": raw.decode("utf-8", "replace"), "bytes": list(raw), "logprob": logprob}

"""Golden answers, drawn once and kept: the same prompts come again with every run."""

import hashlib
import logging
from collections.abc import Mapping

import orjson

from monitor.errors import GoldenError, TaskRefusedError
from monitor.plurals import plural
from monitor.ports import Sampler, Scorer, Tokenizer
from monitor.types import Request

log = logging.getLogger(__name__)

Answers = tuple[tuple[int, ...], ...]
Drawn = dict[tuple[str, str, int, int], Answers]
"""Golden answers that were drawn already, by fingerprint, what was asked, length and number."""


def draw_new(
    asked: Mapping[str, Request], scorer: Scorer, n: int, drawn: Drawn, *, seed: int
) -> dict[str, Answers]:
    """Return `n` golden answers to each request, as token ids, by name; what `drawn` lacks is drawn and put there.

    None where the golden side cannot draw. Those that it refuses are left out, and the log says why.
    """
    if not isinstance(scorer, Sampler):
        return {}
    mark = scorer.fingerprint.digest
    keys = {name: (mark, _digest(request), request.max_tokens, n) for name, request in asked.items()}
    for length in {request.max_tokens for request in asked.values()}:
        new = [name for name, request in asked.items() if request.max_tokens == length and keys[name] not in drawn]
        ids = _prompts({name: asked[name] for name in new}, scorer.tokenizer)
        try:
            answers = scorer.draw(list(ids.values()), n=n, max_tokens=length, seed=seed) if ids else []
        except GoldenError as error:
            log.warning("no golden answers to %s: %s", plural(len(ids), "prompt"), error)
            continue
        drawn.update({keys[name]: tuple(map(tuple, some)) for name, some in zip(ids, answers, strict=True)})
    return {name: drawn[key] for name, key in keys.items() if key in drawn}


def _prompts(asked: Mapping[str, Request], tokenizer: Tokenizer) -> dict[str, list[int]]:
    """Golden prompts by name, without those that the template refuses: these cost the others nothing."""
    found = {}
    for name, request in asked.items():
        try:
            found[name] = tokenizer.prompt_ids(request.messages, request.tools)
        except TaskRefusedError as error:
            log.warning("no golden answers to %s: %s", name, error)
    return found


def _digest(request: Request) -> str:
    asked = orjson.dumps([request.messages, request.tools], default=dict)
    return hashlib.blake2b(asked, digest_size=16).hexdigest()

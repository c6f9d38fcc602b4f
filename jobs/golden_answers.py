"""Golden's own answers to the requests that an endpoint answered, for detectors that compare the two."""

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.drawing import Drawn, draw_new
from jobs.golden_calls import CallingClient
from jobs.tool_draws import SEED, draws_plainly, is_free
from monitor.codec import encode
from monitor.errors import GoldenError
from monitor.ports import Detector, Sampler, Scorer, Tokenizer, WantsAnswers
from monitor.results import RunRecord
from monitor.tools.case import case_id_of
from monitor.tools.draws import WantsToolDraws
from monitor.types import Choice, Exchange, Request
from monitor.wire.dispatch import decode
from reference.tool_parsers.families import family_of, parse

log = logging.getLogger(__name__)

_EFFORT = "reasoning_effort"
MOST_KEPT = 2000
"""Answers that are kept; most requests are drawn anew in every run, and the oldest go first."""


class GoldenAnswers:
    """Asks golden what an endpoint was asked, each thing once."""

    def __init__(self) -> None:
        self._known: dict[str, Exchange] = {}

    async def of(
        self, record: RunRecord, detectors: Sequence[Detector], scorer: Scorer | None, drawn: Drawn
    ) -> Mapping[str, Exchange]:  # fmt: skip
        """Return golden's answers by the id of the endpoint's exchange.

        Of a case that was asked in two forms one is answered: golden has one form. What golden draws for `tool_calls`
        (`drawn`) is taken for an answer; engines that draw can neither force a call nor think harder, so such requests
        are left out there.
        Empty where no detector wants answers, or this golden side gives none; those that fail are left out, and the log
        says why.
        """
        wanted = {kind for one in detectors if isinstance(one, WantsAnswers) for kind in one.paired}
        if record.run.probe not in wanted or scorer is None or not hasattr(scorer, "send"):
            return {}
        family = family_of(record.run.reference or "") or family_of(record.run.model)
        asked = _asked(record.exchanges)
        found: dict[str, Exchange] = {}
        if isinstance(scorer, Sampler):
            asked = {name: one for name, one in asked.items() if is_free(one) and _EFFORT not in one.extra}
            plain = {name: one for name, one in asked.items() if one.tools and draws_plainly(one)}
            found = await asyncio.to_thread(_drawn, plain, detectors, scorer, drawn, family)
        golden: Any = scorer
        client = CallingClient(golden, family) if family else golden
        rest = {name: one for name, one in asked.items() if name not in found}
        return found | await self._sent(rest, client, scorer.fingerprint.digest)

    async def _sent(self, asked: Mapping[str, Request], client: Any, digest: str) -> dict[str, Exchange]:
        found: dict[str, Exchange] = {}
        failed: list[str] = []
        for exchange_id, request in asked.items():
            key = _key(digest, request)
            try:
                found[exchange_id] = self._known.get(key) or decode(await client.send(request))
            except GoldenError as error:
                failed.append(f"{request.prompt_id}: {error}")
                continue
            self._keep(key, found[exchange_id])
        if failed:
            log.warning("golden does not answer %d of %d requests; first %s", len(failed), len(asked), failed[0])
        return found

    def _keep(self, key: str, answer: Exchange) -> None:
        self._known.pop(key, None)
        self._known[key] = answer
        while len(self._known) > MOST_KEPT:
            del self._known[next(iter(self._known))]


def _drawn(
    asked: Mapping[str, Request], detectors: Sequence[Detector], scorer: Scorer, drawn: Drawn, family: str | None
) -> dict[str, Exchange]:
    """The first of golden's draws as answers."""
    n = max((one.tool_draws for one in detectors if isinstance(one, WantsToolDraws)), default=0) or 1
    answers = draw_new(asked, scorer, n, drawn, seed=SEED) if asked else {}
    return {name: _answer(some[0], asked[name], scorer.tokenizer, family) for name, some in answers.items()}


def _answer(ids: Sequence[int], request: Request, tokenizer: Tokenizer, family: str | None) -> Exchange:
    """Token ids as an exchange."""
    text, cut = tokenizer.decode(ids), len(ids) >= request.max_tokens
    said = parse(text, family, request.tools) if family else None
    calls = said.tool_calls if said is not None else ()
    finish = "length" if cut else "tool_calls" if calls else "stop"
    return Exchange(
        request=request, outcome="ok_length" if cut else "ok" if text.strip() else "empty",
        choices=(Choice(content="" if calls else text, tool_calls=tuple(calls), finish=finish),),
        usage={"completion_tokens": len(ids)},
    )  # fmt: skip


def _asked(exchanges: Sequence[Exchange]) -> dict[str, Request]:
    """Requests that were answered, by exchange, not streamed; one for both forms of a case."""
    first: dict[tuple[str, int | None], Exchange] = {}
    for one in exchanges:
        if one.request is not None and one.answered:
            first.setdefault((case_id_of(one.request), one.request.seed), one)
    return {one.exchange_id: replace(one.request, stream=False) for one in first.values() if one.request is not None}


def _key(digest: str, request: Request) -> str:
    return hashlib.blake2b(digest.encode() + encode(request), digest_size=16).hexdigest()

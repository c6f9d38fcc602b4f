"""Golden's own answers to the requests that an endpoint answered, for detectors that compare the two."""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from jobs.golden_calls import CallingClient
from monitor.codec import encode
from monitor.errors import GoldenError
from monitor.ports import Detector, Scorer, WantsAnswers
from monitor.results import RunRecord
from monitor.tools.case import case_id_of
from monitor.types import Exchange, Request
from monitor.wire.dispatch import decode
from reference.tool_parsers.families import family_of

log = logging.getLogger(__name__)

MOST_KEPT = 2000
"""Answers that are kept; most requests are drawn anew in every run, and the oldest go first."""


class GoldenAnswers:
    """Asks golden what an endpoint was asked, each thing once."""

    def __init__(self) -> None:
        self._known: dict[str, Exchange] = {}

    async def of(
        self, record: RunRecord, detectors: Iterable[Detector], scorer: Scorer | None
    ) -> Mapping[str, Exchange]:  # fmt: skip
        """Return golden's answers by the id of the endpoint's exchange.

        Of a case that was asked in two forms one is answered: golden has one form. Empty where no detector wants
        answers, or this golden side does not answer; those that fail are left out, and the log says why.
        """
        wanted = {kind for one in detectors if isinstance(one, WantsAnswers) for kind in one.paired}
        if record.run.probe not in wanted or scorer is None or not hasattr(scorer, "send"):
            return {}
        family = family_of(record.run.reference or "") or family_of(record.run.model)
        golden: Any = scorer
        client = CallingClient(golden, family) if family else golden
        found: dict[str, Exchange] = {}
        for exchange_id, request in _asked(record.exchanges).items():
            key = _key(scorer.fingerprint.digest, request)
            try:
                found[exchange_id] = self._known.get(key) or decode(await client.send(request))
            except GoldenError as error:
                log.warning("golden does not answer %s: %s", request.prompt_id, error)
                continue
            self._keep(key, found[exchange_id])
        return found

    def _keep(self, key: str, answer: Exchange) -> None:
        self._known.pop(key, None)
        self._known[key] = answer
        while len(self._known) > MOST_KEPT:
            del self._known[next(iter(self._known))]


def _asked(exchanges: Sequence[Exchange]) -> dict[str, Request]:
    """Requests that were answered, by exchange, not streamed; one for both forms of a case."""
    first: dict[tuple[str, int | None], Exchange] = {}
    for one in exchanges:
        if one.request is not None and one.answered:
            first.setdefault((case_id_of(one.request), one.request.seed), one)
    return {one.exchange_id: replace(one.request, stream=False) for one in first.values() if one.request is not None}


def _key(digest: str, request: Request) -> str:
    return hashlib.blake2b(digest.encode() + encode(request), digest_size=16).hexdigest()

"""Golden's answers to the cases that a scheduled run of the probe `suite` asked: the same probe, put to golden."""

import hashlib
import logging
from collections.abc import Mapping
from typing import Any

from jobs.golden_calls import CallingClient
from monitor.codec import encode
from monitor.config_types import Config
from monitor.errors import GoldenError
from monitor.ports import Client, Clock, ProbeContext, Scorer
from monitor.results import RunRecord
from monitor.suites.tally import Tally, tallies
from reference.tool_parsers.families import family_of

log = logging.getLogger(__name__)

KIND = "suite"


class SuiteGolden:
    """Golden's tallies for the runs of one judge. Asked once per suite, and anew where cases are fresh in every run."""

    def __init__(self, config: Config, clock: Clock) -> None:
        self._clock = clock
        probes = [plan.probe for plan in config.plans if plan.probe.kind == KIND]
        self._probes: Mapping[str, Any] = {hashlib.sha256(encode(one)).hexdigest(): one for one in probes}
        self._known: dict[tuple[str, str, int | None], tuple[Tally, ...]] = {}

    async def of(self, record: RunRecord, scorer: Scorer | None) -> tuple[Tally, ...]:
        """Return golden's tallies of the cases of `record`; empty where golden cannot answer, or the probe is gone."""
        probe = self._probes.get(record.run.params_sha256)
        client: Any = scorer
        if record.run.probe != KIND or probe is None or scorer is None or not hasattr(scorer, "send"):
            return ()
        suite = probe.suite()
        key = (scorer.fingerprint.digest, suite.sha256, record.run.seed if suite.generated else None)
        if key not in self._known:
            family = family_of(record.run.reference or "") or family_of(record.run.model)
            asked: Client = CallingClient(client, family) if family else client
            context = ProbeContext(clock=self._clock, seed=record.run.seed, concurrency=1, report=lambda *_: None)
            try:
                found = await probe.run(asked, context)
            except GoldenError as error:
                log.warning("suite: golden does not answer: %s", type(error).__name__)
                return ()
            self._known[key] = tallies(found.exchanges)
        return self._known[key]

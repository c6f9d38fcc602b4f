"""Predictions for the judge, computed beside it: what variants of the golden weights would have said.

To predict takes minutes when a golden engine meets new prompts, and nothing when they were predicted before. So a run
that wants predictions waits while others are judged, on a thread of its own at lower priority.
"""

import asyncio
import logging
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from jobs.predicting import bank_names, known_of, predictions_of, predictor_for
from monitor.config_types import Config
from monitor.errors import GoldenError, UsageError
from monitor.ports import Detector, Predictor, Scorer, WantsPredictions
from monitor.results import GoldenView, Prediction, RunRecord

log = logging.getLogger(__name__)

_NICER = 5
_PATIENCE_S = 1.0


class _StoppedError(Exception):
    """The judge ends: no further variant is begun."""


class Foresight:
    """What is foreseen for the runs of one judge, by run. Not for use from several event loops."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="foresight", initializer=partial(os.nice, _NICER))
        self._working: dict[str, asyncio.Future[tuple[Prediction, ...]]] = {}
        self._predictors: dict[str, Predictor] = {}
        self._stopped = False

    @property
    def n_waiting(self) -> int:
        """Runs that wait for their predictions."""
        return sum(not one.done() for one in self._working.values())

    def is_waiting(self, record: RunRecord) -> bool:
        """Whether the predictions for this run are being computed."""
        one = self._working.get(record.run.run_id)
        return one is not None and not one.done()

    async def of(
        self, record: RunRecord, detectors: Sequence[Detector], scorer: Scorer | None,
        views: Mapping[str, GoldenView],
    ) -> tuple[Prediction, ...] | None:  # fmt: skip
        """Predictions for `record`, empty where no detector wants any or none can be had; None: they are not there yet.

        Asked again for the same run once `is_waiting` has ended, it has them.
        """
        wanted = [one.variants for one in detectors if isinstance(one, WantsPredictions)]
        name, key = record.run.reference, record.run.run_id
        if not wanted or scorer is None or name is None or not views:
            return ()
        if key not in self._working:
            names = frozenset().union(*wanted) if all(wanted) else None
            work = partial(self._predict, record, name, scorer, views, names)
            self._working[key] = asyncio.get_running_loop().run_in_executor(self._pool, work)
            await asyncio.wait([self._working[key]], timeout=_PATIENCE_S)
        if not self._working[key].done():
            log.info("%s: variants are being predicted; other runs are judged meanwhile", record.run.endpoint)
            return None
        try:
            return self._working.pop(key).result()
        except (GoldenError, UsageError) as error:
            log.warning("%s: nothing can be predicted: %s", record.run.endpoint, error)
            return ()

    def close(self) -> None:
        """Begin no further variant; the one that is being computed ends by itself. Idempotent."""
        self._stopped = True
        for one in self._working.values():
            one.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _predict(
        self, record: RunRecord, name: str, scorer: Scorer, views: Mapping[str, GoldenView],
        wanted: frozenset[str] | None,
    ) -> tuple[Prediction, ...]:  # fmt: skip
        if name not in self._predictors:
            self._predictors[name] = predictor_for(self._config.references[name], scorer, self._report)
        predictor = self._predictors[name]
        names = known_of(bank_names(predictor), wanted)
        return predictions_of([record], views, scorer, predictor, names)

    def _report(self, line: str) -> None:
        if self._stopped:
            raise _StoppedError
        log.info("%s", line)

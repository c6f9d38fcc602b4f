"""Predictions stand where the endpoint's tokens stand, also behind a position that golden does not know."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import transformers

from jobs.clock import SystemClock
from jobs.judging import golden_side
from jobs.predicting import predictions_of
from monitor.ports import Floats, Scores, ScoreTask
from probes.run import run_probe
from reference.engine import TorchEngine
from reference.engines.local import LocalEngine
from reference.prediction_store import PredictionStore
from reference.predictions import Predictions
from tests.jobs.test_identify import ENDPOINT, Short
from tests.reference.tiny import save_tiny

GAP, NAMES = 1, ["int4"]


class Gapped:
    """Golden weights that know nothing of the second position of an answer, as a pack may."""

    def __init__(self, engine: TorchEngine) -> None:
        self._engine = engine
        self.fingerprint, self.tokenizer = engine.fingerprint, engine.tokenizer

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        return [
            replace(one, top_logprobs=_unknown(one.top_logprobs),
                    gathered=tuple(_unknown(row[None])[0] if t == GAP else row for t, row in enumerate(one.gathered)))
            for one in self._engine.score(tasks, top_k=top_k)
        ]  # fmt: skip

    def close(self) -> None:
        self._engine.close()


def _unknown(rows: Floats) -> Floats:
    """`rows` with NaN at the gap; of a single row, all of it."""
    made = rows.copy()
    made[min(GAP, len(made) - 1)] = np.nan
    return made


async def test_a_gap_moves_no_prediction_to_another_position(tmp_path: Path) -> None:
    """Oracle: the predictions for the same answers where golden knows every position."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    folder = save_tiny(tmp_path / "model")
    engine = TorchEngine.load(folder, device="cpu", threads=1)

    def load(path: Path) -> LocalEngine:
        return TorchEngine.load(path, device="cpu", threads=1)

    predictor = Predictions(golden=folder, store=PredictionStore(tmp_path / "known.sqlite"), load=load)
    record, _ = await run_probe(
        Short(max_tokens=4), ENDPOINT, engine, clock=SystemClock(), seed=1, vantage="test", prober_version="0",
        concurrency=1,
    )  # fmt: skip
    whole, gapped = golden_side([record], engine, ()), golden_side([record], Gapped(engine), ())
    (expected,) = predictions_of([record], whole.views, engine, predictor, NAMES)
    (found,) = predictions_of([record], gapped.views, Gapped(engine), predictor, NAMES)
    behind = 0
    for key, view in gapped.views.items():
        rows = dict(zip([place.position for place in view.positions], found.logprobs[key], strict=True))
        assert GAP not in rows
        for t, row in rows.items():
            np.testing.assert_array_equal(row, expected.logprobs[key][t])
            behind += t > GAP
    assert behind >= 10
    engine.close()

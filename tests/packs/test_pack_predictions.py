"""Predictions out of a pack: what was recorded, and nothing else."""

import numpy as np
from numpy.testing import assert_allclose

from monitor.ports import ScoreTask
from reference.engine import TorchEngine
from reference.engines.pack import PackEngine
from reference.pack import Pack
from reference.pack_predictions import PackPredictions


def test_recorded_deviations_come_back_as_logprobs(tiny_pack: Pack, tiny_engine: TorchEngine) -> None:
    predictor = PackPredictions(PackEngine(tiny_pack, tiny_engine.tokenizer))
    place, deviation = tiny_pack.positions[0], tiny_pack.deviations[0]
    ids = tuple(int(one) for one in place.top_ids[:3])
    task = ScoreTask(prompt_ids=tiny_pack.prompts[0].ids, completion_ids=ids[:1], gather=((*ids, 339),))
    (row,) = predictor.predict([task], ["louder", "Q4_0"])["louder"][0]
    assert_allclose(row[:3], place.top_logprobs[:3] + deviation.deviation[:3])
    assert np.isnan(row[3]) == (339 not in place.top_ids[:20])
    assert predictor.variants == ("louder",)


def test_places_that_were_not_recorded_are_not_known(tiny_pack: Pack, tiny_engine: TorchEngine) -> None:
    predictor = PackPredictions(PackEngine(tiny_pack, tiny_engine.tokenizer))
    task = ScoreTask(prompt_ids=(1, 2, 3), completion_ids=(4,), gather=((4, 5),))
    assert np.isnan(predictor.predict([task], ["louder"])["louder"][0][0]).all()

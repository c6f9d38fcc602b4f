"""Predictions against engines that were loaded with the variant's own folder, on the tiny model."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from monitor.ports import Floats, ScoreTask
from reference.engine import TorchEngine
from reference.engines.local import LocalEngine
from reference.prediction_store import PredictionStore
from reference.predictions import Predictions, is_predictable
from reference.tokenizer import GoldenTokenizer
from reference.variants import hf_folder
from reference.variants.bank import bank, find
from reference.variants.kv_cache import register

SAID = ({"role": "user", "content": "The river is wide"},), ({"role": "user", "content": "345 stones"},)


@pytest.fixture
def loaded() -> list[Path]:
    return []


@pytest.fixture
def predictor(tiny_folder: Path, tmp_path: Path, loaded: list[Path]) -> Predictions:
    def load(folder: Path) -> LocalEngine:
        loaded.append(folder)
        return TorchEngine.load(folder, device="cpu", threads=1)

    return Predictions(golden=tiny_folder, store=PredictionStore(tmp_path / "known.sqlite"), load=load)


@pytest.fixture
def tasks(tiny_folder: Path) -> list[ScoreTask]:
    tokenizer = GoldenTokenizer.load(tiny_folder)
    return [
        ScoreTask(prompt_ids=tuple(tokenizer.prompt_ids(one)), completion_ids=(40, 41), gather=((40, 7), (9, 41, 300)))
        for one in SAID
    ]


def scored(folder: Path, tasks: Sequence[ScoreTask]) -> list[tuple[Floats, ...]]:
    engine = TorchEngine.load(folder, device="cpu", threads=1)
    try:
        return [one.gathered for one in engine.score(tasks)]
    finally:
        engine.close()


@pytest.mark.parametrize("name", ["int4-g32", "fp8-channel", "bf16", "rope-x0.1", "layers-2", "kv-8"])
def test_a_variant_says_what_its_own_folder_says(
    name: str, predictor: Predictions, tasks: list[ScoreTask], tiny_folder: Path, tmp_path: Path
) -> None:
    register()
    hf_folder.write(tiny_folder, tmp_path / "variant", find(name))
    found = predictor.predict(tasks, [name])[name]
    for rows, expected in zip(found, scored(tmp_path / "variant", tasks), strict=True):
        for row, other in zip(rows, expected, strict=True):
            assert_allclose(row, other, atol=1e-4)


def test_another_template_is_golden_weights_behind_its_prompt(
    predictor: Predictions, tasks: list[ScoreTask], tiny_folder: Path, tmp_path: Path
) -> None:
    hf_folder.write(tiny_folder, tmp_path / "variant", find("other-template"))
    tokenizer = GoldenTokenizer.load(tmp_path / "variant")
    other = [
        ScoreTask(prompt_ids=tuple(tokenizer.prompt_ids(said)), completion_ids=one.completion_ids, gather=one.gather)
        for said, one in zip(SAID, tasks, strict=True)
    ]
    found = predictor.predict(tasks, ["other-template"], conversations=SAID)["other-template"]
    assert_allclose(found[0][1], scored(tiny_folder, other)[0][1], atol=1e-4)
    assert predictor.predict(tasks, ["other-template"]) == {}


def test_variants_of_the_template_see_the_options_of_the_reference(
    predictor: Predictions, tasks: list[ScoreTask], tiny_folder: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Oracle: golden weights behind the prompt that the variant's own folder renders with the same option."""
    options = {"mood": "calm"}
    golden = tmp_path / "golden"
    shutil.copytree(tiny_folder, golden)
    template = golden / "chat_template.jinja"
    template.write_text("{{ mood }}" + template.read_text("utf-8"), "utf-8")
    hf_folder.write(golden, tmp_path / "variant", find("other-system"))
    tokenizer = GoldenTokenizer.load(tmp_path / "variant", options=options)
    other = [
        replace(task, prompt_ids=tuple(tokenizer.prompt_ids(said))) for said, task in zip(SAID, tasks, strict=True)
    ]
    assert tokenizer.decode(other[0].prompt_ids).count("calm") == 1
    optioned = replace(predictor, golden=golden, template_options=options)
    found = optioned.predict(tasks, ["other-system"], conversations=SAID)["other-system"]
    assert_allclose(found[0][1], scored(golden, other)[0][1], atol=1e-4)
    monkeypatch.setattr(hf_folder, "write_tokenizer", None)  # made once: nobody may call it again
    again = optioned.predict(tasks, ["other-system"], conversations=SAID)["other-system"]
    assert_array_equal(again[0][1], found[0][1])


def test_a_temperature_stretches_the_golden_logprobs(predictor: Predictions, tasks: list[ScoreTask]) -> None:
    found = predictor.predict(tasks, ["temperature-0.8"])["temperature-0.8"]
    golden = scored(predictor.golden, tasks)
    assert_allclose(np.diff(found[0][1]), np.diff(golden[0][1]) / 0.8, atol=1e-4)


def test_what_was_predicted_is_not_computed_again(
    predictor: Predictions, tasks: list[ScoreTask], loaded: list[Path]
) -> None:
    names = ["int4-g32", "bf16"]
    first = predictor.predict(tasks, names)
    assert loaded == [predictor.golden]  # one model in memory, for both
    again = predictor.predict(tasks, names)
    assert loaded == [predictor.golden]
    for name in names:
        for one, other in zip(first[name], again[name], strict=True):
            for row, same in zip(one, other, strict=True):
                assert_array_equal(row, same)


def test_a_place_that_was_prepared_knows_likely_tokens(
    predictor: Predictions, tasks: list[ScoreTask], loaded: list[Path]
) -> None:
    bare = [ScoreTask(prompt_ids=one.prompt_ids, completion_ids=(0,), gather=((),)) for one in tasks]
    predictor.predict(bare, ["bf16"])
    first = [ScoreTask(prompt_ids=one.prompt_ids, completion_ids=(40,), gather=((40, 7),)) for one in tasks]
    predictor.predict(first, ["bf16"])
    assert len(loaded) == 1


def test_answers_that_begin_alike_get_the_tokens_each_wants(predictor: Predictions, tasks: list[ScoreTask]) -> None:
    """Two answers with one beginning, each with rare tokens of its own at it; more than are kept by themselves.

    Oracle: each answer predicted alone.
    """
    first = replace(tasks[0], gather=((40, 7), tuple(range(0, 300, 3))))
    second = replace(tasks[0], gather=((40, 7), tuple(range(1, 300, 3))))
    both = predictor.predict([first, second], ["bf16"])["bf16"]
    for task, rows in zip((first, second), both, strict=True):
        assert_allclose(rows[1], scored(predictor.golden, [task])[0][1], atol=0.05)


def test_what_logprobs_cannot_show_is_left_out() -> None:
    kept = {name for name, variant in bank().items() if is_predictable(variant)}
    assert {"Q8_0", "kv-4", "no-system", "temperature-0.8"} <= kept
    assert not {"context-2048", "top-k-20", "repetition-penalty-1.1"} & kept

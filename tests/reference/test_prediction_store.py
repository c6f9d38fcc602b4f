"""What several processes predict of the same places is kept together."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from monitor.errors import UsageError
from reference.prediction_store import PredictionStore, place_of

PLACE = place_of((1, 2), ())


def test_what_another_process_wrote_stays(tmp_path: Path) -> None:
    """Oracle: both rows together; 0.5 and 0.25 are exact in float32."""
    one, other = (PredictionStore(tmp_path / "known.sqlite") for _ in range(2))
    assert one.write("bf16", {PLACE: {7: -0.5}}) == {PLACE: {7: -0.5}}
    assert other.write("bf16", {PLACE: {8: -0.25}}) == {PLACE: {7: -0.5, 8: -0.25}}
    assert one.read("bf16", [PLACE]) == {PLACE: {7: -0.5, 8: -0.25}}


def test_a_value_that_is_known_stays(tmp_path: Path) -> None:
    """Scores depend a little on the batch; verdicts are computed again from the value that they were made of."""
    store = PredictionStore(tmp_path / "known.sqlite")
    store.write("bf16", {PLACE: {7: -0.5}})
    assert store.write("bf16", {PLACE: {7: -0.75, 8: -2.0}}) == {PLACE: {7: -0.5, 8: -2.0}}


def test_the_first_answer_is_what_is_read_later(tmp_path: Path) -> None:
    store = PredictionStore(tmp_path / "known.sqlite")
    told = store.write("bf16", {PLACE: {7: -0.1}})
    assert told == store.read("bf16", [PLACE])
    assert told[PLACE][7] != -0.1  # float32, so the comparison above can fail


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Each reads, adds and writes: only a transaction that begins as a writer keeps them apart."""
    path = tmp_path / "known.sqlite"
    PredictionStore(path)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: PredictionStore(path).write("bf16", {PLACE: {n: -1.0}}), range(40)))
    assert set(PredictionStore(path).read("bf16", [PLACE])[PLACE]) == set(range(40))


def test_a_damaged_file_and_a_place_that_is_none_are_named_with_a_remedy(tmp_path: Path) -> None:
    path = tmp_path / "known.sqlite"
    path.write_bytes(b"no database at all" * 400)
    with pytest.raises(UsageError, match=r"known\.sqlite: predictions cannot be read .* delete the file"):
        PredictionStore(path)
    with pytest.raises(UsageError, match="set WEIGHMASTER_HOME"):
        PredictionStore(path / "below" / "known.sqlite")

"""What is written is what is read, and nothing else is accepted."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from numpy.testing import assert_allclose

from jobs.pack_file import MANIFEST, summary, write_pack
from monitor.codec import encode
from monitor.errors import GoldenError
from reference.fingerprint import file_sha256
from reference.pack import Pack
from tests.packs.opened import open_pack, read_pack

FLOAT32 = 2e-7


@pytest.fixture
def pack_file(tiny_pack: Pack, tmp_path: Path) -> Path:
    path = tmp_path / "tiny.pack"
    write_pack(tiny_pack, path)
    return path


def test_a_pack_comes_back_whole(tiny_pack: Pack, pack_file: Path) -> None:
    read = read_pack(pack_file)
    assert read.fingerprint == tiny_pack.fingerprint
    assert (read.created_at, read.top_k, read.about, read.files) == (
        tiny_pack.created_at, tiny_pack.top_k, tiny_pack.about, tiny_pack.files
    )  # fmt: skip
    assert read.prompts == tiny_pack.prompts
    for one, other in zip(tiny_pack.positions, read.positions, strict=True):
        assert (one.prompt, one.path) == (other.prompt, other.path)
        assert (one.top_ids == other.top_ids).all()
        assert_allclose(other.top_logprobs, one.top_logprobs, rtol=FLOAT32)
    for drawn, again in zip(tiny_pack.samples, read.samples, strict=True):
        assert (drawn.prompt, drawn.ids, drawn.finish) == (again.prompt, again.ids, again.finish)
        assert (drawn.rank == again.rank).all()
    for line, same in zip(tiny_pack.deviations, read.deviations, strict=True):
        assert (line.variant, line.prompt, line.position) == (same.variant, same.prompt, same.position)
        assert_allclose(same.deviation, line.deviation, rtol=FLOAT32, atol=1e-9)
    assert tiny_pack.deviations
    assert tiny_pack.samples


def test_the_same_pack_gives_the_same_bytes(tiny_pack: Pack, tmp_path: Path) -> None:
    assert write_pack(tiny_pack, tmp_path / "a") == write_pack(tiny_pack, tmp_path / "b")


def test_predicted_deviations_are_those_of_the_variant(tiny_pack: Pack) -> None:
    """Oracle: with logits 1.1 times as large, differences between logprobs grow by a tenth."""
    louder = {(one.prompt, one.position): one.deviation for one in tiny_pack.deviations}
    for position in tiny_pack.positions:
        deviation = louder[position.prompt, len(position.path)]
        golden = position.top_logprobs[: len(deviation)]
        assert_allclose(deviation - deviation[0], 0.1 * (golden - golden[0]), atol=1e-5)


def test_rows_are_built_once(tiny_pack: Pack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: messages and tools of each prompt are written once."""
    written: list[object] = []

    def encoded(value: object) -> bytes:
        written.append(value)
        return encode(value)

    monkeypatch.setattr("jobs.pack_tables.encode", encoded)
    write_pack(tiny_pack, tmp_path / "p")
    assert len(written) == 2 * len(tiny_pack.prompts)


def test_summary_tells_what_is_inside(tiny_pack: Pack, pack_file: Path) -> None:
    found = summary(pack_file)
    assert found["n"] == {"prompts": 3, "positions": len(tiny_pack.positions), "samples": 6,
                          "deviations": len(tiny_pack.deviations)}  # fmt: skip
    assert found["fingerprint"]["digest"] == tiny_pack.fingerprint.digest
    assert found["sha256"] == file_sha256(pack_file)


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None]) -> None:
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def other_version(members: dict[str, bytes]) -> None:
    members[MANIFEST] = orjson.dumps({**orjson.loads(members[MANIFEST]), "version": 2})


def other_table(members: dict[str, bytes]) -> None:
    members["positions.parquet"] = members["positions.parquet"][:-1] + b"x"


def missing_table(members: dict[str, bytes]) -> None:
    del members["positions.parquet"]


def other_fingerprint(members: dict[str, bytes]) -> None:
    manifest = orjson.loads(members[MANIFEST])
    manifest["fingerprint"]["tokenizer_sha256"] = "0" * 64
    members[MANIFEST] = orjson.dumps(manifest)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (other_version, "format weighmaster-pack 2, this version reads weighmaster-pack 1"),
        (other_table, r"positions\.parquet is not what the manifest says"),
        (missing_table, "damaged"),
        (other_fingerprint, "recorded with another tokenizer"),
    ],
)
def test_a_changed_pack_is_refused(change: Callable[[dict[str, bytes]], None], words: str, pack_file: Path) -> None:
    rewritten(pack_file, change)
    with pytest.raises(GoldenError, match=words):
        open_pack(pack_file)


def test_a_file_that_is_no_pack_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "text"
    with pytest.raises(GoldenError, match="not found"):
        read_pack(path)
    path.write_text("hello", "utf-8")
    with pytest.raises(GoldenError, match="damaged, or no pack"):
        read_pack(path)


def test_a_pinned_hash_decides(pack_file: Path) -> None:
    read_pack(pack_file, sha256=file_sha256(pack_file).upper())
    with pytest.raises(GoldenError, match=r"sha256 is .* pinned is 00"):
        read_pack(pack_file, sha256="00")


def test_other_weights_are_refused(pack_file: Path, tiny_folder: Path, tmp_path: Path) -> None:
    open_pack(pack_file, against=tiny_folder)
    other = tmp_path / "other"
    shutil.copytree(tiny_folder, other)
    path = other / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    with pytest.raises(GoldenError, match="another weights"):
        open_pack(pack_file, against=other)

"""Which of several packs a reference means."""

import json
import zipfile
from collections.abc import Collection
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from jobs.pack_choice import chosen_pack
from jobs.pack_file import write_pack
from jobs.pack_signature import public_key, require
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from reference.pack import Pack
from tests.packs.test_signature import KEY, OTHER

TRUSTED = (public_key(KEY),)


def choose(path: Path | tuple[str, ...], **more: Any) -> Pack:
    where = path if isinstance(path, tuple) else str(path)
    return chosen_pack(ReferenceConfig(engine="pack", path=where, **more), Path("no-cache")).pack


@pytest.fixture
def packs(tiny_pack: Pack, tmp_path: Path) -> Path:
    """Two of model a, one of b, one of a that a stranger signed, one of c that nobody signed, and a text."""
    folder = tmp_path / "packs"
    folder.mkdir()
    newer = replace(tiny_pack, created_at=tiny_pack.created_at + timedelta(days=1))
    newest = replace(tiny_pack, created_at=tiny_pack.created_at + timedelta(days=2))
    write_pack(replace(newer, model="Org/A"), folder / "a1.pack", key=KEY)
    write_pack(replace(tiny_pack, model="Org/A"), folder / "a2.pack", key=KEY)
    write_pack(replace(tiny_pack, model="b"), folder / "b.pack", key=KEY)
    write_pack(replace(newest, model="Org/A"), folder / "stranger.pack", key=OTHER)
    write_pack(replace(newest, model="c"), folder / "unsigned.pack")
    (folder / "garbage.pack").write_text("hello", "utf-8")
    (folder / "README").write_text("packs", "utf-8")
    return folder


def test_the_newest_trusted_pack_of_the_model_is_chosen(packs: Path, tiny_pack: Pack) -> None:
    found = choose(packs, model="org/a", keys=TRUSTED)
    assert (found.model, found.created_at) == ("Org/A", tiny_pack.created_at + timedelta(days=1))
    assert choose(packs, model="b", keys=TRUSTED).model == "b"


@pytest.mark.parametrize("told", ["null", '"yesterday"', '"2026-11-29T12:00:00"'])
def test_a_pack_of_no_time_is_not_the_newest(packs: Path, tiny_pack: Pack, tmp_path: Path, told: str) -> None:
    """Oracle: the newest of those that say when they were recorded; "null" would sort behind every digit."""
    bad = timed(packs / "a1.pack", tmp_path / "bad.pack", told)
    found = choose((str(bad), str(packs / "a2.pack")), model="org/a")
    assert found.created_at == tiny_pack.created_at
    with pytest.raises(GoldenError, match=r"bad\.pack: its `created_at` is .*, no time with a zone"):
        choose(bad)


def test_the_newest_is_the_latest_instant(packs: Path, tiny_pack: Pack, tmp_path: Path) -> None:
    """11:30 in a zone five hours behind is after noon UTC, though its text sorts before it."""
    late = timed(packs / "a2.pack", tmp_path / "late.pack", '"2026-11-29T11:30:00-05:00"')
    found = choose((str(packs / "a2.pack"), str(late)), model="org/a")
    assert found.created_at == tiny_pack.created_at + timedelta(hours=4, minutes=30)


def test_the_bytes_of_one_pack_are_verified_once(packs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verified: list[int] = []

    def counted(data: bytes, keys: Collection[str], source: str) -> None:
        verified.append(len(data))
        require(data, keys, source)

    monkeypatch.setattr("jobs.pack_file.require", counted)
    choose(packs / "a1.pack", keys=TRUSTED)
    assert len(verified) == 1


def timed(path: Path, out: Path, created_at: str) -> Path:
    """The pack in `path`, unsigned and with another time in its manifest, as `out`."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"]) | {"created_at": json.loads(created_at)}
    with zipfile.ZipFile(out, "w") as archive:
        for name, data in {**members, "manifest.json": json.dumps(manifest).encode()}.items():
            archive.writestr(name, data)
    return out


def test_lists_mix_files_and_folders(packs: Path) -> None:
    paths = (str(packs / "stranger.pack"), str(packs / "nowhere"), str(packs))
    assert choose(paths, model="b", keys=TRUSTED).model == "b"


def test_what_was_passed_over_is_told(packs: Path) -> None:
    with pytest.raises(GoldenError) as caught:
        choose(packs, model="c", keys=TRUSTED)
    told = str(caught.value)
    assert told.startswith("no pack for c: ")
    assert "a1.pack: of the model Org/A, wanted c" in told
    assert "unsigned.pack: not signed" in told
    assert "garbage.pack: not signed" in told
    assert f"stranger.pack: signed by {public_key(OTHER)}" in told


def test_several_models_need_a_name(packs: Path) -> None:
    with pytest.raises(GoldenError, match=r"several models \(b, org/a\): say which one with `model`"):
        choose(packs, keys=TRUSTED)


def test_a_hash_chooses_too(packs: Path, tiny_pack: Pack, tmp_path: Path) -> None:
    sha256 = write_pack(replace(tiny_pack, model="b"), tmp_path / "same", key=KEY)
    assert choose(packs, sha256=sha256).model == "b"


def test_one_file_must_be_it(packs: Path) -> None:
    with pytest.raises(GoldenError, match=r"^\S*a1\.pack: of the model Org/A, wanted b$"):
        choose(packs / "a1.pack", model="b", keys=TRUSTED)
    with pytest.raises(GoldenError, match="not found; give the path of a pack"):
        choose(packs / "nowhere")


def test_an_empty_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(GoldenError, match=r"no file \*\.pack"):
        choose(tmp_path)


def test_another_revision_is_refused(tiny_pack: Pack, tmp_path: Path) -> None:
    path = tmp_path / "a.pack"
    write_pack(replace(tiny_pack, fingerprint=replace(tiny_pack.fingerprint, revision="4fca21")), path)
    assert choose(path, revision="4fca").fingerprint.revision == "4fca21"
    with pytest.raises(GoldenError, match="of revision 4fca21, wanted beef"):
        choose(path, revision="beef")


def test_a_pack_that_is_signed_and_hostile_writes_no_file_elsewhere(tiny_pack: Pack, tmp_path: Path) -> None:
    path = tmp_path / "a.pack"
    write_pack(replace(tiny_pack, files={**tiny_pack.files, "../../evil": b"x"}), path, key=KEY)
    with pytest.raises(GoldenError, match="which is no file of a golden folder"):
        choose(path, keys=TRUSTED)

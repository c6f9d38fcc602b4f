"""Signed packs whose end was damaged, manifests that unpack to too much, references that `check` looks at.

Oracle: the rule that a damaged file is never shown as one that nobody signed.
"""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from typer.testing import CliRunner

from jobs.cli import build
from jobs.pack_file import manifest_of, summary, write_pack
from jobs.pack_signature import N_TRAILER, public_key, trusted_key
from jobs.reference_check import reference_problems
from jobs.settings import catalogues
from monitor.config import load
from monitor.errors import GoldenError, UsageError
from reference.pack import Pack
from tests.packs.opened import read_pack

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:-100],
        lambda data: data[:-N_TRAILER],
        lambda data: data + b"x",
        lambda data: data + bytes(200),
        lambda data: data[:-N_TRAILER] + b"W" + data[-N_TRAILER + 1 :],
    ],
)  # fmt: skip
def test_a_damaged_end_is_not_shown_as_unsigned(
    tiny_pack: Pack, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / "signed.pack"
    write_pack(tiny_pack, path, key=KEY)
    path.write_bytes(damage(path.read_bytes()))
    assert summary(path)["signature"] == {"signer": None, "valid": False}
    done = CliRunner().invoke(build(), ["reference", "pack-inspect", str(path)])
    assert (done.exit_code, "signature DAMAGED" in done.stdout) == (1, True)
    for keys in ((), (public_key(KEY),)):
        with pytest.raises(GoldenError, match="its end was cut off, changed or added to"):
            read_pack(path, keys=keys)


def test_a_manifest_that_unpacks_to_too_much_is_not_unpacked() -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", b" " * (17 << 20))
    with pytest.raises(GoldenError, match="manifest unpacks to more than 16 MiB"):
        manifest_of(sink.getvalue(), "bomb.pack")


def test_odd_manifests_are_refused_in_words() -> None:
    for manifest in (b"[]", b'{"format": "weighmaster-pack", "version": 1}', b"3", None):
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w") as archive:
            archive.writestr("x" if manifest is None else "manifest.json", manifest or b"")
        with pytest.raises(GoldenError, match=r"no 'about'|does not fit the format") as caught:
            manifest_of(sink.getvalue(), "odd.pack")
        assert "object" not in str(caught.value)


def test_nothing_is_left_where_a_pack_cannot_be_put(tiny_pack: Pack, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken"):
        write_pack(tiny_pack, tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_public_keys_are_read_in_either_case() -> None:
    assert trusted_key("ed25519:" + "AB" * 32) == "ed25519:" + "ab" * 32
    with pytest.raises(UsageError, match="64 hex digits"):
        trusted_key("ed25519:12")


def test_check_looks_at_each_reference(tiny_pack: Pack, tiny_folder: Path, tmp_path: Path) -> None:
    """Of eight references two are fine, and one is on the net, which is not asked."""
    path = tmp_path / "a.pack"
    write_pack(tiny_pack, path, key=KEY)
    (tmp_path / "bad.json").write_text("{", "utf-8")
    text = f"""
references:
  fine: {{path: {tiny_folder}}}
  recorded: {{engine: pack, path: {path}, keys: ["{public_key(KEY)}"]}}
  far: {{engine: pack, path: "https://packs.example/a.pack", sha256: {"ab" * 32}}}
  gone: {{path: {tmp_path / "nowhere"}}}
  empty: {{path: {tmp_path}}}
  other: {{engine: pack, path: {path}, sha256: {"ab" * 32}}}
  unsealed: {{path: {tiny_folder}, revision: abc}}
  uncalibrated: {{path: {tiny_folder}, calibration: {tmp_path / "bad.json"}}}
endpoints: [{{name: a/b, base_url: "http://127.0.0.1:1/v1", model: m}}]
"""
    problems = reference_problems(load(text, {}, catalogues(detectors=False)))
    assert [problem.path for problem in problems] == [
        f"references.{name}" for name in ("gone", "empty", "other", "unsealed", "uncalibrated")
    ]
    file = tmp_path / "weighmaster.yaml"
    file.write_text(text, "utf-8")
    from monitor.errors import ConfigError

    with pytest.raises(ConfigError, match="no such folder"):
        CliRunner().invoke(build(), ["check", "--config", str(file)], catch_exceptions=False)

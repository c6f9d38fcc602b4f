"""Who signed a pack. Oracle: `cryptography` on the same bytes, and the rule that any changed byte breaks it."""

import hashlib
import stat
import zipfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from jobs.pack_file import summary, write_pack
from jobs.pack_signature import N_TRAILER, new_key, public_key, read_key, signature_of
from monitor.errors import GoldenError, UsageError
from reference.pack import Pack
from tests.packs.opened import open_pack, read_pack

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))


@pytest.fixture
def signed_file(tiny_pack: Pack, tmp_path: Path) -> Path:
    path = tmp_path / "signed.pack"
    write_pack(tiny_pack, path, key=KEY)
    return path


def test_a_new_key_is_for_nobody_else_and_signs_what_its_public_key_checks(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    public = new_key(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    key = read_key(path.read_text("utf-8"), str(path))
    raw = bytes.fromhex(public.removeprefix("ed25519:"))
    Ed25519PublicKey.from_public_bytes(raw).verify(key.sign(b"x"), b"x")


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_text("mine", "utf-8")
    with pytest.raises(UsageError, match=r"exists already.*another name"):
        new_key(path)
    assert path.read_text("utf-8") == "mine"


@pytest.mark.parametrize(
    "text",
    [
        "sk-secret",
        "-----BEGIN PRIVATE KEY-----\nsk-secret\n-----END PRIVATE KEY-----\n",
        X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
    ],
)
def test_what_is_no_such_key_is_refused_and_not_quoted(text: str) -> None:
    with pytest.raises(UsageError, match=r"key\.pem: holds no Ed25519 private key.*pack-key") as caught:
        read_key(text, "key.pem")
    assert "secret" not in str(caught.value)


def test_the_signature_is_over_the_hash_of_all_bytes_before_it(signed_file: Path) -> None:
    data = signed_file.read_bytes()
    mark, raw, signature = data[-N_TRAILER:-96], data[-96:-64], data[-64:]
    assert mark == b"weighmaster-sig1"
    assert raw == KEY.public_key().public_bytes_raw()
    KEY.public_key().verify(signature, mark + hashlib.sha256(data[:-N_TRAILER]).digest())


def test_a_signed_pack_is_still_a_zip_and_the_same_pack(tiny_pack: Pack, signed_file: Path) -> None:
    with zipfile.ZipFile(signed_file) as archive:
        assert archive.testzip() is None
    assert read_pack(signed_file).prompts == tiny_pack.prompts


def test_signing_gives_the_same_bytes_each_time(tiny_pack: Pack, signed_file: Path, tmp_path: Path) -> None:
    assert write_pack(tiny_pack, tmp_path / "again", key=KEY) == summary(signed_file)["sha256"]


def test_the_summary_tells_the_signer(signed_file: Path, tiny_pack: Pack, tmp_path: Path) -> None:
    assert summary(signed_file)["signature"] == {"signer": public_key(KEY), "valid": True}
    write_pack(tiny_pack, tmp_path / "plain")
    assert summary(tmp_path / "plain")["signature"] is None


def test_only_packs_of_trusted_keys_are_read(signed_file: Path, tiny_pack: Pack, tmp_path: Path) -> None:
    mine, theirs = public_key(KEY), public_key(OTHER)
    open_pack(signed_file, keys=[theirs, mine])
    with pytest.raises(GoldenError, match=rf"signed by {mine}, which is none of the 1 in `keys`"):
        open_pack(signed_file, keys=[theirs])
    write_pack(tiny_pack, tmp_path / "plain")
    with pytest.raises(GoldenError, match="not signed, and only packs signed by a key in `keys` are trusted"):
        open_pack(tmp_path / "plain", keys=[mine])


@pytest.mark.parametrize("at", [0, 40, -N_TRAILER - 1, -1])
def test_any_changed_byte_breaks_the_signature_even_where_no_key_is_pinned(signed_file: Path, at: int) -> None:
    """The first byte, one of the manifest, the last of the zip, the last of the signature."""
    data = bytearray(signed_file.read_bytes())
    data[at] ^= 1
    signed_file.write_bytes(data)
    found = signature_of(bytes(data))
    assert found is not None
    assert not found.is_valid
    with pytest.raises(GoldenError, match=r"changed after ed25519:.* signed it"):
        read_pack(signed_file)


def test_a_signature_moved_to_another_pack_does_not_fit(signed_file: Path, tiny_pack: Pack, tmp_path: Path) -> None:
    trailer = signed_file.read_bytes()[-N_TRAILER:]
    other = tmp_path / "other"
    write_pack(tiny_pack, other, key=OTHER)
    other.write_bytes(other.read_bytes()[:-N_TRAILER] + trailer[:-1] + bytes([trailer[-1] ^ 1]))
    with pytest.raises(GoldenError, match="changed after"):
        read_pack(other, keys=[public_key(KEY)])


def test_the_signer_is_checked_before_anything_is_parsed(tmp_path: Path) -> None:
    """What is no zip at all is refused for its missing signature, and a signed one for not being a zip."""
    path = tmp_path / "bomb.pack"
    path.write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(GoldenError, match="not signed"):
        open_pack(path, keys=[public_key(KEY)])
    with pytest.raises(GoldenError, match="damaged, or no pack"):
        open_pack(path)

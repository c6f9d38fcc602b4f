"""Which GGUF files may count as faithful, on files written of the tiny model and changed in one thing each."""

import json
import shutil
from pathlib import Path

import pytest

from monitor.errors import UsageError
from reference.gguf_check import full_precision
from reference.variants import gguf_file
from reference.variants.bank import find
from tests.reference.gguf_description import save_description
from tests.reference.tiny import save_tiny


def written(folder: Path, out: Path, kind: gguf_file.Kind, *, variant: str | None = None) -> Path:
    source = save_description(folder, out / "source.gguf")
    path = out / f"{kind}.gguf"
    gguf_file.write(folder, source, path, kind, gguf_file.GOLDEN if variant is None else find(variant))
    return path


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_full_precision_is_named(kind: gguf_file.Kind, sealed_folder: Path, tmp_path: Path) -> None:
    assert full_precision(written(sealed_folder, tmp_path, kind), sealed_folder, print) == kind


def test_embeddings_under_another_name_are_not_compared_silently(sealed_folder: Path, tmp_path: Path) -> None:
    """Oracle: the weights of another model pass unseen only where a line says that nobody looked."""
    other, told = save_tiny(tmp_path / "other", seed=1), list[str]()
    path = written(sealed_folder, tmp_path, "F32")
    path.write_bytes(path.read_bytes().replace(b"token_embd.weight", b"token_embe.weight"))
    assert full_precision(path, other, told.append) == "F32"
    assert told == [
        f"{path}: its weights are not compared with {other}: embeddings under their usual name are not in both"
    ]
    assert full_precision(written(sealed_folder, tmp_path, "F16"), sealed_folder, told.append) == "F16"
    assert len(told) == 1


def test_lower_precision_is_refused(sealed_folder: Path, tmp_path: Path) -> None:
    path = written(sealed_folder, tmp_path, "Q8_0")
    with pytest.raises(UsageError, match="holds Q8_0; only F32, F16 and BF16 files are faithful members"):
        full_precision(path, sealed_folder, print)


def test_other_weights_are_refused(sealed_folder: Path, tmp_path: Path) -> None:
    """F16 matrices that hold what int4 left of them."""
    path = written(sealed_folder, tmp_path, "F16", variant="Q4_0")
    other = save_tiny(tmp_path / "other", seed=1)
    with pytest.raises(UsageError, match="holds other weights than"):
        full_precision(written(sealed_folder, tmp_path, "F32"), other, print)
    with pytest.raises(UsageError, match="holds"):
        full_precision(path, sealed_folder, print)


def test_another_vocabulary_is_refused(sealed_folder: Path, tmp_path: Path) -> None:
    path = written(sealed_folder, tmp_path, "F16")
    other = tmp_path / "other"
    shutil.copytree(sealed_folder, other)
    document = json.loads((other / "tokenizer.json").read_text("utf-8"))
    vocabulary = document["model"]["vocab"]
    n_vocab = len(vocabulary)
    document["model"]["vocab"] = {token: n_vocab - 1 - number for token, number in vocabulary.items()}
    for added in document["added_tokens"]:
        added["id"] = n_vocab - 1 - added["id"]
    (other / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(UsageError, match=rf"another tokenizer's: \d+ of {n_vocab} tokens differ"):
        full_precision(path, other, print)
    document["model"]["vocab"] = {**vocabulary, "ĠĠĠĠĠĠĠĠĠ": n_vocab, "ĠĠĠĠĠĠĠĠĠĠ": n_vocab + 1}
    (other / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    with pytest.raises(UsageError, match=rf"another model's: has {n_vocab} tokens, .* has {n_vocab + 2}"):
        full_precision(path, other, print)


def test_what_is_no_gguf_file_is_refused(sealed_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "some.gguf"
    for content in (b"", b"GGUF", b"PK\x03\x04" + bytes(64)):
        path.write_bytes(content)
        with pytest.raises(UsageError, match="cannot be read as GGUF"):
            full_precision(path, sealed_folder, print)

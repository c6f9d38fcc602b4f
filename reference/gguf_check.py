"""Whether a GGUF file holds the golden weights in full precision, as far as its header and its embeddings say."""

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np
import tokenizers
from gguf.quants import dequantize

from monitor.errors import UsageError
from reference.folder import read_json
from reference.variants.tensors import shards, tensor

_FULL = frozenset({"F32", "F16", "BF16"})
_EMBEDDINGS, _GOLDEN_EMBEDDINGS = "token_embd.weight", "embed_tokens.weight"
_ROWS = 64
# Converters rewrite a few added tokens; another tokenizer differs in most.
_DIFFERENT = 0.01
# bfloat16 keeps 8 bits of a weight, and float16 loses what is smaller than this.
_RELATIVE, _ABSOLUTE = 2.0**-8, 1e-6


def full_precision(path: Path, golden: Path, report: Callable[[str], None]) -> str:
    """Return the type of the matrices in the GGUF file `path`: ``F32``, ``F16`` or ``BF16``.

    Compared with the folder `golden` are the vocabulary, and the first embeddings where their name is the usual one;
    `report` takes the line that says that they could not be.

    Raises
    ------
    UsageError
        When `path` is no GGUF file, is of a lower precision, or of another model than `golden`.
    """
    reader = _reader(path)
    kinds = {one.tensor_type.name for one in reader.tensors if len(one.shape) > 1}
    coarse = ", ".join(sorted(kinds - _FULL))
    if coarse or not kinds:
        raise UsageError(f"{path}: holds {coarse or 'no matrices'}; only F32, F16 and BF16 files are faithful members")
    _require_vocabulary(path, reader, golden)
    _require_embeddings(path, reader, golden, report)
    return "+".join(sorted(kinds))


def _reader(path: Path) -> gguf.GGUFReader:
    if not path.is_file():
        raise UsageError(f"{path}: not found; give the path of a GGUF file")
    try:
        return gguf.GGUFReader(path)
    except (ValueError, IndexError, KeyError, OSError) as error:
        raise UsageError(f"{path}: cannot be read as GGUF: {error}") from error


def _require_vocabulary(path: Path, reader: gguf.GGUFReader, golden: Path) -> None:
    field = reader.get_field("tokenizer.ggml.tokens")
    if field is None:
        raise UsageError(f"{path}: has no vocabulary; convert the model again")
    given = field.contents()
    codec = tokenizers.Tokenizer.from_file(str(golden / "tokenizer.json"))
    known = codec.get_vocab(with_added_tokens=True)
    # Both may be padded up to the rows of the embeddings.
    most = max(len(known), int(read_json(golden, "config.json").get("vocab_size", 0)))
    if not len(known) <= len(given) <= most:
        raise UsageError(f"{path}: another model's: has {len(given)} tokens, {golden} has {len(known)}")
    different = sum(token != given[number] for token, number in known.items() if number < len(given))
    if different > _DIFFERENT * len(known):
        raise UsageError(f"{path}: another tokenizer's: {different} of {len(known)} tokens differ from {golden}")


def _require_embeddings(
    path: Path, reader: gguf.GGUFReader, golden: Path, report: Callable[[str], None]
) -> None:
    given = [one for one in reader.tensors if one.name == _EMBEDDINGS]
    wanted = [
        tensor(shard, table, name)[:_ROWS]
        for shard, table in shards(golden) for name in table if name.endswith(_GOLDEN_EMBEDDINGS)
    ]  # fmt: skip
    if len(given) != 1 or len(wanted) != 1:
        report(f"{path}: its weights are not compared with {golden}: embeddings under their usual name are not in both")
        return
    for one, golden_rows in zip(given, wanted, strict=True):
        rows = dequantize(one.data[:_ROWS], one.tensor_type)
        if rows.shape != golden_rows.shape or not np.allclose(rows, golden_rows, rtol=_RELATIVE, atol=_ABSOLUTE):
            raise UsageError(f"{path}: holds other weights than {golden}: their embeddings differ")

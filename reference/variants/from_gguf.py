"""Golden weights out of a GGUF file: dequantised by transformers into a plain Hugging Face folder.

``python -m reference.variants.from_gguf GGUF OUT SHA256`` does it in a process of its own, so that the memory it
takes (about twice the dequantised weights) is given back.
"""

import argparse
import importlib.metadata
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import gguf

from monitor.errors import GoldenError
from reference.fingerprint import file_sha256, seal

# llama.cpp's pre-tokenizer "smollm" splits digits one by one (llama-vocab.cpp); the GGUF loader of transformers 5.24
# forgets that, and every number would get other tokens.
_DIGITS_THEN_BYTES = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}


def build(source: Path, out: Path, *, expected_sha256: str) -> None:
    """Dequantise `source` into the sealed golden folder `out`, replacing it only when all is written.

    Raises
    ------
    GoldenError
        When `source` is missing or is not the file that `expected_sha256` pins, or cannot be converted.
    """
    _check(source, expected_sha256)
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        _convert(source, fresh)
        _repair_tokenizer(source, fresh)
        versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "gguf")}
        seal(fresh, source=source.name, source_sha256=expected_sha256, versions=versions)
        fresh.chmod(0o755)
        _swap(fresh, out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _check(source: Path, expected_sha256: str) -> None:
    if not source.is_file():
        raise GoldenError(f"{source}: not found; give the path of a GGUF file")
    found = file_sha256(source)
    if found != expected_sha256:
        raise GoldenError(f"{source}: sha256 is {found}, expected {expected_sha256}; get the file again")


def _convert(source: Path, fresh: Path) -> None:
    import transformers  # noqa: PLC0415  # the catalogue of variants reads this package and has no seconds to spare

    place = {"gguf_file": source.name, "local_files_only": True}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, **place)
        config = transformers.AutoConfig.from_pretrained(source.parent, **place)
        model = _dequantised(source, config)
    # RuntimeError covers what gguf raises for block types that it does not know, and torch for tensors that do not fit.
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise GoldenError(f"{source}: transformers cannot read this GGUF: {error}") from error
    model.save_pretrained(fresh)
    tokenizer.save_pretrained(fresh)


def _dequantised(source: Path, config: Any) -> Any:
    """Fill a model without weights by hand.

    ``from_pretrained(gguf_file=...)`` would do the same, but needs accelerate and returns a model that calls itself
    quantised and refuses to be saved.
    """
    import torch  # noqa: PLC0415
    import transformers  # noqa: PLC0415
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint  # noqa: PLC0415

    with torch.device("meta"):
        model: Any = transformers.AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
            config, dtype=torch.float32
        )
    parsed = load_gguf_checkpoint(  # type: ignore[no-untyped-call]
        str(source), return_tensors=True, model_to_load=model, torch_dtype=torch.float32
    )
    model.load_state_dict(parsed["tensors"], strict=False, assign=True)
    model.tie_weights()
    empty = [name for name, weight in model.named_parameters() if weight.is_meta]
    if empty:
        raise GoldenError(f"{source}: has no tensor for {', '.join(empty[:3])} ({len(empty)} missing)")
    return model


def _repair_tokenizer(source: Path, fresh: Path) -> None:
    field = gguf.GGUFReader(source).get_field("tokenizer.ggml.pre")
    if field is None or field.contents() != "smollm":
        return
    path = fresh / "tokenizer.json"
    document = json.loads(path.read_text("utf-8"))
    document["pre_tokenizer"] = _DIGITS_THEN_BYTES
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")


def _swap(fresh: Path, out: Path) -> None:
    """Put `fresh` where `out` is; a crash in between leaves no half-written `out`."""
    if out.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{out.name}.old.", dir=out.parent))
        out.rename(old / out.name)
        fresh.rename(out)
        shutil.rmtree(old)
    else:
        fresh.rename(out)


def main() -> None:
    """Run `build` with the arguments of the command line."""
    parser = argparse.ArgumentParser(description="dequantise a GGUF file into a golden folder")
    parser.add_argument("source", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("sha256")
    arguments = parser.parse_args()
    try:
        build(arguments.source, arguments.out, expected_sha256=arguments.sha256)
    except GoldenError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()

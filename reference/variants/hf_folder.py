"""A variant as a Hugging Face folder, for transformers, vLLM and SGLang to load and to serve.

``python -m reference.variants.hf_folder GOLDEN OUT VARIANT`` writes one. Weights are float32.
"""

import argparse
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from safetensors.numpy import save_file

from monitor.errors import WeighmasterError
from reference.folder import TEMPLATE_FILE, read_json, read_json_if_any, templates
from reference.variants.bank import find
from reference.variants.tensors import shards, tensor
from reference.variants.variant import Variant

_COPIED = ("generation_config.json", "special_tokens_map.json", "vocab.json", "merges.txt", "tokenizer.model")
_INDEX = "model.safetensors.index.json"


def write(golden: Path, out: Path, variant: Variant) -> None:
    """Write the folder `golden`, changed by `variant`, as `out`; it appears only when it is complete.

    Raises
    ------
    GoldenError
        When a file is missing or damaged, or `variant` cannot be made of this model.
    """
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = Path(tempfile.mkdtemp(prefix=f".{out.name}.", dir=out.parent))
    try:
        config = read_json(golden, "config.json")
        _write_weights(golden, fresh, variant, config)
        _write_json(fresh / "config.json", variant.config(config))
        write_tokenizer(golden, fresh, variant)
        for name in _COPIED:
            if (golden / name).exists():
                shutil.copy(golden / name, fresh / name)
        fresh.chmod(0o755)
        shutil.rmtree(out, ignore_errors=True)
        fresh.rename(out)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _write_weights(golden: Path, fresh: Path, variant: Variant, config: dict[str, Any]) -> None:
    places: dict[str, str] = {}
    for path, table in shards(golden):
        changed = {
            renamed: variant.apply(name, tensor(path, table, name))
            for name in table
            if (renamed := variant.tensor_name(name, config)) is not None
        }
        save_file(changed, fresh / path.name, metadata={"format": "pt"})
        places |= dict.fromkeys(changed, path.name)
    if len(set(places.values())) > 1:
        _write_json(fresh / _INDEX, {"metadata": {}, "weight_map": places})


def write_tokenizer(golden: Path, fresh: Path, variant: Variant) -> None:
    """Write the tokenizer and the template of `golden`, changed by `variant`, into the folder `fresh`."""
    document = read_json(golden, "tokenizer.json")
    model = document["model"]
    if isinstance(model.get("merges"), list):
        model["merges"] = variant.merges(model["merges"])
    _write_json(fresh / "tokenizer.json", document)
    config = read_json_if_any(golden, "tokenizer_config.json")
    default = templates(golden, config).get("default")
    config.pop("chat_template", None)
    _write_json(fresh / "tokenizer_config.json", config)
    if default is not None:
        (fresh / TEMPLATE_FILE).write_text(variant.template(default), "utf-8")


def _write_json(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")


def main() -> None:
    """Run `write` with the arguments of the command line."""
    parser = argparse.ArgumentParser(description="write a variant of the golden weights as a Hugging Face folder")
    parser.add_argument("golden", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("variant")
    arguments = parser.parse_args()
    try:
        write(arguments.golden, arguments.out, find(arguments.variant))
    except WeighmasterError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()

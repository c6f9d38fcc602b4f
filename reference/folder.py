"""What a golden folder holds: a plain Hugging Face model folder, read without torch or transformers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from monitor.errors import GoldenError

REBUILD = "weighmaster reference build"
"""The command that makes a golden folder again."""

TEMPLATE_FILE = "chat_template.jinja"


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Return the JSON object in ``folder/name``.

    Raises
    ------
    GoldenError
        When the file is missing, is not JSON, or holds something other than an object.
    """
    path = folder / name
    try:
        value = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise GoldenError(f"{path}: not found; a golden folder needs it (run `{REBUILD}`)") from None
    except (ValueError, OSError) as error:
        raise GoldenError(f"{path}: cannot be read as JSON: {error} (run `{REBUILD}`)") from None
    if not isinstance(value, dict):
        raise GoldenError(f"{path}: holds {type(value).__name__}, expected a JSON object (run `{REBUILD}`)")
    return value


def read_json_if_any(folder: Path, name: str) -> dict[str, Any]:
    """Return the JSON object in ``folder/name``, or an empty one when there is no such file."""
    return read_json(folder, name) if (folder / name).exists() else {}


def templates(folder: Path, tokenizer_config: Mapping[str, Any]) -> dict[str, str]:
    """Return the chat templates by name (``default``, perhaps ``tool_use``); empty when the model has none.

    A file of its own takes precedence over the field of ``tokenizer_config.json``, as in transformers.
    """
    path = folder / TEMPLATE_FILE
    if path.exists():
        return {"default": path.read_text("utf-8")}
    field = tokenizer_config.get("chat_template")
    if isinstance(field, str):
        return {"default": field}
    if isinstance(field, list):
        return {str(entry["name"]): str(entry["template"]) for entry in field}
    return {}


def weight_files(folder: Path) -> list[Path]:
    """Return the weight shards in order of their names.

    Raises
    ------
    GoldenError
        When there is none.
    """
    shards = sorted(folder.glob("*.safetensors"))
    if not shards:
        raise GoldenError(f"{folder}: holds no *.safetensors weights (run `{REBUILD}`)")
    return shards

"""Fingerprints of engines that are taken at their word: what is in the golden folder is hashed, the rest is said."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from monitor.results import Fingerprint
from reference.fingerprint import file_sha256, fingerprint
from reference.folder import read_json, read_json_if_any, templates


def declared(folder: Path, *, engine: str, url: str, model: str, versions: Mapping[str, str]) -> Fingerprint:
    """Return the fingerprint of `model` behind `url`, which is said to hold what is in `folder`.

    Where the folder has no weights, ``weights_sha256`` says who was believed instead of a hash.

    Raises
    ------
    GoldenError
        When the folder has no tokenizer.
    """
    said = {**versions, "model": model, "url": url}
    if any(folder.glob("*.safetensors")):
        return fingerprint(folder, dtype="as served", engine=engine, versions=said)
    config = read_json_if_any(folder, "tokenizer_config.json")
    read_json(folder, "tokenizer.json")
    special = {key: value for key, value in config.items() if key.endswith("_token")}
    parts = {
        "weights_sha256": f"declared:{model}@{url}",
        "tokenizer_sha256": _digest([file_sha256(folder / "tokenizer.json"), special]),
        "template_sha256": _digest(templates(folder, config)),
        "dtype": "as served",
        "engine": engine,
    }
    return Fingerprint(digest=_digest({**parts, "versions": said}), versions=said, **parts)


def _digest(value: object) -> str:
    """The canonical hash that `reference.fingerprint` uses."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()

"""What exactly the golden side is: content hashes of a golden folder, and the seal that shows when it changed."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from monitor.errors import GoldenError
from monitor.results import Fingerprint
from reference.folder import REBUILD, TEMPLATE_FILE, read_json, read_json_if_any, templates, weight_files

SEAL = "weighmaster.json"
"""Written by whoever builds a golden folder: its source and the hash of every file that decides an answer."""

BUILDER = 2
"""Version of the conversion behind `seal`; a folder of another version is built again. Raise it with the conversion."""

_CACHE = ".weighmaster-hashes.json"
_DECISIVE = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", TEMPLATE_FILE)
# transformers reads these where they are, so one that was added later is a change.
_ALSO_READ = ("added_tokens.json", "special_tokens_map.json", "chat_template.json", "*.safetensors.index.json",
              "additional_chat_templates/*.jinja")  # fmt: skip
# Written by whichever transformers saved the folder; they say nothing about what is computed.
_INCIDENTAL = ("transformers_version", "torch_dtype", "dtype", "_name_or_path")
_GENERATION = "generation_config.json"
_PARTS = ("weights", "tokenizer", "template", "generation")
_CHUNK = 1 << 20


class _Hashed(NamedTuple):
    size: int
    mtime_ns: int
    sha256: str


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hex, read in chunks."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def hashes(folder: Path, *, trust_cache: bool = True) -> dict[str, str]:
    """Return the SHA-256 of every file of `folder` that decides an answer, by name.

    Hashes are remembered inside the folder by size and modification time; `trust_cache` False reads every file
    again. A folder that cannot be written to is hashed each time.
    """
    files = weight_files(folder) + [folder / name for name in _DECISIVE if (folder / name).exists()]
    files += sorted(path for pattern in _ALSO_READ for path in folder.glob(pattern))
    known = _remembered(folder) if trust_cache else {}
    entries = {path.name: _hashed(path, known.get(path.name)) for path in files}
    if entries != known:
        _remember(folder, entries)
    return {name: entry.sha256 for name, entry in entries.items()}


def fingerprint(folder: Path, *, dtype: str, engine: str, versions: Mapping[str, str]) -> Fingerprint:
    """Return the fingerprint of the golden weights in `folder` as `engine` computes them in `dtype`.

    The weights hash covers the shards and the architecture in ``config.json``; the tokenizer hash ``tokenizer.json``
    and the special tokens in ``tokenizer_config.json``; the template hash the text of the chat templates; the
    generation hash ``generation_config.json``. The revision is the one in the seal, where there is a seal.

    Raises
    ------
    GoldenError
        When ``config.json``, ``tokenizer.json`` or the weights are missing.
    """
    config = {key: value for key, value in read_json(folder, "config.json").items() if key not in _INCIDENTAL}
    tokenizer_config = read_json_if_any(folder, "tokenizer_config.json")
    read_json(folder, "tokenizer.json")
    by_name = hashes(folder)
    shards = {name: sha for name, sha in by_name.items() if name.endswith(".safetensors")}
    special = {key: value for key, value in tokenizer_config.items() if key.endswith("_token")}
    parts: dict[str, Any] = {
        "weights_sha256": _digest([shards, config]),
        "tokenizer_sha256": _digest([by_name["tokenizer.json"], special]),
        "template_sha256": _digest(templates(folder, tokenizer_config)),
        "dtype": dtype,
        "engine": engine,
        "versions": dict(versions),
        "generation_sha256": _generation_sha256(folder),
        "revision": read_json_if_any(folder, SEAL).get("revision"),
    }
    return Fingerprint(digest=_digest(parts), **parts)


def seal(
    folder: Path, *, source: str, source_sha256: str | None, versions: Mapping[str, str], revision: str | None = None
) -> None:
    """Write the seal of a freshly built golden folder: its source, its file hashes and its fingerprint.

    `source_sha256` is None where the folder itself is the source; `revision` names the commit it was downloaded at.
    """
    mark = fingerprint(folder, dtype="float32", engine="none", versions=versions)
    document = {
        "builder": BUILDER,
        "source": source,
        "source_sha256": source_sha256,
        "revision": revision,
        "files": hashes(folder),
        "fingerprint": {part: getattr(mark, f"{part}_sha256") for part in _PARTS},
        "versions": dict(versions),
    }
    (folder / SEAL).write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", "utf-8")


def verify(folder: Path, *, trust_cache: bool = True, revision: str | None = None) -> dict[str, Any]:
    """Compare `folder` with its seal, and return the seal.

    Parameters
    ----------
    folder : Path
        A golden folder.
    trust_cache : bool
        False reads every file again, whatever its size and time say.
    revision : str, optional
        The revision that is wanted; a prefix of a commit will do.

    Raises
    ------
    GoldenError
        When the folder has no seal, was built by another version of the conversion, is of another revision, or a file
        is missing, new or changed; the message names it and the remedy.
    """
    document = read_json(folder, SEAL)
    sealed = document.get("files")
    if not isinstance(sealed, dict):
        raise GoldenError(f"{folder / SEAL}: has no list of files (run `{REBUILD}`)")
    if document.get("builder") != BUILDER:
        built = document.get("builder", 1)
        raise GoldenError(f"{folder}: built by version {built} of the conversion, this is {BUILDER} (run `{REBUILD}`)")
    require_revision(folder, revision)
    found = hashes(folder, trust_cache=trust_cache)
    for name in sorted(sealed.keys() | found.keys()):
        if sealed.get(name) != found.get(name):
            what = "missing" if name not in found else "new" if name not in sealed else "changed"
            raise GoldenError(f"{folder / name}: {what} since the golden folder was built (run `{REBUILD}`)")
    return document


def require_revision(folder: Path, revision: str | None) -> None:
    """Refuse a golden folder that its seal says to be of another revision than `revision`; a prefix will do.

    None wants none.

    Raises
    ------
    GoldenError
        When it is another, or there is no seal that says it.
    """
    if revision is None:
        return
    if not (folder / SEAL).exists():
        raise GoldenError(
            f"{folder}: has no seal, so nobody knows of what revision it is; when you have made sure, run "
            f"`{REBUILD} {folder} --revision {revision}`"
        )
    found = read_json(folder, SEAL).get("revision")
    if not str(found or "").startswith(revision):
        raise GoldenError(f"{folder}: is revision {found or 'unknown'}, wanted {revision} (run `{REBUILD}`)")


def _generation_sha256(folder: Path) -> str | None:
    config = read_json_if_any(folder, _GENERATION)
    decisive = {key: value for key, value in config.items() if key not in _INCIDENTAL}
    return _digest(decisive) if decisive else None


def _digest(value: object) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _hashed(path: Path, known: _Hashed | None) -> _Hashed:
    status = path.stat()
    if known is not None and (known.size, known.mtime_ns) == (status.st_size, status.st_mtime_ns):
        return known
    return _Hashed(status.st_size, status.st_mtime_ns, file_sha256(path))


def _remembered(folder: Path) -> dict[str, _Hashed]:
    try:
        known = json.loads((folder / _CACHE).read_text("utf-8"))
        return {name: _Hashed(*entry) for name, entry in known.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def _remember(folder: Path, entries: Mapping[str, _Hashed]) -> None:
    fresh = folder / f"{_CACHE}.{os.getpid()}"
    try:
        fresh.write_text(json.dumps(entries), "utf-8")
        fresh.replace(folder / _CACHE)
    except OSError:
        fresh.unlink(missing_ok=True)

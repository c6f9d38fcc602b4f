"""Looks at what the references of a configuration name, as far as that costs no loading and no request."""

import os
from pathlib import Path

from jobs.tolerances import tolerances_in
from monitor.config_reference import ReferenceConfig, is_address
from monitor.config_types import Config
from monitor.errors import GoldenError, Problem
from reference.fingerprint import SEAL, require_revision
from reference.folder import read_json, read_json_if_any, weight_files


def reference_problems(config: Config) -> tuple[Problem, ...]:
    """Return what is wrong with the references of `config`, at most one problem each."""
    problems = []
    for name, reference in config.references.items():
        try:
            _look(reference)
        except GoldenError as error:
            problems.append(Problem(f"references.{name}", str(error)))
    return tuple(problems)


def _look(reference: ReferenceConfig) -> None:
    weights = _pack_weights(reference) if reference.engine == "pack" else _folder_weights(reference)
    if reference.calibration is not None:
        tolerances_in(Path(reference.calibration), weights)


def _pack_weights(reference: ReferenceConfig) -> str | None:
    """The weights that the pack was recorded with; None where it would have to be fetched."""
    if any(is_address(path) for path in reference.paths):
        return None
    from jobs.golden import default_home  # noqa: PLC0415
    from jobs.pack_choice import chosen_pack  # noqa: PLC0415  # pyarrow only where a pack is read

    return chosen_pack(reference, default_home(os.environ) / "packs").fingerprint.weights_sha256


def _folder_weights(reference: ReferenceConfig) -> str | None:
    """The weights that the folder was sealed with; None where it has no seal. Nothing is hashed."""
    folder = Path(reference.paths[0])
    if not folder.is_dir():
        raise GoldenError(f"{folder}: no such folder; `weighmaster reference build` makes one")
    read_json(folder, "tokenizer.json")
    if reference.engine == "torch":
        read_json(folder, "config.json")
        weight_files(folder)
    require_revision(folder, reference.revision)
    sealed = read_json_if_any(folder, SEAL).get("fingerprint")
    found = sealed.get("weights") if isinstance(sealed, dict) else None
    return found if isinstance(found, str) else None

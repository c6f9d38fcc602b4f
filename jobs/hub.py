"""Fetches the files of a golden folder from a model hub: data of one commit, never code and never pickles.

`huggingface_hub` itself reads ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE``; no token passes through here.
"""

import sys
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from monitor.errors import GoldenError, UsageError, WeighmasterError
from reference.fingerprint import SEAL

_WANTED = (
    "config*.json", "generation_config.json", "tokenizer*", "chat_template*", "special_tokens_map.json",
    "*.safetensors", "*.safetensors.index.json",
)  # fmt: skip
_DATA = ("*.json", "*.jinja", "*.txt", "*.model", "*.safetensors")
"""Endings of files that hold data: pickles have many, so these are named and not those."""

# The same weights once more, under the names of another library.
_TWICE = ("consolidated*",)
_NEEDED = ("config.json", "tokenizer.json", "*.safetensors")


def fetch(repo: str, revision: str | None, folder: Path, report: Callable[[str], None]) -> str:
    """Fetch the model `repo` (``ORG/NAME``) into `folder` and return the commit that it is of.

    `revision` is a branch, a tag or a commit; None takes the main branch. What is there already is not fetched again,
    so an interrupted fetch goes on where it was.

    Raises
    ------
    UsageError
        When `repo` is no name, or `folder` holds files of another model.
    GoldenError
        When the hub cannot be reached, refuses, or has no such model or revision that can be golden.
    """
    try:
        from huggingface_hub import constants, errors  # noqa: PLC0415  # comes with transformers
    except ModuleNotFoundError as error:
        raise GoldenError(f"fetching needs {error.name}: pip install 'weighmaster[reference]'") from None
    place = urlsplit(constants.ENDPOINT).netloc.rpartition("@")[2]
    # The bases are errors of the hub's HTTP library, whichever that is, and of the system.
    bases = cast("tuple[type[Exception], ...]", errors.HfHubHTTPError.__bases__)
    expected: tuple[type[Exception], ...] = (*bases, errors.HFValidationError)
    try:
        return _fetch(repo, revision, folder, lambda line: report(f"{line} from {place}"))
    except expected as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise  # a file of ours: the disk is full, or the folder cannot be written
        raise _refusal(error, repo, revision, place) from None


def _fetch(repo: str, revision: str | None, folder: Path, report: Callable[[str], None]) -> str:
    from huggingface_hub import HfApi, snapshot_download  # noqa: PLC0415
    from huggingface_hub.utils.tqdm import disable_progress_bars  # noqa: PLC0415

    if not sys.stderr.isatty():
        disable_progress_bars()
    found = HfApi().model_info(repo, revision=revision)
    commit = str(found.sha)
    wanted = _chosen([one.rfilename for one in found.siblings or ()], f"{repo} at {commit}")
    _check_folder(folder, wanted, repo)
    report(f"fetching {len(wanted)} files of {repo} at {commit}")
    try:
        snapshot_download(repo, revision=commit, local_dir=folder, allow_patterns=wanted)
    except RuntimeError as error:
        # A transfer that breaks off is a bare RuntimeError, there and in what it transfers with; its text may name ids.
        raise GoldenError(f"{repo}: the transfer broke off ({type(error).__name__}); try again, it goes on") from error
    return commit


def _refusal(error: Exception, repo: str, revision: str | None, place: str) -> WeighmasterError:
    """Say what an error of the hub at `place` means to who wants `repo`. Its own text may name addresses and ids."""
    from huggingface_hub import errors  # noqa: PLC0415

    if isinstance(error, errors.LocalEntryNotFoundError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, errors.HFValidationError):
        return UsageError(f"--hub {repo}: no name of a model; write ORG/NAME")
    said = f"{place} cannot be reached ({type(error).__name__}); is there a network?"
    match error:
        case errors.OfflineModeIsEnabled():
            said = "cannot be fetched while HF_HUB_OFFLINE is set"
        case errors.GatedRepoError():
            said = f"gated; accept its terms on {place}, then set HF_TOKEN to that account's token"
        case errors.RevisionNotFoundError():
            said = f"{place} knows no branch, tag or commit {revision} of it; correct --revision"
        case errors.RepositoryNotFoundError():
            said = f"{place} has no such model, or it is private and HF_TOKEN does not open it"
        case errors.HfHubHTTPError():
            said = f"{place} answers HTTP {error.response.status_code}; try again later"
    return GoldenError(f"{repo}: {said}")


def _chosen(names: Collection[str], of: str) -> list[str]:
    """The files of a golden folder among `names`; sub-folders hold other formats."""
    top = [name for name in names if "/" not in name and not _matches(name, _TWICE)]
    wanted = sorted(name for name in top if _matches(name, _WANTED) and _matches(name, _DATA))
    for needed in _NEEDED:
        if not any(fnmatchcase(name, needed) for name in wanted):
            raise GoldenError(f"{of}: has no {needed}, which a golden folder needs (pickled weights are never fetched)")
    return wanted


def _check_folder(folder: Path, wanted: Collection[str], repo: str) -> None:
    """Refuse a folder with files that this revision does not have: its weights would be part of the golden ones."""
    present = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    foreign = [name for name in present if not name.startswith(".") and name != SEAL and name not in wanted]
    if foreign:
        raise UsageError(f"{folder / foreign[0]}: not part of {repo} at that revision; name an empty folder")


def _matches(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)

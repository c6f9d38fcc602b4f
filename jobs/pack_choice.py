"""Which pack a reference means: the one file, or among several trusted ones the newest of its model.

Trust comes first: of a file whose hash or signature is not the pinned one, nothing is parsed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from jobs.pack_fetch import fetched
from jobs.pack_file import engine_of, manifest_of, read_file, trust
from monitor.config_reference import ReferenceConfig, is_address
from monitor.errors import GoldenError
from reference.engines.pack import PackEngine

_ENDING = "*.pack"


@dataclass(frozen=True, slots=True, eq=False)
class _Candidate:
    """A trusted pack; of its manifest only what decides."""

    source: str
    data: bytes
    model: str
    revision: str
    created_at: datetime


def chosen_pack(reference: ReferenceConfig, cache: Path) -> PackEngine:
    """Return the engine of the pack that `reference` means; `cache` is the folder for fetched ones.

    A path that names one file or address must be it. Of folders and lists, what is not trusted or of another model is
    passed over, and the newest of the rest is taken.

    Raises
    ------
    GoldenError
        When there is none; the message says what was there and why it was not taken.
    """
    sources = list(_sources(reference))
    if not sources:
        raise GoldenError(f"{', '.join(reference.paths)}: no file {_ENDING}; put packs there, or name one")
    if sources == [*reference.paths] and len(sources) == 1:
        best = _wanted(reference, sources[0], cache)
    else:
        best = _newest(reference, sources, cache)
    return engine_of(best.data, best.source)


def _newest(reference: ReferenceConfig, sources: Sequence[str], cache: Path) -> _Candidate:
    passed_over: list[str] = []
    models: set[str] = set()
    best: _Candidate | None = None
    for source in sources:
        try:
            one = _wanted(reference, source, cache)
        except GoldenError as error:
            passed_over.append(str(error))
            continue
        models.add(one.model.lower())
        if best is None or (one.created_at, one.source) > (best.created_at, best.source):
            best = one
    if best is None:
        raise GoldenError(f"no pack for {reference.model or 'this reference'}: " + "; ".join(passed_over))
    if len(models) > 1:
        raise GoldenError(f"packs of several models ({', '.join(sorted(models))}): say which one with `model`")
    return best


def _sources(reference: ReferenceConfig) -> Iterator[str]:
    for path in reference.paths:
        if not is_address(path) and Path(path).is_dir():
            yield from map(str, sorted(Path(path).glob(_ENDING)))
        else:
            yield path


def _wanted(reference: ReferenceConfig, source: str, cache: Path) -> _Candidate:
    """Return the trusted pack at `source`. Raises GoldenError when it is not trusted, not there or not wanted."""
    data = fetched(source, sha256=reference.sha256, cache=cache) if is_address(source) else read_file(Path(source))
    trust(data, source, sha256=reference.sha256, keys=reference.keys)
    one = _candidate(source, data)
    if reference.model is not None and one.model.lower() != reference.model.lower():
        raise GoldenError(f"{source}: of the model {one.model}, wanted {reference.model}")
    if reference.revision is not None and not one.revision.startswith(reference.revision):
        raise GoldenError(f"{source}: of revision {one.revision}, wanted {reference.revision}")
    return one


def _candidate(source: str, data: bytes) -> _Candidate:
    manifest = manifest_of(data, source)
    mark = manifest.get("fingerprint")
    revision = mark.get("revision") if isinstance(mark, dict) else None
    model, revision = (str(one or "unknown") for one in (manifest.get("model"), revision))
    return _Candidate(source, data, model, revision, _instant(manifest["created_at"], source))


def _instant(text: object, source: str) -> datetime:
    """When a pack was recorded. Raises GoldenError where that is no time with a zone: it decides which is newest."""
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        raise GoldenError(f"{source}: its `created_at` is {text!r}, no time with a zone; record it again")
    return found

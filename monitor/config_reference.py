"""What a configuration says of one golden model."""

from dataclasses import dataclass, field
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field

from monitor.config_fields import BaseUrl, Device, Protocol, PublicKeys, Secret, Sha256, Text

_REMOTE = frozenset({"server", "official"})
_SPREAD = frozenset({"balanced", "sequential"})
_TORCH_ONLY = {"device": "auto", "dtype": "float32", "workers": 1}
_THIS_MACHINE = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceConfig:
    """A golden model."""

    engine: Literal["torch", "server", "official", "pack"] = "torch"
    """What knows the golden answers: weights in this process, a trusted server, the vendor's API, or a recording."""
    path: Text | tuple[Text, ...]
    """Folder with tokenizer, template and (for torch) weights; for pack a file, a folder of packs, an https address, or
    a list of those. Relative to the working directory."""
    revision: Text | None = None
    """The commit that folder or pack must be of; its first characters will do. Absent: any."""
    device: Device = "auto"
    """auto, cpu, cuda, cuda:N or mps; balanced or sequential spread one model over all GPUs. torch only."""
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision in which the golden weights are run; torch only."""
    workers: Annotated[int, Field(ge=1)] = 1
    """Processes that score; with device cuda each takes a GPU of its own. torch only."""
    calibration: Text | None = None
    """A ``calibration.json`` of `reference calibrate`: detectors then go by its tolerances, not by their defaults."""
    template: dict[str, str | bool | float] = field(default_factory=dict)
    """Variables of the chat template, such as enable_thinking: false."""
    url: BaseUrl | None = None
    """Address of the server or the official API, such as http://127.0.0.1:8000/v1."""
    model: Text | None = None
    """The name that the server or API knows the model by; for pack: which of several packs."""
    api_key: Secret = None
    """Written as ${NAME}; server and official only."""
    protocol: Protocol = "openai_chat"
    """How the server or API speaks."""
    parallel: Annotated[int, Field(ge=1)] = 4
    """Requests in flight to the server at once."""
    sha256: Sha256 | None = None
    """The hash that the pack must have; absent: any."""
    keys: PublicKeys = ()
    """Public keys, one of which must have signed the pack; absent: it need not be signed."""

    def __post_init__(self) -> None:
        """Refuse keys that contradict each other, or that nothing would look at."""
        _check(self)

    @property
    def paths(self) -> tuple[str, ...]:
        """All that ``path`` names; one, unless the engine is ``pack``."""
        return (self.path,) if isinstance(self.path, str) else self.path


def is_address(path: str) -> bool:
    """Whether `path` is an address on the net and no file."""
    return path.lower().startswith(("https://", "http://"))


def _check(reference: ReferenceConfig) -> None:
    if not reference.paths:
        raise ValueError("`path` is an empty list; name a pack, a folder or an address")
    _check_address(reference)
    _check_unread(reference)
    if reference.engine == "pack":
        _check_pack(reference)
        return
    if len(reference.paths) > 1:
        raise ValueError("several paths are for the engine pack; name one folder")
    if reference.sha256 or reference.keys:
        raise ValueError(f"`sha256` and `keys` pin packs, and the engine {reference.engine} reads none; use `revision`")
    if reference.workers > 1 and reference.device in _SPREAD:
        raise ValueError(f"device {reference.device} gives one model all GPUs: leave `workers` at 1, or use cuda")


def _check_address(reference: ReferenceConfig) -> None:
    remote = reference.engine in _REMOTE
    if remote and not (reference.url and reference.model):
        raise ValueError(f"the engine {reference.engine} needs `url` and `model`")
    if not remote and reference.url:
        raise ValueError(f"the engine {reference.engine} asks no `url`; use server or official")
    if reference.engine == "torch" and reference.model:
        raise ValueError("the engine torch asks no `model`: the folder in `path` decides")


def _check_unread(reference: ReferenceConfig) -> None:
    given = [name for name, default in _TORCH_ONLY.items() if getattr(reference, name) != default]
    if reference.engine != "torch" and given:
        raise ValueError(f"`{given[0]}` is for the engine torch, and the engine {reference.engine} never reads it")


def _check_pack(reference: ReferenceConfig) -> None:
    addresses = [path for path in reference.paths if is_address(path)]
    if addresses and not (reference.sha256 or reference.keys):
        raise ValueError("a pack from an address needs `keys` or `sha256`: who holds the address must not decide")
    if any(not _is_safe(address) for address in addresses):
        raise ValueError("the address of a pack must be https:// and a host, without user name and password")


def _is_safe(address: str) -> bool:
    """Whether nobody on the way sees or delays what is fetched: https, or this machine."""
    try:
        parts = urlsplit(address)
        host, is_plain = parts.hostname, parts.scheme == "http"
    except ValueError:
        return False
    return bool(host) and "@" not in parts.netloc and (not is_plain or host in _THIS_MACHINE)

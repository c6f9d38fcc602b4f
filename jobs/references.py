"""Makes the golden engine that a configuration names; the only place where engines meet addresses and keys."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import httpx

from jobs.clients import http_client
from jobs.clock import SystemClock
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from monitor.ports import Client, Scorer
from monitor.types import Endpoint
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from reference.engines.marks import declared
from reference.fingerprint import require_revision
from reference.tokenizer import GoldenTokenizer

# A big model may think for long, and nobody is timed here.
_LIMITS = Limits(first_byte_s=600, first_token_s=600, stall_s=600, total_s=1800)
_TIMEOUT_S = 600
_ERROR_CHARS = 200


def scorer_for(reference: ReferenceConfig) -> Scorer:
    """Make the golden engine of `reference`.

    All but the engine ``pack`` are a `monitor.ports.Client` too (`reference.engines` says what each can).

    Raises
    ------
    GoldenError
        When files are missing, damaged or changed, or a server cannot be used.
    """
    return _MAKERS[reference.engine](reference)


def load_torch(reference: ReferenceConfig, threads: int | None = None) -> Scorer:
    """Load golden weights into this process. A function of its own, so that worker processes can be told to call it."""
    try:
        from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when a reference needs it
    except ModuleNotFoundError as error:
        raise GoldenError(
            f"the engine torch needs {error.name}: pip install 'weighmaster[reference]', or use a server or a pack"
        ) from error
    return TorchEngine.load(
        Path(reference.paths[0]), device=reference.device, dtype=reference.dtype, threads=threads,
        revision=reference.revision, template_options=reference.template,
    )  # fmt: skip


class HttpAsk:
    """Posts JSON to a trusted server (`reference.engines.server_styles.Ask`). Safe to call from several threads."""

    def __init__(self, url: str, key: str | None) -> None:
        self._root = url.rstrip("/").removesuffix("/v1")
        headers = {"user-agent": "weighmaster"} | ({"authorization": f"Bearer {key}"} if key else {})
        self._http = httpx.Client(headers=headers, timeout=_TIMEOUT_S, follow_redirects=False, trust_env=False)

    def __call__(self, path: str, body: Mapping[str, Any]) -> Any:
        """Return the JSON of the answer. Raises GoldenError when it is no success or cannot be had."""
        url = self._root + path
        try:
            reply = self._http.post(url, json=dict(body))
        except httpx.HTTPError as error:
            raise GoldenError(f"{url}: {str(error) or type(error).__name__}; is the golden server running?") from error
        if reply.status_code != httpx.codes.OK:
            raise GoldenError(f"{url}: HTTP {reply.status_code}: {reply.text[:_ERROR_CHARS]}")
        try:
            return reply.json()
        except ValueError as error:
            raise GoldenError(f"{url}: answers something other than JSON") from error

    def close(self) -> None:
        """Close the connections. Idempotent."""
        self._http.close()


def _torch(reference: ReferenceConfig) -> Scorer:
    if reference.workers == 1:
        return load_torch(reference)
    from jobs.scoring_pool import pool_of  # noqa: PLC0415  # only who asks for workers pays for them

    return pool_of(reference)


def _server(reference: ReferenceConfig) -> Scorer:
    from reference.engines.server import ServerEngine  # noqa: PLC0415

    url, model, key = _address(reference)
    folder = _folder(reference)
    mark = declared(folder, engine="server", url=url, model=model, versions={})
    tokenizer = GoldenTokenizer.load(folder, options=reference.template)
    ask = HttpAsk(url, key)
    try:
        return ServerEngine.connect(
            fingerprint=mark, tokenizer=tokenizer, model=model, client=_client(reference), ask=ask,
            parallel=reference.parallel,
        )  # fmt: skip
    except GoldenError:
        ask.close()
        raise


def _official(reference: ReferenceConfig) -> Scorer:
    from reference.engines.official import OfficialEngine  # noqa: PLC0415

    url, model, _ = _address(reference)
    folder = _folder(reference)
    return OfficialEngine(
        fingerprint=declared(folder, engine="official", url=url, model=model, versions={}),
        tokenizer=GoldenTokenizer.load(folder, options=reference.template), client=_client(reference),
    )  # fmt: skip


def _pack(reference: ReferenceConfig) -> Scorer:
    from jobs.golden import default_home  # noqa: PLC0415
    from jobs.pack_choice import chosen_pack  # noqa: PLC0415  # pyarrow only where a pack is read

    return chosen_pack(reference, default_home(os.environ) / "packs")


def _folder(reference: ReferenceConfig) -> Path:
    """The golden folder of an engine that computes elsewhere, of the revision that is wanted."""
    folder = Path(reference.paths[0])
    require_revision(folder, reference.revision)
    return folder


def _address(reference: ReferenceConfig) -> tuple[str, str, str | None]:
    """Address, model and key; the configuration guarantees the first two."""
    key = reference.api_key.get_secret_value() if reference.api_key else None
    return str(reference.url), str(reference.model), key


def _client(reference: ReferenceConfig) -> Client:
    url, model, key = _address(reference)
    endpoint = Endpoint(name=f"reference/{model}", provider="reference", base_url=url, model=model,
                        protocol=reference.protocol)  # fmt: skip
    clock = SystemClock()
    own = reference.engine == "server"  # a golden server stands in the own network
    return http_client(endpoint, key, clock, Heartbeat(clock), _LIMITS, allow_private=own)


_MAKERS: Mapping[str, Callable[[ReferenceConfig], Scorer]] = {
    "torch": _torch, "server": _server, "official": _official, "pack": _pack,
}  # fmt: skip

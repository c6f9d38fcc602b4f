"""The badge of an endpoint over the API: ``/api/badge?endpoint=acme/model``."""

from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

from monitor.badge import badge
from monitor.codec import decode, encode
from monitor.comparison_public import public_verdicts
from monitor.results import Verdict
from storage.interface import ReadStore
from storage.parameters import Parameters

_Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]
# Scripts in an SVG would run where somebody opens it as a page; there is none, and none may be.
_HEADERS = {
    "content-type": "image/svg+xml; charset=utf-8", "cache-control": "max-age=60",
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
}  # fmt: skip


def _badge(store: ReadStore, ask: Parameters) -> Callable[[], Any]:
    """How an endpoint stands, as a small SVG picture."""
    name = ask.one_endpoint()

    def read() -> Response:
        found = next((one for one in store.overview()["endpoints"] if one["endpoint"] == name), None)
        verdicts = public_verdicts(decode(Verdict, encode(one)) for one in found["verdicts"]) if found else ()
        return Response(badge(name, verdicts), headers=_HEADERS)

    return read


BADGES: Mapping[str, _Plan] = {"badge": _badge}
"""Reads to add to `storage.api.app`."""

"""The exchange as people and scripts read it: flat, nulls kept."""

from typing import Any

from monitor.codec import plain
from monitor.types import Exchange

_INTERNAL = ("exchange_id", "run_id", "request")


def record(exchange: Exchange) -> dict[str, Any]:
    """Return what ``weighmaster decode`` prints: the fields of DESIGN section 5, those of choice 0 at the top level.

    ``lp_count`` and ``lp_tokens`` describe the logprobs of choice 0; the entries carry their ``position``.
    """
    whole: dict[str, Any] = {key: value for key, value in plain(exchange).items() if key not in _INTERNAL}
    choices = whole.pop("choices")
    for choice in choices:
        choice["logprobs"] = _numbered(choice["logprobs"])
    first: dict[str, Any] = choices[0] if choices else plain(exchange.choice)
    entries = first["logprobs"] or []
    flat = {key: value for key, value in first.items() if key != "index"}
    lp = {"lp_count": len(entries), "lp_tokens": [entry["token"] for entry in entries]}
    return {"outcome": whole.pop("outcome"), **flat, **lp, **whole, "choices": choices}


def _numbered(entries: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
    return None if entries is None else [{"position": n, **entry} for n, entry in enumerate(entries)]

"""Endpoints whose runs are too short for `faults` to pass: an incident of it would stay open after the repair."""

from collections.abc import Mapping

from monitor.config import Config


def too_short(config: Config) -> dict[str, int]:
    """Return by endpoint the requests of its longest run, where those are fewer than `faults` wants for a pass."""
    wanted = least(config)
    if wanted is None:
        return {}
    longest = {
        entry.endpoint.name: max((
            plan.probe.cost().n_requests for plan in config.plans if entry.endpoint.name in plan.endpoints
        ), default=wanted)
        for entry in config.endpoints
    }  # fmt: skip
    return {name: most for name, most in longest.items() if most < wanted}


def least(config: Config) -> int | None:
    """Return the fewest complete answers for a pass of `faults`; None where it is not used."""
    return next((getattr(one, "min_n", None) for one in config.detectors if one.kind == "faults"), None)


def short_line(config: Config, short: Mapping[str, int]) -> str:
    """Return what `check` says of them."""
    most = max(short.values())
    return (
        f"{', '.join(sorted(short))}: no run asks {least(config)} requests, so `faults` never passes there and "
        f"an incident of it stays open; ask more in a run, or set detectors: {{faults: {{min_n: {most}}}}}"
    )

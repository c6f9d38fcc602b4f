"""Looks at the variants that the detector `identify` is to compare with, without loading any weights."""

from monitor.config_check import nearest
from monitor.config_types import Config
from monitor.detectors.identify import Identify
from monitor.errors import Problem, UsageError


def variant_problems(config: Config) -> tuple[Problem, ...]:
    """Return a problem for every name in ``detectors.identify.variants`` that nobody could predict.

    A golden folder predicts variants of the bank by name; a pack also those that were recorded by their parameters.
    """
    from reference.predictions import is_predictable  # noqa: PLC0415
    from reference.variants.bank import bank  # noqa: PLC0415

    wanted = [name for one in config.detectors if isinstance(one, Identify) for name in one.variants]
    known = [name for name, variant in bank().items() if is_predictable(variant)]
    written_out = any(reference.engine == "pack" for reference in config.references.values())
    return tuple(
        Problem(
            path="detectors.identify.variants", message=f"{name!r} cannot be predicted; these can: {', '.join(known)}",
            suggestion=nearest(name, known) if name not in bank() else None,
        )
        for name in wanted if name not in known and not (written_out and _is_written_out(name))
    )  # fmt: skip


def _is_written_out(name: str) -> bool:
    from reference.variants.bank import find  # noqa: PLC0415

    try:
        return ":" in name and find(name).changes == "weights"
    except UsageError:
        return False

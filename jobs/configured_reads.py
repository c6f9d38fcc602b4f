"""What the configuration says and pages show: budgets and the ladders of calibrations. A read of the store's API."""

from collections.abc import Callable, Mapping
from typing import Any

from jobs.compare_ladder import ladders_of
from monitor.codec import plain
from monitor.config_types import Config
from monitor.errors import GoldenError
from storage.interface import Json, ReadStore
from storage.parameters import Parameters

_Plan = Callable[[ReadStore, Parameters], Callable[[], Any]]


def configured_reads(config: Callable[[], Config | None]) -> Mapping[str, _Plan]:
    """The read ``configured``, by name; `config` returns what is in force, None for a store without a file."""

    def configured(_store: ReadStore, _ask: Parameters) -> Callable[[], Any]:
        """Daily budgets by endpoint and calibrated ladders by reference, as the configuration has them."""
        return lambda: _said(config())

    return {"configured": configured}


def _said(config: Config | None) -> Json:
    if config is None:
        return {"budgets": {}, "ladders": {}, "trouble": None}
    trouble = None
    try:
        ladders = ladders_of(config)
    except GoldenError as error:
        ladders, trouble = {}, str(error)
    found: Json = plain({
        "budgets": {one.endpoint.name: one.budget for one in config.endpoints if one.budget}, "ladders": ladders,
        "trouble": trouble,
    })  # fmt: skip
    return found

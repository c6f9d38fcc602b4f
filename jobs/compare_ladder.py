"""The calibrations that a configuration names, as ladders of a comparison."""

from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from monitor.comparison import Ladder, Rung
from monitor.config_types import Config
from monitor.errors import GoldenError

METRIC = "kl_nats"


def ladders_of(config: Config) -> dict[str, Ladder]:
    """The ladder of every reference that names a calibration.

    Raises
    ------
    GoldenError
        When a calibration cannot be read.
    """
    paths = {name: Path(one.calibration) for name, one in config.references.items() if one.calibration is not None}
    found = {name: ladder_in(path) for name, path in paths.items()}
    return {name: one for name, one in found.items() if one is not None}


def ladder_in(path: Path) -> Ladder | None:
    """The ladder in a ``calibration.json``; None when divergences were not calibrated. Raises GoldenError."""
    try:
        document = orjson.loads(path.read_bytes())
        metric = next((one for one in document["metrics"] if one["metric"] == METRIC), None)
        return None if metric is None else _ladder(document, metric)
    except OSError as error:
        raise GoldenError(f"{path}: cannot be read: {error.strerror}; run `weighmaster reference calibrate`") from None
    except (ValueError, KeyError, TypeError) as error:
        raise GoldenError(f"{path}: not a calibration: {error!r}; run `weighmaster reference calibrate`") from None


def _ladder(document: dict[str, Any], metric: dict[str, Any]) -> Ladder:
    rungs = [
        Rung(name=one["name"], faithful=one["faithful"], value=one["value"], low=one["low"], high=one["high"])
        for one in metric["members"]
    ]
    return Ladder(
        rungs=tuple(sorted(rungs, key=lambda one: (one.value, one.name))), tolerance=metric["tolerance"],
        n_prompts=document.get("n_prompts"), at=datetime.fromisoformat(document["at"]),
        weights_sha256=document["fingerprint"]["weights_sha256"],
    )  # fmt: skip

"""Reads the calibration that a configuration names for a reference."""

from pathlib import Path

import orjson

from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from monitor.results import Fingerprint, Tolerances
from monitor.tolerances import read_tolerances


def tolerances_for(reference: ReferenceConfig, mark: Fingerprint) -> Tolerances | None:
    """Return the calibrated tolerances of `reference`, whose engine is marked `mark`; None where it names none.

    Raises
    ------
    GoldenError
        When the file cannot be read, or is of other weights than the golden ones.
    """
    if reference.calibration is None:
        return None
    return tolerances_in(Path(reference.calibration), mark.weights_sha256)


def tolerances_in(path: Path, weights_sha256: str | None) -> Tolerances:
    """Return the calibrated tolerances in the file at `path`; None: the golden weights are not known yet.

    Raises
    ------
    GoldenError
        As `tolerances_for`.
    """
    try:
        found = read_tolerances(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise GoldenError(f"{path}: cannot be read: {error.strerror}; run `weighmaster reference calibrate`") from error
    except (ValueError, GoldenError) as error:
        raise GoldenError(f"{path}: {error}") from error
    if weights_sha256 is not None and found.weights_sha256 != weights_sha256:
        raise GoldenError(
            f"{path}: calibrated on weights {found.weights_sha256[:12]}, and the reference has "
            f"{weights_sha256[:12]}; calibrate again"
        )
    return found

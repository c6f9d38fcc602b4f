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
    path = Path(reference.calibration)
    try:
        found = read_tolerances(orjson.loads(path.read_bytes()))
    except OSError as error:
        raise GoldenError(f"{path}: cannot be read: {error.strerror}; run `weighmaster reference calibrate`") from error
    except (ValueError, GoldenError) as error:
        raise GoldenError(f"{path}: {error}") from error
    if found.weights_sha256 != mark.weights_sha256:
        raise GoldenError(
            f"{path}: calibrated on weights {found.weights_sha256[:12]}, and the reference has "
            f"{mark.weights_sha256[:12]}; calibrate again"
        )
    return found

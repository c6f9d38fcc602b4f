"""What an endpoint of a declared precision is tolerated, and where evidence stands against that."""

import math

from monitor.results import Evidence, Status
from monitor.stats.eprocess import Interval
from monitor.tolerances import FULL, precision_class, weights_of

SUSPECT_NATS = math.log(20)
"""Evidence, in nats, from which something is suspect: 20 to 1."""


def is_full(evidence: Evidence) -> bool:
    """Whether the endpoint declares 16 bit or more, or nothing."""
    return precision_class(evidence.endpoint.precision) == FULL


def calibrated(evidence: Evidence, metric: str) -> float | None:
    """What the calibration of the reference allows for the declared precision; None where it says nothing."""
    if evidence.tolerances is None:
        return None
    return evidence.tolerances.allowed(metric, precision_class(evidence.endpoint.precision))


def allowed(evidence: Evidence, metric: str, *, full: float, coarse: float) -> float:
    """What is tolerated: as calibrated, else `full` for 16 bit or more (or nothing declared), `coarse` for less.

    Where a calibration only computed the weights of a lower precision, that is the least that a server of it differs
    by: `coarse`, or that where it is more.
    """
    found = calibrated(evidence, metric)
    if found is not None:
        return found
    if is_full(evidence):
        return full
    name = weights_of(precision_class(evidence.endpoint.precision))
    computed = evidence.tolerances.allowed(metric, name) if evidence.tolerances else None
    return coarse if computed is None else max(coarse, computed)


def status_of(
    log_e: float, interval: Interval, *, tolerated: float, fail_nats: float, pass_below: float | None = None
) -> Status:
    """Return the status of an effect that should not be above `tolerated`.

    *Fail* at evidence of `fail_nats`; *suspect* at `SUSPECT_NATS`, or when the interval lies above what is tolerated;
    *pass* when it lies below that (below `pass_below` where that is given); else *inconclusive*.
    """
    if log_e >= fail_nats:
        return "fail"
    if log_e >= SUSPECT_NATS or interval.low > tolerated:
        return "suspect"
    return "pass" if interval.high < (tolerated if pass_below is None else pass_below) else "inconclusive"

"""Behavioural kinds in the service: the answers of an endpoint beside golden's own answers to the same requests."""

from collections.abc import Mapping, Sequence

from monitor.faults.behaviour import Behaviour, behave
from monitor.faults.catalogue import CATALOGUE
from monitor.types import Exchange

CALIBRATED = frozenset({"fidelity", "long_context"})
"""Detectors that compare with golden themselves, with what faithful engines differ by: their kinds are left to them."""

KINDS: tuple[str, ...] = tuple(one.name for one in CATALOGUE if one.behavioural and one.told_by not in CALIBRATED)


def paired(
    exchanges: Sequence[Exchange], answers: Mapping[str, Exchange], *, alpha: float
) -> tuple[Behaviour, ...]:  # fmt: skip
    """Return what comes of each kind that can be compared on these answers; `answers` are by exchange id.

    Of the exchanges only those count that golden answered too, so that both sides have as many chances of a sign.
    """
    both = [(one, answers[one.exchange_id]) for one in exchanges if one.exchange_id in answers]
    whole = [(own, golden) for own, golden in both if own.answered and golden.answered]
    endpoint, reference = [own for own, _ in whole], [golden for _, golden in whole]
    found = (behave(name, endpoint, reference, alpha=alpha) for name in KINDS)
    return tuple(one for one in found if one.n)

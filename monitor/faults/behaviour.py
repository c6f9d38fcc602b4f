"""Behavioural kinds: what one answer cannot prove, found beside the reference with a stated alpha and power.

Each prompt is put to the endpoint and to the reference. Of both it is noted whether the sign of the kind is there, and
only the prompts on which they disagree count.

Test: the exact one-sided test of matched pairs (`monitor.stats.sign_test`). Under the null that the endpoint shows the
sign no more often than the reference, its p-value is at most alpha with probability at most alpha.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2

from scipy.stats import beta

from monitor.faults.catalogue import CATALOGUE
from monitor.faults.signs import sign_of
from monitor.stats.sign_test import more_of_first
from monitor.types import Exchange

POWER = 0.9
ALPHA = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """What a comparison with the reference says about one kind.

    ``k`` of ``n`` prompts show the sign at the endpoint, ``k_reference`` at the reference. ``mde`` is the smallest rate
    of additional signs that `n` prompts find with probability ``power`` at ``alpha``, None where even all of them
    would not do. ``found`` is None where nothing could be compared.
    """

    name: str
    k: int
    k_reference: int
    n: int
    p_value: float | None
    alpha: float
    power: float
    mde: float | None

    @property
    def found(self) -> bool | None:
        """Whether the kind is found at ``alpha``."""
        return None if self.p_value is None else self.p_value <= self.alpha


def behave(
    name: str, endpoint: Sequence[Exchange], reference: Sequence[Exchange], *, again: Sequence[Exchange] = (),
    alpha: float = ALPHA, power: float = POWER,
) -> Behaviour:  # fmt: skip
    """Compare the signs of the kind `name` on the prompts that both answered.

    Parameters
    ----------
    endpoint, reference
        Answers to the same requests, in the order of asking.
    again
        A second run of the reference, for kinds that compare texts with it (`other_model`, `quantised`): how often it
        leaves its own first answers is the noise of faithful engines. Without it there is none.
    """
    sign = sign_of(name)
    own, theirs = sign(endpoint, reference), sign(again or reference, reference)
    return compare(name, own, theirs, alpha=alpha, power=power)


def behaviours(
    endpoint: Sequence[Exchange], reference: Sequence[Exchange], *, again: Sequence[Exchange] = (),
    alpha: float = ALPHA,
) -> tuple[Behaviour, ...]:  # fmt: skip
    """Return the behavioural kinds that are found.

    Answers that loop, that are cut or that another model gave leave the reference's too: other weights are named only
    where no other kind explains that.
    """
    kinds = [fault.name for fault in CATALOGUE if fault.behavioural]
    found = [one for kind in kinds if (one := behave(kind, endpoint, reference, again=again, alpha=alpha)).found]
    return tuple(found if len(found) == 1 else [one for one in found if one.name != "quantised"])


def compare(
    name: str, own: Mapping[str, bool], theirs: Mapping[str, bool], *, alpha: float = ALPHA, power: float = POWER
) -> Behaviour:
    """Test signs by prompt: `own` of the endpoint, `theirs` of the reference."""
    both = [(own[prompt], theirs[prompt]) for prompt in own if prompt in theirs]
    worse, better = sum(a > b for a, b in both), sum(a < b for a, b in both)
    return Behaviour(
        name=name, k=sum(a for a, _ in both), k_reference=sum(b for _, b in both), n=len(both),
        p_value=more_of_first(worse, better) if both else None, alpha=alpha, power=power,
        mde=smallest_rate(len(both), alpha=alpha, power=power),
    )  # fmt: skip


def smallest_rate(n: int, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the rate of additional signs that `n` prompts find with `power`, the reference showing none.

    The test rejects from ``needed`` signs on, where ``2 ** -needed <= alpha``; the rate solves
    ``P(Binomial(n, rate) >= needed) = power``.
    """
    needed = ceil(-log2(alpha))
    return float(beta.ppf(power, needed, n - needed + 1)) if n >= needed else None

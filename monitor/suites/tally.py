"""What was right: by case, for an endpoint and for golden, and the name under which a run keeps it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monitor.types import Exchange

RIGHT, WRONG, UNTOLD = "right", "wrong", "untold"
_SEPARATOR = "|"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """How often a case was answered rightly: ``k`` of the ``n`` answers that could be graded."""

    case: str
    k: int
    n: int
    weight: float = 1.0
    family: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A case as the endpoint answers it, and as something else does: golden, or an earlier run."""

    case: str
    k: int
    n: int
    other_k: int
    other_n: int
    weight: float = 1.0

    @property
    def difference(self) -> float:
        """Share of right answers, less that of the other side: -1 to 1."""
        return self.k / self.n - self.other_k / self.other_n


def pairs(own: Iterable[Tally], other: Iterable[Tally]) -> tuple[Pair, ...]:
    """Return the cases that both sides have graded answers to, in the order of `own`."""
    by_case = {one.case: one for one in other if one.n}
    return tuple(
        Pair(case=one.case, k=one.k, n=one.n, other_k=by_case[one.case].k, other_n=by_case[one.case].n,
             weight=one.weight)
        for one in own if one.n and one.case in by_case
    )  # fmt: skip


def graded_name(prompt_id: str, passed: bool | None) -> str:
    """Return the name of a request with the grade of its answer: it survives when the answer is not kept."""
    return prompt_id + _SEPARATOR + (UNTOLD if passed is None else RIGHT if passed else WRONG)


def attempt_name(case: str, attempt: int, weight: float = 1.0) -> str:
    """Return the name of one attempt at a case."""
    return f"{case}#{attempt}" + ("" if weight == 1 else f"*{weight:g}")


def tallies(exchanges: Sequence[Exchange]) -> tuple[Tally, ...]:
    """Return what the names of graded requests say, by case. Others are left out."""
    found: dict[str, list[int]] = {}
    weights: dict[str, float] = {}
    for one in exchanges:
        name, bar, grade = (one.request.prompt_id if one.request else "").rpartition(_SEPARATOR)
        case, hash_, attempt = name.rpartition("#")
        if not bar or not hash_ or grade not in {RIGHT, WRONG, UNTOLD}:
            continue
        weights[case] = float(attempt.partition("*")[2] or 1.0)
        counts = found.setdefault(case, [0, 0])
        counts[0] += grade == RIGHT
        counts[1] += grade != UNTOLD
    return tuple(Tally(case=case, k=k, n=n, weight=weights[case]) for case, (k, n) in found.items())


def totals(some: Iterable[Tally]) -> Mapping[str, int]:
    """Return right answers and graded answers over all cases."""
    listed = list(some)
    return {"k": sum(one.k for one in listed), "n": sum(one.n for one in listed)}

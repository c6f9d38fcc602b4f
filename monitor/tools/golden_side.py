"""What golden's own answers to the cases say of an endpoint's.

Both forms of a case are sent with one seed. Where it is honoured they are one draw told twice, so of the answers to a
case with one seed only one counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from monitor.stats.rates import wilson
from monitor.tools.draws import ToolDraws
from monitor.tools.graded import Graded
from monitor.tools.layers import was_cut
from monitor.tools.markup import call_in_text
from monitor.tools.measures import by_name, observed
from monitor.tools.triggers import Agreement, Decisions, NoiseFloor, agreement, count_mix, noise_floor

_TWO = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Against:
    """Decisions held against golden's, ends by the cap before any decision, and calls that cannot be run.

    Each None where golden has none of them.
    """

    agreement: Agreement | None = None
    undecided: Agreement | None = None
    unsound: Agreement | None = None
    words: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def p_endless(self) -> float | None:
        """P-value that the cap ends no more answers before a decision than golden's; None where that is not known."""
        return _p_more(self.undecided)

    @property
    def p_unsound(self) -> float | None:
        """P-value that no more calls are broken or cut within themselves than golden's; None where not known."""
        return _p_more(self.unsound)


def _p_more(found: Agreement | None) -> float | None:
    return None if found is None else found.p_excess if found.excess > 0 else 1.0


def against_golden(
    graded: Sequence[Graded], draws: Mapping[str, ToolDraws], *, rng: np.random.Generator, n_dealt: int = 9999
) -> Against:
    """Compare decisions to call, and numbers of calls, on the cases that golden answered too.

    P-values rest on `n_dealt` random deals of the answers to the two sides.
    """
    f1 = by_name(observed(graded))["tool_trigger_f1"].value
    mixed = [graded[at] for at in rng.permutation(len(graded))]  # which form counts is left to chance
    decided = _one_each([one for one in mixed if one.decided is not None])
    own, cut = decisions(decided, draws), _undecided(_one_each([one for one in mixed if one.arrived]), draws)
    undecided = agreement(list(cut.values()), rng=rng, draws=n_dealt) if cut else None
    broken = _unsound(decided, draws)
    unsound = agreement(list(broken.values()), rng=rng, draws=n_dealt) if broken else None
    told = {"f1_labels": f1, "unsound_excess": None if unsound is None else unsound.excess}
    floors = [(draw.k, draw.n) for name, draw in draws.items() if name in own and draw.n >= _TWO]
    if not own or not floors:
        return Against(undecided=undecided, unsound=unsound, details=told)
    found = agreement(list(own.values()), rng=rng, draws=n_dealt)
    floor = noise_floor(floors, rng=rng)
    mix = count_mix(
        [_n_calls(one) for one in decided if one.case.case_id in own],
        [count for name in own for count in draws[name].calls], rng=rng,
    )  # fmt: skip
    return Against(
        agreement=found, undecided=undecided, unsound=unsound, words=_words(found, floor),
        details={
            **told, "f1_ceiling": floor.f1, "f1_ceiling_low": floor.low, "f1_ceiling_high": floor.high,
            "agreement": found.agreement, "agreement_golden": found.expected, "z": found.z, "excess": found.excess,
            "log_ratio_nats": found.log_ratio, "n_golden_cases": len(own), "call_count_cosine": mix.cosine,
            "call_count_tv": mix.total_variation, "p_call_count": mix.p_value,
        },
    )  # fmt: skip


def unsound_rate(draws: Mapping[str, ToolDraws]) -> float | None:
    """Return the rate of golden's calls that cannot be run, at the upper end of its interval; None where all can."""
    unsound, called = sum(one.unsound for one in draws.values()), sum(one.k for one in draws.values())
    return wilson(unsound, called).high if unsound else None


def _one_each(graded: Sequence[Graded]) -> list[Graded]:
    """The first answer to each case and seed."""
    found: dict[tuple[str, Any], Graded] = {}
    for one in graded:
        asked = one.exchange.request
        seed = None if asked is None else asked.extra.get("seed", asked.seed)
        found.setdefault((one.case.case_id, seed), one)
    return list(found.values())


def _n_calls(one: Graded) -> int:
    """Calls that the model made, of which one that was left in the text is one."""
    return max(len(one.calls), int(one.predicates.called))


def decisions(graded: Sequence[Graded], draws: Mapping[str, ToolDraws]) -> dict[str, Decisions]:
    """Known decisions by case, beside golden's; answers to a case must be independent of each other."""
    known: dict[str, list[bool]] = {}
    for one in graded:
        if one.decided is not None and one.case.case_id in draws and draws[one.case.case_id].n:
            known.setdefault(one.case.case_id, []).append(one.decided)
    return {
        name: Decisions(golden_k=draws[name].k, golden_n=draws[name].n, k=sum(made), n=len(made))
        for name, made in known.items()
    }


def _undecided(graded: Sequence[Graded], draws: Mapping[str, ToolDraws]) -> dict[str, Decisions]:
    """Answers that the cap ended before they decided, against golden's, on cases that golden answered."""
    known: dict[str, list[bool]] = {}
    for one in graded:
        if one.arrived and one.case.case_id in draws and draws[one.case.case_id].n + draws[one.case.case_id].n_cut:
            known.setdefault(one.case.case_id, []).append(was_cut(one.exchange) and one.decided is None)
    return {
        name: Decisions(golden_k=draws[name].n_cut, golden_n=draws[name].n + draws[name].n_cut, k=sum(cut), n=len(cut))
        for name, cut in known.items()
    }


def _unsound(graded: Sequence[Graded], draws: Mapping[str, ToolDraws]) -> dict[str, Decisions]:
    """Calls that nobody can run, those that the cap cut within themselves too, on cases that golden called on."""
    known: dict[str, list[bool]] = {}
    for one in graded:
        if one.predicates.called and one.case.case_id in draws and draws[one.case.case_id].k:
            known.setdefault(one.case.case_id, []).append(_is_unsound(one))
    return {
        name: Decisions(golden_k=draws[name].unsound, golden_n=draws[name].k, k=sum(made), n=len(made))
        for name, made in known.items()
    }


def _is_unsound(one: Graded) -> bool:
    """Whether the model wrote a call that cannot be read or is not valid; where it arrived says nothing of that."""
    if one.calls:
        return any(call.valid is False for call in one.calls)
    leaked = call_in_text(one.exchange.choice.content, one.case.parameters)
    return leaked is not None and not leaked.readable


def _words(found: Agreement, floor: NoiseFloor) -> str:
    ceiling = "" if floor.f1 is None else f"; golden's own F1 against itself is {floor.f1:.0%}, which is the ceiling"
    return (
        f"decisions agree with golden's at {found.agreement:.0%}, golden with itself at {found.expected:.0%} "
        f"(z {found.z:+.1f}, p {found.p_value:.2g}){ceiling}"
    )

"""What is known of the weights behind an endpoint, and where nothing is, why: as a sentence and as a table."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from monitor.comparison import Ladder, ModelComparison, Row
from monitor.comparison_figures import DASH, age_text, stamp
from monitor.comparison_measures import ROUND, WEIGHTS, has_other_prompt, judged_at
from monitor.plurals import plural
from monitor.results import Verdict
from monitor.stats.posterior import posterior_text
from monitor.tolerances import is_precision

FLOOR_NATS = 1e-6
"""Where the picture of a ladder ends: what is nearer to golden stands there; its number stands beside it."""
SURE = 0.9
"""Posterior from which on a scheme is named in a sentence."""
_ACCOUNTING, _KL = "accounting", "logprob_fidelity"


def of(verdicts: Sequence[Verdict], detector: str) -> Verdict | None:
    """The verdict of a detector; None where it gave none."""
    return next((one for one in verdicts if one.detector == detector), None)


_PARTS = {"system": "the system turn", "tools": "the tools", "stub": "the words that open the answer"}
"""Parts of a prompt that `accounting` finds missing, as people call them."""


def prompt_fault(verdicts: Sequence[Verdict]) -> str | None:
    """Say what the endpoint does to the prompt, and how that shows; None where nothing is wrong with it.

    Of the weights behind another prompt nothing is said: they may be those that are declared.
    """
    if not has_other_prompt(verdicts):
        return None
    counted, lead = of(verdicts, _ACCOUNTING), "does not feed the model golden's prompt"
    if counted is None or counted.status != "fail":
        return lead
    part = missing_part(verdicts)
    return f"{lead}: {f'{part} is missing ({_counted(counted)})' if part else counted.reason}"


def missing_part(verdicts: Sequence[Verdict]) -> str | None:
    """Name the parts of golden's prompt whose absence explains all token counts; None where none does."""
    counted = of(verdicts, _ACCOUNTING)
    missing = counted.details.get("missing") if counted is not None and counted.status == "fail" else None
    return " and ".join(_PARTS.get(name, name) for name in str(missing).split("+")) if missing else None


def _counted(told: Verdict) -> str:
    """Return such as ``37 of 37 prompts counted 21 tokens shorter than golden's``."""
    deltas = told.details.get("deltas")
    if not deltas:
        return told.reason
    wrong, by = sum(deltas.values()), sorted(abs(int(delta)) for delta in deltas)
    span = plural(by[0], "token") if len(by) == 1 else f"{by[0]} to {by[-1]} tokens"
    return f"{wrong} of {plural(told.n, 'prompt')} counted {span} shorter than golden's"


def not_judged(verdicts: Sequence[Verdict]) -> str | None:
    """Say why the weights of an endpoint were not judged; None where they were.

    By name where several looked: one counts prompts by their logprobs, another by their text.
    """
    if has_other_prompt(verdicts):
        return "its prompt is not golden's, and answers to another prompt tell nothing of the weights"
    looked = [one for one in verdicts if one.detector in WEIGHTS]
    if any(one.status != "inconclusive" for one in looked):
        return None
    if not looked:
        return "nothing that looks at the weights has run"
    first = sorted(looked, key=lambda one: one.detector != _KL)
    return "; ".join(f"{one.detector}: {one.reason}" for one in first) if len(first) > 1 else first[0].reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One line of the table of what is served: text for each cell, a dash where nothing is known."""

    endpoint: str
    declared: str
    served: str
    posterior: str
    share: str
    judged: str
    remark: str
    named_at: str = ""
    """Up to when the identification that names it knows, which may be older than what else was judged."""


def served(row: Row) -> Served:
    """What an identification says of an endpoint, or why none says anything."""
    found, why, told = row.identified, not_judged(row.verdicts), of(row.verdicts, "identify")
    declared = row.endpoint.precision or "not declared"
    if found is None or why is not None:
        asked = "not asked (probe identify)" if told is None else told.reason
        remark = f"weights not judged: {why}" if why else asked
        return Served(endpoint=row.endpoint.name, declared=declared, served=DASH, posterior=DASH, share=DASH,
                      judged=judged_text(row), remark=remark)  # fmt: skip
    return Served(
        endpoint=row.endpoint.name, declared=declared, served=f"{found.name}{bits_text(found.name)}",
        posterior=posterior_text(found.posterior),
        share=share_text(row) or DASH, judged=judged_text(row), remark=_remark(row, told),
        named_at=f"as of {stamp(told.at)}" if told is not None else "",
    )  # fmt: skip


def _remark(row: Row, told: Verdict | None) -> str:
    """What an identification comes to, in one word that a buyer looks for."""
    if told is not None and told.status == "inconclusive":
        return "not sure enough to decide"
    if is_routed(row) and row.identified is not None and is_precision(row.identified.name):
        return "over-quantised in part"
    return "over-quantised" if is_over_quantised(row) else ""


def judged_text(row: Row) -> str:
    """Return when something last decided on what is served, and how much older that is than the newest run."""
    judged, run = judged_at(row.verdicts), max((one.last_at for one in row.probes), default=None)
    older = f", {age_text(run - judged)} before its newest run" if judged and run and run - judged >= ROUND else ""
    return f"{stamp(judged)}{older}"


def share_text(row: Row) -> str:
    """Return the share of the requests that are served so, as all rates are told; empty where not known.

    The share is estimated, no prompt is counted as one or the other: all of 16 prompts alike make 95% [81%, 100%].
    """
    found = row.identified
    if found is None or found.share is None or found.share_low is None or found.share_high is None:
        return ""
    end = f"{found.share_high:.0%}"
    every = ", perhaps all," if end == "100%" != f"{found.share:.0%}" else ","
    share = f"{found.share:.0%} [{found.share_low:.0%}, {end}]"
    return f"{share} of requests{every} from {plural(found.n_prompts, 'prompt')}"


def bits_text(scheme: str) -> str:
    """Say how many bits a scheme has, such as `` (4 bits per weight)``; empty where its name does not tell."""
    found = re.search(r"\d+", scheme)
    return f" ({found.group()} bits per weight)" if found and is_precision(scheme) else ""


def is_over_quantised(row: Row) -> bool:
    """Whether an identification that failed the endpoint names coarser weights than declared."""
    return _blames(row, "weights")


def is_routed(row: Row) -> bool:
    """Whether an identification that failed the endpoint names what a part of the requests gets."""
    return _blames(row, "routing")


def _blames(row: Row, cause: str) -> bool:
    told = of(row.verdicts, "identify")
    return told is not None and told.status in {"fail", "suspect"} and is_named(row) and cause in str(told.cause)


def is_named(row: Row) -> bool:
    """Whether an identification names a scheme, so that no ladder is needed to guess one."""
    return row.identified is not None and row.identified.posterior >= SURE


def thresholds(told: Verdict | None) -> tuple[float | None, float | None]:
    """Nats up to which a divergence is tolerated, and above which it fails; None where not known."""
    if told is None:
        return None, None
    fails = told.details.get("fail_nats")
    return told.threshold, float(fails) if isinstance(fails, int | float) else None


def thresholds_text(told: Verdict | None) -> str:
    """Say what the two thresholds of a divergence mean; empty where they are not known."""
    tolerated, fails = thresholds(told)
    if tolerated is None or fails is None:
        return ""
    return (
        f"An interval wholly below {tolerated:.2g} passes, one wholly above {fails:.2g} fails, one wholly above "
        f"{tolerated:.2g} only is suspect."
    )


def _derived(ladder: Ladder, tolerated: float) -> str:
    """Say where a tolerance is from, if it is that of the ladder (Hahn & Meeker, see docs/calibration.md)."""
    if ladder.tolerance is None or abs(ladder.tolerance - tolerated) > 1e-9:
        return ""
    n = sum(rung.faithful for rung in ladder.rungs)
    return (
        f"{tolerated:.3g} is where one more faithful engine would stay with 99% (one-sided prediction bound from the "
        f"{n} measured), so it lies above the largest of them. KL alone fails nothing that lies below {tolerated:.2g} "
        "or between the two lines, such as many schemes of 8 bit; an identification can name those."
    )


def n_prompts(row: Row) -> int | None:
    """Prompts that the divergence of an endpoint is a mean over."""
    told = of(row.verdicts, _KL)
    n = told.details.get("n_prompts") if told is not None else None
    return n if isinstance(n, int) else None


def prompts_text(ladder: Ladder, rows: Sequence[Row]) -> str:
    """Say how many prompts a ladder and the endpoints were measured with."""
    asked = sorted({n for row in rows if (n := n_prompts(row)) is not None})
    here = f", {asked[0] if len(asked) == 1 else f'{asked[0]} to {asked[-1]}'} here" if asked else ""
    return f"{plural(ladder.n_prompts, 'prompt') if ladder.n_prompts else 'other prompts'}{here}"


def ladder_text(model: ModelComparison) -> str:
    """Say how to read the picture of the ladder: what stands in it, both thresholds, and how far to trust a place."""
    return " ".join(_ladder(model))


def _ladder(model: ModelComparison) -> Iterator[str]:
    yield "How far next-token probabilities are from golden's; diamonds are the endpoints with their intervals."
    if model.ladder is None:
        yield "The model is not calibrated here (weighmaster reference calibrate), so no variants stand beside them."
    else:
        if any(rung.value < FLOOR_NATS for rung in model.ladder.rungs):
            yield f"What is nearer than {FLOOR_NATS:g} stands at the left edge."
        yield (
            "Circles are faithful engines, crosses ways to serve the model that were degraded on purpose, "
            f"measured on {stamp(model.ladder.at)}. They were measured with {prompts_text(model.ladder, model.rows)}: "
            "where an endpoint stands between them is approximate; what it serves is told by an identification."
        )
    known = [row for row in model.rows if row.estimates["kl"].value is not None]
    told = (thresholds_text(of(row.verdicts, _KL)) for row in known)
    yield from dict.fromkeys(text for text in told if text)
    if model.ladder is not None:
        limits = {of_.threshold for row in known if (of_ := of(row.verdicts, _KL)) is not None and of_.threshold}
        yield from (text for limit in sorted(limits) if (text := _derived(model.ladder, limit)))
    other = [row.endpoint.name for row in known if has_other_prompt(row.verdicts)]
    if other:
        yield f"{', '.join(other)}: drawn hollow, as the distance is that of another prompt, not of weights."

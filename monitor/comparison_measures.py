"""What endpoints are compared by, and how each number comes out of the facts about one endpoint."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from monitor.causes import OF_PROMPT, explain
from monitor.comparison import Estimate, Measure
from monitor.comparison_facts import Facts, Numbers
from monitor.results import Verdict
from monitor.stats.medians import FEWEST, median_of
from monitor.stats.rates import wilson
from monitor.stats.tallies import Sums, design_effect

MEASURES: tuple[Measure, ...] = (
    Measure(name="kl", title="KL to golden", unit="nats", better="lower",
            definition="Mean divergence KL(golden || endpoint) of the next-token probabilities, over positions, at the "
                       "alternatives that the endpoint lists; the interval resamples prompts."),
    Measure(name="flips", title="Greedy flips", unit="share", better="lower",
            definition="Tokens at temperature 0 that golden likes clearly less than its own choice, of all."),
    Measure(name="prompt_match", title="Prompt tokens right", unit="share", better="higher",
            definition="Answers whose count of prompt tokens is that of the golden template and tokenizer, k of n."),
    Measure(name="availability", title="Availability", unit="share", better="higher",
            definition="Requests of the window that got a complete answer with usable tool calls, k of n; faults "
                       "within such answers are counted by the detector faults. Rate limits, wrong keys, maintenance "
                       "and what else is no fault of the endpoint are not in n; they are listed apart."),
    Measure(name="tools", title="Tool calls faulty", unit="share", better="lower",
            definition="Answers to tool cases with a fault, k of n; the interval allows for answers to one case."),
    Measure(name="ttft_ms", title="TTFT", unit="ms", better="lower",
            definition="Time to first token on an open connection: the median over runs of each run's median."),
    Measure(name="tps", title="Tokens per second", unit="tokens/s", better="higher",
            definition="Decode rate of single streams: the median over runs of each run's median."),
    Measure(name="price_in_usd", title="Price in", unit="USD/M", better="lower",
            definition="Declared price of a million prompt tokens."),
    Measure(name="price_out_usd", title="Price out", unit="USD/M", better="lower",
            definition="Declared price of a million output tokens."),
)  # fmt: skip

OPERATION = frozenset({"availability", "speed_shift", "faults", "parameters"})
"""Detectors whose verdicts say nothing about fidelity."""
WEIGHTS = frozenset({"audit", "logprob_fidelity", "greedy_flips", "border", "identify", "two_sample"})
"""Detectors without one of which nothing is known of the weights."""
SEEKERS = frozenset({"shape", "tool_calls"})
"""Detectors that look for faults of answers: with too few of them they decide nothing of what is served."""
SERVED = WEIGHTS | {"fidelity"}
"""Those and the one that joins them."""

OTHER_PROMPT = "measured with another prompt than golden's"
"""Why a distance from golden says nothing of weights."""


def has_other_prompt(verdicts: Sequence[Verdict]) -> bool:
    """Whether the model behind an endpoint gets another prompt than golden does."""
    cause = explain(verdicts)
    return cause is not None and cause.cause in OF_PROMPT


ROUND = timedelta(minutes=1)
"""Runs that begin within it belong to one round: a verdict that is older by less is told as one of now."""


def judged_at(verdicts: Sequence[Verdict]) -> datetime | None:
    """When something last decided on what is served; None where nothing has."""
    return max((one.at for one in verdicts if one.detector in SERVED and one.status != "inconclusive"), default=None)


def measure(name: str) -> Measure:
    """The measure of this name."""
    return next(one for one in MEASURES if one.name == name)


def estimates(facts: Facts) -> dict[str, Estimate]:
    """Every measure of one endpoint."""
    return {name: made(facts) for name, made in _MAKERS.items()}


def newest(facts: Facts, detector: str) -> Verdict | None:
    """The newest verdict of a detector."""
    return next((one for one in facts.verdicts if one.detector == detector), None)


def _of_verdict(facts: Facts, detector: str, counts: str, k: str | None = None) -> Estimate:
    told = newest(facts, detector)
    if told is None:
        return Estimate(value=None, reason="not asked")
    if told.effect is None:
        return Estimate(value=None, reason=told.reason, n=told.n, last_at=told.at, verdict_id=told.verdict_id)
    counted = told.details.get(k) if k else None
    return Estimate(
        value=told.effect, low=told.low, high=told.high, n=told.n,
        k=counted if isinstance(counted, int) else None, counts=counts,
        remark=None if told.low is not None else "one prompt only: no interval",
        threshold=told.threshold, top_k=told.details.get("top_k"), basis=_golden(facts, told),
        first_at=told.at, last_at=told.at, verdict_id=told.verdict_id,
    )  # fmt: skip


def _golden(facts: Facts, told: Verdict) -> str | None:
    """What the endpoint was compared with: hash of the golden weights, else of the whole golden side."""
    mark = facts.fingerprint
    return mark.weights_sha256 if mark is not None and mark.digest == told.fingerprint else told.fingerprint


def _prompt_match(facts: Facts) -> Estimate:
    return _of_verdict(facts, "accounting", "answer", "k")


def _of_weights(facts: Facts, detector: str) -> Estimate:
    """A distance from golden: one of weights only where both got the same prompt."""
    found = _of_verdict(facts, detector, "token")
    other = found.value is not None and has_other_prompt(facts.verdicts)
    told = newest(facts, detector)
    n = told.details.get("n_prompts") if told is not None else None
    return replace(found, apart=OTHER_PROMPT if other else None, n_prompts=n if isinstance(n, int) else None)


def _kl(facts: Facts) -> Estimate:
    return _of_weights(facts, "logprob_fidelity")


def _flips(facts: Facts) -> Estimate:
    return _of_weights(facts, "greedy_flips")


def _tools(facts: Facts) -> Estimate:
    return _of_verdict(facts, "tool_calls", "answer")


def _availability(facts: Facts) -> Estimate:
    tally = facts.tally
    if tally is None or tally.n == 0:
        return Estimate(value=None, reason="no request that counts")
    sums = Sums(runs=tally.n_runs, n=tally.n, k=tally.good, nn=tally.nn, kk=tally.gg, nk=tally.ng)
    rate = wilson(tally.good, tally.n, design=design_effect(sums))
    return Estimate(
        value=rate.value, low=rate.low, high=rate.high, n=tally.n, k=tally.good, counts="request",
        basis=_vantages(facts), first_at=min((one.first_at for one in facts.probes), default=None),
        last_at=max((one.last_at for one in facts.probes), default=None),
    )  # fmt: skip


def _timing(metric: str, single: str) -> Callable[[Facts], Estimate]:
    def made(facts: Facts) -> Estimate:
        by_run, by_request = facts.series.get(metric), facts.singles.get(single)
        if by_run is not None and (len(by_run.values) >= FEWEST or by_request is None):
            n = len(by_run.values)
            return _median(facts, by_run, "run", None if n >= FEWEST else f"{_runs(n)}: no interval")
        if by_request is None:
            return Estimate(value=None, reason="no valid measurement")
        few = f"requests of {_runs(by_request.n_runs)}: says nothing of other hours"
        return _median(facts, by_request, "request", few)

    return made


def _runs(n: int) -> str:
    return "one run" if n == 1 else f"{n} runs"


def _median(facts: Facts, numbers: Numbers, counts: str, remark: str | None) -> Estimate:
    found = median_of(numbers.values)
    return Estimate(
        value=found.value, low=found.low, high=found.high, n=found.n, counts=counts, remark=remark,
        basis=_vantages(facts),
        first_at=numbers.first_at, last_at=numbers.last_at,
    )  # fmt: skip


def _vantages(facts: Facts) -> str:
    return ", ".join(sorted({one.vantage for one in facts.probes}))


def _price(usd: float | None) -> Estimate:
    return Estimate(value=usd, exact=True, reason=None if usd is not None else "not declared")


def _price_in(facts: Facts) -> Estimate:
    return _price(facts.endpoint.price_in_usd)


def _price_out(facts: Facts) -> Estimate:
    return _price(facts.endpoint.price_out_usd)


_MAKERS: dict[str, Callable[[Facts], Estimate]] = {
    "kl": _kl, "flips": _flips, "prompt_match": _prompt_match, "availability": _availability, "tools": _tools,
    "ttft_ms": _timing("ttft_ms_p50", "ttft_ms"), "tps": _timing("tps_p50", "tps"),
    "price_in_usd": _price_in, "price_out_usd": _price_out,
}  # fmt: skip

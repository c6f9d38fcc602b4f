"""Facts about one endpoint out of its runs and verdicts, where no store has put them together."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from monitor.comparison_examples import failed, farthest, fault_of
from monitor.comparison_facts import Bill, Example, Facts, Numbers, ProbeRuns, Streak, Tally
from monitor.results import Fingerprint, GoldenView, Run, RunRecord, Verdict
from monitor.types import NOT_THE_ENDPOINTS_FAULT, Endpoint, Exchange
from monitor.wire.usage import read_usage

_SERIES = ("ttft_ms_p50", "tps_p50")
SPEED = "speed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known of one endpoint: its runs, all verdicts on them, and golden views by exchange id."""

    endpoint: Endpoint
    records: Sequence[RunRecord]
    verdicts: Sequence[Verdict]
    views: Mapping[str, GoldenView]
    fingerprint: Fingerprint | None = None


def gathered(known: Measured) -> Facts:
    """Put together the facts about one endpoint."""
    records = sorted(known.records, key=lambda one: (one.run.started_at, one.run.run_id))
    verdicts = sorted(known.verdicts, key=lambda one: (one.detector, one.at))
    newest = {one.detector: one for one in verdicts}
    exchanges = [exchange for record in records for exchange in record.exchanges]
    counts = [_tokens(exchange) for exchange in exchanges]
    return Facts(
        endpoint=known.endpoint, probes=_probes([record.run for record in records]),
        outcomes=dict(sorted(Counter(one.outcome for one in exchanges).items())), tally=_tally(records),
        series={name: found for name in _SERIES if (found := _series(records, name))}, singles=_singles(records),
        verdicts=tuple(newest[name] for name in sorted(newest)), past=_past(verdicts),
        examples=(*_far(records, newest.get("logprob_fidelity"), known.views), *_failed(records)),
        fingerprint=known.fingerprint,
        tokens_in=sum(one or 0 for one, _ in counts), tokens_out=sum(one or 0 for _, one in counts),
        n_uncounted=sum(
            one.answered and None in pair for one, pair in zip(exchanges, counts, strict=True)
        ),
        bills=_bills(records),
    )  # fmt: skip


def _bills(records: Iterable[RunRecord]) -> tuple[Bill, ...]:
    """Tokens of the answers that were counted for prompt and answer, by what was asked."""
    found: defaultdict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for record in records:
        pairs = (_tokens(one) for one in record.exchanges if one.answered)
        own = [(into, out) for into, out in pairs if into is not None and out is not None]
        if own:
            found[record.run.probe, record.run.params_sha256] += own
    return tuple(
        Bill(probe=key[0], params_sha256=key[1], n=len(own), tokens_in=sum(one for one, _ in own),
             tokens_out=sum(one for _, one in own))
        for key, own in sorted(found.items())
    )  # fmt: skip


def _tokens(exchange: Exchange) -> tuple[int | None, int | None]:
    usage = read_usage(exchange.usage or {})
    return _whole(usage.input_total), _whole(usage.generated)


def _whole(count: float | None) -> int | None:
    return int(count) if count is not None and count == int(count) and count >= 0 else None


def _probes(runs: Iterable[Run]) -> tuple[ProbeRuns, ...]:
    groups: defaultdict[tuple[str, int, str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.probe, run.probe_version, run.params_sha256, run.vantage, run.prober_version].append(run)
    return tuple(
        ProbeRuns(
            probe=key[0], probe_version=key[1], params_sha256=key[2], vantage=key[3], prober_version=key[4],
            n_runs=len(own), n_exchanges=sum(run.n_exchanges for run in own),
            first_at=min(run.started_at for run in own), last_at=max(run.started_at for run in own),
        )
        for key, own in sorted(groups.items())
    )  # fmt: skip


def _tally(records: Iterable[RunRecord]) -> Tally | None:
    pairs = []
    for record in records:
        counting = [one for one in record.exchanges if one.outcome not in NOT_THE_ENDPOINTS_FAULT]
        if counting and record.run.maintenance is None:
            pairs.append((len(counting), sum(fault_of(one) is None for one in counting)))
    if not pairs:
        return None
    return Tally(
        n_runs=len(pairs), n=sum(n for n, _ in pairs), good=sum(k for _, k in pairs),
        nn=sum(n * n for n, _ in pairs), gg=sum(k * k for _, k in pairs), ng=sum(n * k for n, k in pairs),
    )  # fmt: skip


def _series(records: Iterable[RunRecord], metric: str) -> Numbers | None:
    return _numbers(
        (record.run.started_at, record.run.run_id, one.value)
        for record in records for one in record.observations
        if one.metric == metric and one.value is not None
    )  # fmt: skip


def _numbers(taken: Iterable[tuple[datetime, str, float]]) -> Numbers | None:
    """Numbers out of instants, runs and values; None for none."""
    found = list(taken)
    if not found:
        return None
    return Numbers(
        values=tuple(value for _, _, value in found), first_at=min(at for at, _, _ in found),
        last_at=max(at for at, _, _ in found), n_runs=len({run_id for _, run_id, _ in found}),
    )  # fmt: skip


def _singles(records: Iterable[RunRecord]) -> dict[str, Numbers]:
    """Numbers of single requests, as the probe's own medians take them: on kept connections, if any was kept."""
    timed = [
        (record.run, one) for record in records for one in record.exchanges
        if record.run.probe == SPEED and one.answered and one.measurement == "valid"
    ]  # fmt: skip
    kept = [(run, one) for run, one in timed if one.reused is not False] or timed
    found = {"ttft_ms": _values(kept, lambda one: one.ttft_ms), "tps": _values(timed, lambda one: one.tps)}
    return {name: numbers for name, numbers in found.items() if numbers is not None}


def _values(pairs: Iterable[tuple[Run, Exchange]], number: Callable[[Exchange], float | None]) -> Numbers | None:
    return _numbers(
        (one.started_at or run.started_at, run.run_id, value)
        for run, one in pairs if (value := number(one)) is not None
    )  # fmt: skip


def _past(verdicts: Iterable[Verdict]) -> dict[str, Streak]:
    """What each detector has said since its last pass, out of verdicts that are in order for each."""
    found: defaultdict[str, list[Verdict]] = defaultdict(list)
    for one in verdicts:
        found[one.detector].append(one)
    return {name: _streak(told) for name, told in found.items()}


def _streak(told: Sequence[Verdict]) -> Streak:
    passed = next((place for place in reversed(range(len(told))) if told[place].status == "pass"), None)
    bad = [one for one in told[0 if passed is None else passed + 1 :] if one.status in {"fail", "suspect"}]
    return Streak(
        last_good_at=None if passed is None else told[passed].at, first_bad_at=bad[0].at if bad else None,
        n_bad=len(bad),
    )  # fmt: skip


def _failed(records: Iterable[RunRecord]) -> tuple[Example, ...]:
    return failed((record.run.probe, one) for record in records for one in record.exchanges)


def _far(records: Iterable[RunRecord], told: Verdict | None, views: Mapping[str, GoldenView]) -> tuple[Example, ...]:
    if told is None or told.status not in {"fail", "suspect"}:
        return ()
    of_it = [record for record in records if record.run.run_id in told.run_ids]
    probe = {one.exchange_id: record.run.probe for record in of_it for one in record.exchanges}
    exchanges = [one for record in of_it for one in record.exchanges]
    return farthest(probe, exchanges, views)


def within(known: Measured, since: datetime | None) -> Measured:
    """What is not older than `since`."""
    if since is None:
        return known
    return Measured(
        endpoint=known.endpoint, views=known.views, fingerprint=known.fingerprint,
        records=[one for one in known.records if one.run.started_at >= since],
        verdicts=[one for one in known.verdicts if one.at >= since],
    )  # fmt: skip

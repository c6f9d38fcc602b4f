"""Facts about endpoints in, a comparison out. Pure, and the same for the dashboard, the report and the terminal."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from monitor.codec import encode
from monitor.comparison import Comparison, Estimate, Ladder, ModelComparison, Place, Ranking, Row, Spent
from monitor.comparison_endings import endings
from monitor.comparison_facts import Facts
from monitor.comparison_limits import model_limits, row_limits
from monitor.comparison_measures import MEASURES, OPERATION, SEEKERS, WEIGHTS, estimates
from monitor.comparison_order import ranking
from monitor.comparison_since import identified, since, switches
from monitor.comparison_words import words
from monitor.results import Status, Verdict
from monitor.summary import summarise

AUDIT = "audit"
_LAST = 10**9
_ORDER: tuple[Status, ...] = ("pass", "inconclusive", "suspect", "fail")


def compare(facts: Sequence[Facts], *, ladders: Mapping[str, Ladder] | None = None, source: str = "") -> Comparison:
    """Compare endpoints model by model.

    Parameters
    ----------
    facts
        One per endpoint.
    ladders
        By the name of a reference, what is known of its calibrated variants.
    source
        Where the facts are from, as people should read it.
    """
    groups: dict[str, list[Facts]] = {}
    for one in sorted(facts, key=lambda one: one.endpoint.name):
        groups.setdefault(one.endpoint.reference or one.endpoint.model, []).append(one)
    instants = [at for one in facts for probe in one.probes for at in (probe.first_at, probe.last_at)]
    return Comparison(
        first_at=min(instants, default=None), last_at=max(instants, default=None),
        models=tuple(_model(name, group, (ladders or {}).get(name)) for name, group in sorted(groups.items())),
        vantages=tuple(sorted({probe.vantage for one in facts for probe in one.probes})),
        versions=_versions(facts), config_sha256=_config_sha256(facts), source=source,
    )  # fmt: skip


def _model(name: str, facts: Sequence[Facts], ladder: Ladder | None) -> ModelComparison:
    found = {one.endpoint.name: estimates(one) for one in facts}
    by_measure = {one.name: {key: own[one.name] for key, own in found.items()} for one in MEASURES}
    rankings = tuple(_rankings(by_measure))
    standing = {one.measure.name: one.places for one in rankings}
    rows = sorted((_row(one, found[one.endpoint.name], standing) for one in facts), key=_key)
    fitting = _fitting(ladder, rows)
    model = ModelComparison(
        model=name, rows=tuple(rows), rankings=rankings, switches=tuple(switches(rows)),
        ladder=fitting, limits=model_limits(rows, fitting),
    )  # fmt: skip
    return replace(model, words=tuple(words(model)))


def _fitting(ladder: Ladder | None, rows: Sequence[Row]) -> Ladder | None:
    """The ladder, unless it was measured on other weights than these endpoints were compared with."""
    marks = {row.fingerprint.weights_sha256 for row in rows if row.fingerprint is not None}
    return None if ladder is None or (marks and ladder.weights_sha256 not in {None, *marks}) else ladder


def _rankings(by_measure: Mapping[str, Mapping[str, Estimate]]) -> Iterator[Ranking]:
    for measure in MEASURES:
        if any(one.value is not None for one in by_measure[measure.name].values()):
            yield ranking(measure, by_measure[measure.name])


def _row(facts: Facts, found: Mapping[str, Estimate], standing: Mapping[str, Mapping[str, Place]]) -> Row:
    name, told = facts.endpoint.name, concluding(facts.verdicts)
    summary = summarise(told)
    return Row(
        endpoint=facts.endpoint, status=summary.status, fidelity=_fidelity(told), causes=_specific(summary.causes),
        reason=summary.reason, since=since(facts), identified=identified(facts), estimates=found,
        places={measure: of_all[name] for measure, of_all in standing.items() if name in of_all},
        verdicts=facts.verdicts, probes=facts.probes, outcomes=facts.outcomes, endings=endings(facts),
        examples=facts.examples,
        spent=_spent(facts), fingerprint=facts.fingerprint, limits=row_limits(facts, found),
        incidents=facts.incidents, bills=facts.bills,
    )  # fmt: skip


def _specific(causes: Sequence[str]) -> tuple[str, ...]:
    """Leave out what another cause says more of: `weights` beside `weights: Q4_0`."""
    return tuple(one for one in causes if not any(other.startswith(f"{one}:") for other in causes))


def _fidelity(verdicts: Sequence[Verdict]) -> Status:
    """What is known of what is served: no pass without one that looked at the weights.

    Those who look for faults of answers and saw too few hold that up as little as a timing that failed.
    """
    open_ = {one.detector for one in verdicts if one.detector in SEEKERS and one.status == "inconclusive"}
    told = summarise([one for one in verdicts if one.detector not in OPERATION | open_]).status
    looked = any(one.detector in WEIGHTS and one.status == "pass" for one in verdicts)
    return "inconclusive" if told == "pass" and not looked else told


def concluding(verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    """Leave out what the joint verdict of an audit rests on: it decides where one of its parts alone could not."""
    joined = next((one for one in verdicts if one.detector == AUDIT), None)
    if joined is None:
        return verdicts
    parts = joined.details.get("detectors") or {}
    return [one for one in verdicts if one.detector not in parts or not set(one.run_ids) <= set(joined.run_ids)]


def _key(row: Row) -> tuple[int, int, str]:
    place = row.places.get("kl") or row.places.get("flips")
    return _ORDER.index(row.status), place.best if place else _LAST, row.endpoint.name


def _spent(facts: Facts) -> Spent:
    one = facts.endpoint
    usd = None
    if one.price_in_usd is not None and one.price_out_usd is not None:
        usd = (facts.tokens_in * one.price_in_usd + facts.tokens_out * one.price_out_usd) / 1e6
    return Spent(
        n_requests=sum(facts.outcomes.values()), tokens_in=facts.tokens_in, tokens_out=facts.tokens_out,
        n_uncounted=facts.n_uncounted, usd=usd,
    )  # fmt: skip


def _versions(facts: Iterable[Facts]) -> dict[str, tuple[str, ...]]:
    """What measured and judged: prober, probes and detectors with their versions, golden engines."""
    found: dict[str, set[str]] = {"prober": set(), "probes": set(), "detectors": set(), "golden": set()}
    for one in facts:
        found["prober"] |= {probe.prober_version for probe in one.probes}
        found["probes"] |= {f"{probe.probe} {probe.probe_version}" for probe in one.probes}
        found["detectors"] |= {f"{told.detector} {told.detector_version}" for told in one.verdicts}
        if one.fingerprint is not None:
            mark = one.fingerprint
            found["golden"].add(f"weights {mark.weights_sha256[:12]}, {mark.dtype}, {mark.engine}")
    return {what: tuple(sorted(names)) for what, names in found.items()}


def _config_sha256(facts: Iterable[Facts]) -> str:
    """Hash of what was asked and how it was judged; the same for the same probes, parameters and thresholds."""
    said: set[tuple[str, ...]] = set()
    for one in facts:
        said |= {("probe", probe.probe, str(probe.probe_version), probe.params_sha256) for probe in one.probes}
        said |= {
            ("detector", told.endpoint, told.detector, str(told.detector_version), str(told.threshold))
            for told in one.verdicts
        }
    return hashlib.sha256(encode(sorted(said))).hexdigest()

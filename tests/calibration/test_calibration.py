"""Calibration of real detectors on made evidence: noise of known size in, tolerances and pictures out."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import ClassVar
from xml.dom.minidom import Document, parseString

import numpy as np
import pytest

from monitor.detectors.accounting import Accounting
from monitor.detectors.logprob_fidelity import LogprobFidelity
from monitor.evidence import Card, Finding, verdict
from monitor.results import Evidence, Metric, Verdict
from monitor.stats.divergence import tail_bucket_kl
from reference.calibration import Member, MetricCalibration, calibrate, lenient, of_prompt, of_prompts, value_of
from reference.ladder import svg
from tests.detectors.made import AT, evidence

CARD = {metric.name: metric for metric in LogprobFidelity.metrics}


def member(name: str, noise: float, *, faithful: bool, seed: int = 0, deltas: list[int] | None = None) -> Member:
    made = evidence(noise=noise, seed=seed, deltas=deltas)
    return Member(name=name, faithful=faithful, family="test", engine="made", evidence=made)


MEMBERS = [member(f"good {n}", 0.01 + 0.002 * n, faithful=True, seed=n) for n in range(5)] + [
    member("bad", 0.5, faithful=False, seed=8),
    member("a little", 0.06, faithful=False, seed=9),
]


@pytest.fixture(scope="module")
def fidelity() -> dict[str, MetricCalibration]:
    return {one.metric: one for one in calibrate(MEMBERS, [LogprobFidelity, Accounting], at=AT)}


def test_tolerance_lies_between_faithful_and_degraded(fidelity: dict[str, MetricCalibration]) -> None:
    found = fidelity
    assert set(found) == {"kl_nats", "mean_abs_dlp", "top1_same"}  # all counts agree: nothing to calibrate there
    kl = found["kl_nats"]
    values = {one.name: one.value for one in kl.members}
    assert max(values[f"good {n}"] for n in range(5)) <= kl.tolerance < values["a little"] < values["bad"]
    assert kl.missed == ()
    assert kl.n_faithful == 5
    assert len(kl.prompts) == 32
    assert sum(fit.dropped is None for fit in kl.prompts.values()) == 24
    assert found["top1_same"].tolerance <= 1.0
    assert next(one for one in found["top1_same"].members if one.name == "bad").beyond


def test_values_are_those_of_the_detector_on_the_kept_prompts(fidelity: dict[str, MetricCalibration]) -> None:
    kl = fidelity["kl_nats"]
    kept = frozenset(name for name, fit in kl.prompts.items() if fit.dropped is None)
    part = of_prompts(MEMBERS[5].evidence, kept)
    oracle = LogprobFidelity().run(part, at=AT, rng=np.random.default_rng(0))
    assert next(one.value for one in kl.members if one.name == "bad") == pytest.approx(oracle.effect)


def test_a_template_fault_shows_in_its_own_metric() -> None:
    wrong = member("template", 0.01, faithful=False, deltas=[-21] * 32)
    (counts,) = calibrate([*MEMBERS[:5], wrong], [Accounting], at=AT)
    assert (counts.metric, counts.better) == ("prompt_token_match", "higher")
    assert counts.tolerance == pytest.approx(1 - 1 / 24)  # one count of the kept prompts
    assert [one.name for one in counts.members if one.beyond] == ["template"]


@dataclass(frozen=True, slots=True, kw_only=True)
class First:
    """A detector that a later issue might bring: the error of each position's first listed token."""

    kind: ClassVar[str] = "first"
    version: ClassVar[int] = 1
    probes: ClassVar[frozenset[str] | None] = None
    looks_back: ClassVar[int] = 0
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="first_error", unit="nats", better="lower", definition="", source=""),
        Metric(name="noted", unit="", better="neither", definition="", source=""),
    )

    def run(self, evidence: Evidence, *, at: datetime, rng: np.random.Generator) -> Verdict:
        positions = [position for view in evidence.golden.values() for position in view.positions]
        errors = [abs(one.endpoint_top[0] - one.golden_top[0]) for one in positions]
        card = Card(detector="first", version=1, statistic="first_error", unit="nats")
        return verdict(card, Finding(status="pass", cause=None, reason="", effect=float(np.mean(errors))), evidence, at)


def test_a_new_detector_is_calibrated_without_a_change() -> None:
    (found,) = calibrate(MEMBERS, [First], at=AT)
    assert found.metric == "first_error"
    assert found.missed == ()


def test_detectors_judge_single_prompts_when_calibrated() -> None:
    detector = lenient(LogprobFidelity)
    one = of_prompt(MEMBERS[5].evidence, "p3")
    assert len(one.exchanges) == len(one.golden) == 2
    oracle = [tail_bucket_kl(position.golden_top, position.endpoint_top) for position in one.golden["r1-3"].positions]
    found = detector.run(one, at=AT, rng=np.random.default_rng(0))
    assert value_of(found, CARD["kl_nats"]) == pytest.approx(np.mean(oracle))
    assert value_of(found, CARD["top1_same"]) in {0, 0.25, 0.5, 0.75, 1}
    assert value_of(replace(found, effect=None), CARD["kl_nats"]) is None
    assert value_of(replace(found, effect=float("nan")), CARD["kl_nats"]) is None


@pytest.mark.parametrize("members", [MEMBERS[:5], MEMBERS[3:]])
def test_both_ensembles_are_needed(members: list[Member]) -> None:
    with pytest.raises(ValueError, match="faithful members and a degraded one are needed"):
        calibrate(members, [LogprobFidelity], at=AT)


def picture(calibration: MetricCalibration, title: str) -> Document:
    return parseString(svg(calibration, title=title))  # noqa: S318  # our own text


def test_the_ladder_is_a_picture_of_the_values(fidelity: dict[str, MetricCalibration]) -> None:
    tree = picture(fidelity["kl_nats"], "A < B & C")
    assert tree.getElementsByTagName("text")[0].toxml().endswith(">A &lt; B &amp; C</text>")
    circles = tree.getElementsByTagName("circle")
    dots = [(float(dot.getAttribute("cx")), dot.getAttribute("fill")) for dot in circles]
    assert [x for x, _ in dots] == sorted(x for x, _ in dots)
    assert len(dots) == len(MEMBERS)
    dashed = next(line for line in tree.getElementsByTagName("line") if line.hasAttribute("stroke-dasharray"))
    border = float(dashed.getAttribute("x1"))
    assert {x <= border for x, fill in dots if fill == "#1b7f5c"} == {True}
    assert {x > border for x, fill in dots if fill == "#b3392f"} == {True}


def test_zero_values_have_a_place_on_the_ladder(fidelity: dict[str, MetricCalibration]) -> None:
    kl = fidelity["kl_nats"]
    flat = replace(kl, members=tuple(replace(one, value=0.0, low=None, high=None) for one in kl.members), tolerance=0.0)
    xs = {dot.getAttribute("cx") for dot in picture(flat, "zeros").getElementsByTagName("circle")}
    assert len(xs) == 1

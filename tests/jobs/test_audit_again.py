"""Verdicts out of evidence alone: what agrees, what does not, and what is refused. Golden weights are fake ones."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobs import audit_again, evidence_folder
from jobs.audit import Audited
from jobs.judging import golden_side as computed
from jobs.pipeline import Judged, Probed
from jobs.settings import catalogues
from monitor import decision
from monitor.codec import encode
from monitor.config import Config, load
from monitor.errors import UsageError
from monitor.results import RunRecord
from monitor.types import Capture
from tests.fakes.golden import FakeEndpoint, FakeScorer
from tests.jobs.test_audit import TARGET, audit_of

YAML = """
references: {golden: {path: nowhere}}
endpoints: [{name: acme/m, base_url: "http://127.0.0.1:1", model: m, reference: golden}]
"""


@pytest.fixture
def config(monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setattr(audit_again, "scorer_for", lambda _reference: FakeScorer())
    return load(YAML, {}, catalogues())


@pytest.fixture
async def evidence(tmp_path: Path) -> Path:
    """The folder of an audit of other weights."""
    await kept_audit(tmp_path, noise=0.5)
    return tmp_path


async def kept_audit(folder: Path, *, noise: float) -> Audited:
    def keep(record: RunRecord, captures: tuple[Capture, ...]) -> None:
        evidence_folder.keep_probed(folder, Probed(endpoint=TARGET, records=(record,), captures=(captures,)))

    found: Audited = await audit_of().run(FakeEndpoint(noise=noise), seed=11, keep=keep)
    probed = Probed(endpoint=TARGET, records=found.records, captures=found.captures)
    verdicts = (found.verdict, *found.rounds[-1].verdicts)
    evidence_folder.keep_judged(folder, Judged(probed=probed, views=found.golden.views, verdicts=verdicts))
    return found


def changed(folder: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    path = next(folder.glob("*/verdicts.json"))
    verdicts = json.loads(path.read_text("utf-8"))
    change(verdicts)
    path.write_bytes(orjson.dumps(verdicts))


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, bool]:
    return {row["detector"]: row["same"] for row in json.loads(capsys.readouterr().out)["endpoints"]}


def test_all_verdicts_come_out_as_they_were(
    config: Config, evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit_again.run(config, str(evidence), as_json=True) == 1  # a failure, as then
    same = told(capsys)
    assert {"audit", "logprob_fidelity", "greedy_flips", "accounting"} <= set(same)
    assert all(same.values()), same


def test_the_exit_code_of_an_audit_is_that_of_its_own_verdict(config: Config, tmp_path: Path) -> None:
    """A pass joined from detectors of which one is open is 0, as it was; the fixture's failure is the other case."""
    kept = asyncio.run(kept_audit(tmp_path, noise=0.0))
    assert kept.verdict.status == "pass"
    statuses = {one.status for one in kept.rounds[-1].verdicts}
    assert "inconclusive" in statuses
    assert audit_again.run(config, str(tmp_path), as_json=True) == 0


def test_a_later_audit_into_the_same_folder_loses_nothing_and_is_the_one_that_is_computed_again(
    config: Config, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = asyncio.run(kept_audit(tmp_path, noise=0.5))
    second = asyncio.run(kept_audit(tmp_path, noise=0.0))
    (kept,) = evidence_folder.read(tmp_path)
    audits = [one.verdict_id for one in kept.verdicts if one.detector == "audit"]
    assert audits == [first.verdict.verdict_id, second.verdict.verdict_id]
    assert audit_again.run(config, str(tmp_path), as_json=True) == 0
    rows = json.loads(capsys.readouterr().out)["endpoints"]
    assert [row["before"]["status"] for row in rows if row["detector"] == "audit"] == ["pass"]
    assert all(row["differs"] == [] for row in rows)


def test_damaged_verdicts_of_before_are_put_aside(tmp_path: Path) -> None:
    """What was measured now is kept all the same, and so is the damaged file."""
    asyncio.run(kept_audit(tmp_path, noise=0.5))
    path = next(tmp_path.glob("*/verdicts.json"))
    path.write_bytes(b"[{")
    now = asyncio.run(kept_audit(tmp_path, noise=0.5))
    (kept,) = evidence_folder.read(tmp_path)
    assert kept.verdicts[0].verdict_id == now.verdict.verdict_id
    assert path.with_suffix(".damaged").read_bytes() == b"[{"


def test_a_number_that_was_changed_is_noticed(
    config: Config, evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def tamper(verdicts: list[dict[str, Any]]) -> None:
        one = next(one for one in verdicts if one["detector"] == "logprob_fidelity")
        one["effect"] *= 1.01

    changed(evidence, tamper)
    assert audit_again.run(config, str(evidence), as_json=True) == 1
    rows = {row["detector"]: row for row in json.loads(capsys.readouterr().out)["endpoints"]}
    assert (rows["logprob_fidelity"]["same"], rows["logprob_fidelity"]["differs"]) == (False, ["effect"])
    assert rows["greedy_flips"]["same"]


def test_sums_over_tokens_may_differ_by_the_noise_of_batches_and_effects_may_not(
    config: Config, evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A millionth of a nat per token: of 128 tokens, 1e-4 is granted to a detail of 0.05, and 2e-4 is not."""

    def slope(by: float) -> Callable[[list[dict[str, Any]]], object]:
        return lambda rows: [row["details"].update(kl_slope=row["details"]["kl_slope"] + by)
                             for row in rows if row["detector"] == "logprob_profile"]  # fmt: skip

    rows = json.loads(next(evidence.glob("*/verdicts.json")).read_text())
    (profile,) = (row for row in rows if row["detector"] == "logprob_profile")
    step = 1e-6 * profile["n"]
    changed(evidence, lambda rows: [row["details"].update(kl_slope=0.0) for row in rows
                                    if row["detector"] == "logprob_profile"])  # fmt: skip
    audit_again.run(config, str(evidence), as_json=True)
    assert not told(capsys)["logprob_profile"]
    changed(evidence, slope(profile["details"]["kl_slope"] + 0.9 * step))
    audit_again.run(config, str(evidence), as_json=True)
    assert told(capsys)["logprob_profile"]


def test_golden_answers_are_drawn_only_for_verdicts_that_need_them(
    config: Config, evidence: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The evidence of an audit holds no verdict of a detector that compares with golden answers."""
    asked: list[set[str]] = []

    def golden_side(records: Any, scorer: Any, detectors: Any, **options: Any) -> Any:
        asked.append({one.kind for one in detectors})
        return computed(records, scorer, detectors, **options)

    monkeypatch.setattr(audit_again, "golden_side", golden_side)
    audit_again.run(config, str(evidence), as_json=True)
    assert asked
    assert all("two_sample" not in kinds for kinds in asked)


def test_missing_runs_and_verdicts_on_several_runs_are_refused(config: Config, evidence: Path) -> None:
    changed(evidence, lambda verdicts: verdicts[0]["run_ids"].append("gone"))
    with pytest.raises(UsageError, match=r"runs of verdict .* are missing"):
        audit_again.run(config, str(evidence), as_json=True)
    for kind in (decision.KIND, "speed_shift"):
        changed(evidence, lambda verdicts, kind=kind: verdicts[0].update(detector=kind))  # type: ignore[misc]
        with pytest.raises(UsageError, match=f"{kind} rests on earlier runs"):
            audit_again.run(config, str(evidence), as_json=True)


def test_what_judges_with_and_without_earlier_runs_is_refused_only_with(config: Config, evidence: Path) -> None:
    changed(evidence, lambda verdicts: verdicts[0].update(detector="parameters", details={"n_before": 3}))
    with pytest.raises(UsageError, match="parameters rests on earlier runs"):
        audit_again.run(config, str(evidence), as_json=True)
    changed(evidence, lambda verdicts: verdicts[0].update(details={"n_before": 0}))
    assert audit_again.run(config, str(evidence), as_json=True) == 1


def test_neither_folder_nor_store(config: Config) -> None:
    with pytest.raises(UsageError, match="no such folder, and the store does not answer"):
        audit_again.run(config, "0123456789", as_json=True)


def test_what_has_no_verdict_is_named_with_a_remedy(
    config: Config, evidence: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stopped audit leaves rounds alone: beside others it is said, by itself it is refused."""
    place = next(evidence.glob("*/verdicts.json")).parent
    other = evidence / "late__m"
    other.mkdir()
    (other / "endpoint.json").write_bytes(encode(replace(TARGET, name="late/m")))
    assert audit_again.run(config, str(evidence), as_json=True) == 1
    assert "no verdict was made of what late/m answered" in capsys.readouterr().err
    (place / "verdicts.json").unlink()
    with pytest.raises(UsageError, match="audit the endpoint again"):
        audit_again.run(config, str(evidence), as_json=True)


def test_runs_against_another_endpoint_are_refused(config: Config, evidence: Path) -> None:
    path = next(evidence.glob("*/endpoint.json"))
    path.write_bytes(encode(replace(TARGET, name="late/m")))
    with pytest.raises(UsageError, match=r"speaks of late/m, and there are runs against acme/m"):
        audit_again.run(config, str(evidence), as_json=True)

"""The way from endpoint to verdict in one process, on fake weights whose deviation is known."""

from collections.abc import Sequence
from typing import Any

import pytest

from jobs.clock import SystemClock
from jobs.golden_answers import GoldenAnswers
from jobs.judging import view
from jobs.pipeline import Judged, Prober, ask_golden, is_paired, judge_endpoint, probe_endpoint
from jobs.verdict_table import row
from monitor.detectors.accounting import Accounting
from monitor.detectors.availability import Availability
from monitor.detectors.faults import Faults
from monitor.detectors.logprob_fidelity import LogprobFidelity
from monitor.detectors.parameters import ParametersKept
from monitor.detectors.shape import Shape
from monitor.errors import GoldenError, TaskRefusedError
from monitor.ports import Scores, ScoreTask
from monitor.results import Tolerances
from monitor.types import Endpoint
from probes.logprobs import Logprobs
from probes.parameters import Parameters
from tests.fakes.golden import FakeEndpoint, FakeScorer
from tests.faults.honest import Honest, Trusted

ENDPOINT = Endpoint(name="fake/one", provider="fake", base_url="http://127.0.0.1:1/v1", model="m", reference="fake")


async def judged(**how: Any) -> tuple[Judged, FakeScorer]:
    clock, scorer = SystemClock(), FakeScorer()
    prober = Prober(clock=clock, vantage="test", version="0", seed=1, concurrency=4)
    probed = await probe_endpoint(ENDPOINT, FakeEndpoint(**how), [Logprobs()], prober, lambda *_: None)
    detectors = (Availability(), Accounting(), LogprobFidelity())
    return judge_endpoint(probed, scorer, detectors, clock), scorer


async def test_faithful() -> None:
    result, scorer = await judged()
    shown = row(result)
    assert (shown["status"], shown["cause"]) == ("pass", None)
    assert shown["kl"] == pytest.approx(0.0, abs=1e-9)
    assert shown["prompt_token_match"] == {"k": 32, "n": 32}
    assert shown["outcomes"] == {"ok": 32}
    assert shown["kl_positions"] == 16 + 16 * 8
    assert scorer.n_calls == 1


async def test_degraded_weights() -> None:
    result, _ = await judged(noise=0.7)
    assert (result.summary.status, result.summary.causes) == ("fail", ("weights",))
    assert row(result)["kl"] > 0.05


async def test_missing_system_prompt_is_template_and_nothing_else() -> None:
    result, _ = await judged(system="")
    assert (result.summary.status, result.summary.causes) == ("fail", ("template",))
    assert row(result)["prompt_token_match"] == {"k": 0, "n": 32}


async def test_no_logprobs_is_inconclusive_with_the_cause() -> None:
    result, _ = await judged(logprobs=False)
    assert (result.summary.status, result.summary.causes) == ("inconclusive", ("no_logprobs",))
    assert row(result)["kl"] is None


async def test_wrong_key_is_inconclusive_not_down() -> None:
    result, _ = await judged(status=401)
    assert result.summary.status == "inconclusive"
    assert "auth_error" in result.summary.causes


async def test_replay_of_the_same_evidence_gives_the_same_numbers() -> None:
    result, scorer = await judged(noise=0.3)
    clock = SystemClock()
    again = judge_endpoint(result.probed, scorer, (LogprobFidelity(),), clock)
    fidelity = next(verdict for verdict in result.verdicts if verdict.detector == "logprob_fidelity")
    assert (again.verdicts[0].effect, again.verdicts[0].low, again.verdicts[0].high) == (
        fidelity.effect, fidelity.low, fidelity.high,
    )  # fmt: skip


class Narrow(FakeScorer):
    """Refuses prompts of more than `most` tokens, as an engine with a short context does."""

    most = 70

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        if any(len(task.prompt_ids) > self.most for task in tasks):
            raise TaskRefusedError("exceeds the golden model's context")
        return super().score(tasks, top_k=top_k)


async def test_what_the_golden_engine_refuses_costs_no_other_exchange() -> None:
    result, _ = await judged()
    records = result.probed.records
    views = view(records, Narrow()).values()
    refused = [one for one in views if one.problem]
    assert {one.problem for one in refused} == {"exceeds the golden model's context"}
    assert 0 < len(refused) < len(views)
    assert all((one.prompt_tokens or 0) > Narrow.most for one in refused)
    assert all(one.positions for one in views if not one.problem)


class Down(FakeScorer):
    """A golden server that does not answer."""

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        self.n_calls += 1
        raise GoldenError("is the golden server running?")


async def test_a_golden_server_that_is_down_is_asked_once() -> None:
    result, _ = await judged()
    down = Down()
    views = view(result.probed.records, down).values()
    assert {one.problem for one in views} == {"is the golden server running?"}
    assert down.n_calls == 1


async def test_tolerances_of_other_weights_are_not_used() -> None:
    """Oracle: the fake weights are called 0; a tolerance of 1 nat would let the degraded endpoint pass."""
    result, scorer = await judged(noise=0.7)
    for weights, status in (("0", "pass"), ("other", "fail")):
        found = judge_endpoint(
            result.probed, scorer, (LogprobFidelity(),), SystemClock(),
            tolerances=Tolerances(weights_sha256=weights, by_metric={"kl_nats": {"full": 1.0}}),
        )  # fmt: skip
        assert found.verdicts[0].status == status


async def test_without_history_those_judge_that_can_do_without() -> None:
    prober = Prober(clock=SystemClock(), vantage="test", version="0", seed=1, concurrency=4)
    probed = await probe_endpoint(ENDPOINT, FakeEndpoint(), [Parameters()], prober, lambda *_: None)
    found = judge_endpoint(probed, None, (ParametersKept(), Shape()), SystemClock())
    assert [one.detector for one in found.verdicts] == ["parameters"]


async def test_the_command_compares_behaviour_with_golden_as_the_service_does() -> None:
    """Oracle: the parameter that the played endpoint ignores, and the service's own asker on the same run."""
    prober = Prober(clock=SystemClock(), vantage="test", version="0", seed=1, concurrency=4)
    client = Honest(ignores=frozenset({"stop"}))
    probed = await probe_endpoint(ENDPOINT, client, [Parameters()], prober, lambda *_: None)
    detectors = (Faults(), ParametersKept())
    beside = await ask_golden(probed, Trusted(), detectors)
    service = await GoldenAnswers().of(probed.records[0], detectors, Trusted(), {})
    assert beside.answers.keys() == service.keys()
    found = judge_endpoint(probed, None, detectors, SystemClock(), beside=beside)
    faults = next(one for one in found.verdicts if one.detector == "faults")
    assert (faults.status, faults.cause) == ("fail", "engine")
    assert "stop_ignored on 13 of 13 prompts, golden on 0 (p 0.00012)" in faults.reason
    assert (faults.details["alpha"], faults.details["power"]) == (0.001, 0.9)
    assert is_paired(probed, detectors)
    assert not is_paired(probed, [Faults(paired=())])
    assert (await ask_golden(probed, None, detectors)).answers == {}

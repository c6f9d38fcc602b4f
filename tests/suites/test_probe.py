"""The probe and the detector: grades travel in names, words of private cases do not travel at all."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from jobs.audit_again import _require_one_run
from jobs.clock import SystemClock
from jobs.golden_calls import CallingClient
from jobs.judging import golden_side, judge
from jobs.pipeline import Prober, ask_golden, is_paired, judge_endpoint, probe_endpoint
from jobs.settings import catalogues
from jobs.suite_golden import SuiteGolden
from monitor.codec import decode, encode
from monitor.config import load
from monitor.config_types import Config
from monitor.detectors.suite import SuiteAnswers
from monitor.errors import UsageError
from monitor.ports import ProbeContext
from monitor.replay_command import replay_command
from monitor.results import RunRecord
from monitor.suites.tally import Tally, tallies
from monitor.types import Capture, Read, Request
from probes.run import run_probe
from probes.suite import PrivateSuite
from tests.detectors.made import AT, endpoint
from tests.fakes.golden import FakeScorer
from tests.suites.made import RUN, exchange, suite_evidence
from tests.suites.running import Golden, cases, number
from tests.suites.test_two_customers import CANARY, private


class GoldenOfCases(Golden):
    """Golden that is asked for nothing but cases."""

    def score(self, tasks: Any, *, top_k: int = 20) -> Any:
        del top_k
        raise AssertionError(tasks)


class Knows:
    """A client that answers rightly below 30, and repeats the prompt and a canary in all it says."""

    async def send(self, request: Request) -> Capture:
        asked = number({"messages": request.messages})
        said = str(asked) if asked < 30 else f"{CANARY} {request.messages}"
        body = orjson.dumps({"model": "m", "choices": [{"message": {"content": said}, "finish_reason": "stop"}]})
        return Capture(
            request=request, sent=encode(request), status=200, reads=(Read(2, body),), t0_ns=1, eof_ns=3,
            headers=(("content-type", "application/json"), ("x-echo", CANARY)),
        )  # fmt: skip

    async def aclose(self) -> None:
        return


def written(path: Path, text: str) -> PrivateSuite:
    path.write_text(text)
    return PrivateSuite(file=str(path))


async def ran(path: Path, text: str) -> tuple[RunRecord, tuple[Capture, ...], PrivateSuite]:
    probe = written(path, text)
    record, captures = await run_probe(
        probe, endpoint(), Knows(), clock=SystemClock(), seed=3, vantage="t", prober_version="0", concurrency=2
    )
    return record, captures, probe


async def test_grades_are_in_the_names_and_survive_the_store(tmp_path: Path) -> None:
    record, _, _ = await ran(tmp_path / "a.jsonl", cases(40, privacy="drop", repeats=2))
    (rate,) = record.observations
    assert (rate.k, rate.n) == (60, 80)
    kept = tallies(decode(RunRecord, encode(record)).exchanges)
    assert len(kept) == 40
    assert sum(one.k for one in kept) == 60


async def test_weights_travel_too(tmp_path: Path) -> None:
    text = cases(2).replace('"repeats":1', '"repeats":1,"weight":2.5', 1)
    record, _, _ = await ran(tmp_path / "a.jsonl", text)
    assert sorted(one.weight for one in tallies(record.exchanges)) == [1.0, 2.5]


@pytest.mark.parametrize("privacy", ["drop", "hash", "keep"])
async def test_words_of_cases_never_leave_the_probe(privacy: str, tmp_path: Path) -> None:
    record, captures, probe = await ran(tmp_path / "a.jsonl", private(privacy).replace("Say 3.", "Say 33."))
    data = encode(record) + b"".join(encode(one) for one in captures)
    assert CANARY.encode() not in data
    assert b"Say 5." not in data
    assert CANARY not in "".join(one.prompt_id for one in probe.requests(3))


def test_a_file_that_is_no_suite_is_a_mistake_of_the_configuration(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        PrivateSuite(file=str(tmp_path / "none.jsonl"))
    (tmp_path / "bad.jsonl").write_text(f'{{"prompt": "x", "{CANARY}": 1}}')
    with pytest.raises(ValueError, match=r"2 mistakes; `weighmaster suite validate") as caught:
        PrivateSuite(file=str(tmp_path / "bad.jsonl"))
    assert CANARY not in str(caught.value)


async def test_a_file_that_breaks_later_is_told_without_its_words_and_one_that_changes_during_a_run_spoils_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.jsonl"
    probe = written(path, cases(3))

    class Changing(Knows):
        async def send(self, request: Request) -> Capture:
            path.write_text(cases(5))
            return await super().send(request)

    context = ProbeContext(clock=SystemClock(), seed=1, concurrency=1, report=lambda *_: None)
    assert (await probe.run(Changing(), context)).observations[0].n == 3
    for broken, told in ((f'{{"prompt": "x", "{CANARY}": 1}}', "2 mistakes"), (f"{CANARY}", "no suite")):
        path.write_text(broken)
        with pytest.raises(UsageError, match=told) as caught:
            await probe.run(Knows(), context)
        assert CANARY not in str(caught.value)


async def test_python_of_a_suite_runs_on_a_schedule_only_where_the_configuration_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scheduled_oracle.py").write_text("def even(text):\n    return int(text) % 2 == 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    path = tmp_path / "a.jsonl"
    path.write_text("".join(
        f'{{"prompt": "Say {at}.", "oracles": [{{"kind": "python", "entry": "scheduled_oracle:even"}}]}}\n'
        for at in range(5)
    ))  # fmt: skip
    context = ProbeContext(clock=SystemClock(), seed=1, concurrency=1, report=lambda *_: None)
    ungraded = await PrivateSuite(file=str(path)).run(Knows(), context)
    assert ungraded.observations[0].n == 0
    assert "scheduled_oracle" not in sys.modules
    graded = await PrivateSuite(file=str(path), allow_python=True).run(Knows(), context)
    assert (graded.observations[0].k, graded.observations[0].n) == (3, 5)
    path.write_text(path.read_text().replace(":even", ":odd"))
    with pytest.raises(ValueError, match="scheduled_oracle:odd: cannot be imported"):
        PrivateSuite(file=str(path), allow_python=True)


def test_generated_cases_follow_from_the_secret(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    plain, secret = PrivateSuite(), PrivateSuite(secret_file=str(tmp_path / "secret"))
    assert plain.requests(1) != secret.requests(1)
    assert not {one.prompt_id for one in plain.requests(1)} & {one.prompt_id for one in plain.requests(2)}


def judged(**evidence: Any) -> Any:
    made = replace(suite_evidence(), **evidence)
    return SuiteAnswers().run(made, at=AT, rng=np.random.default_rng(0))


def test_the_detector_compares_with_golden_and_with_the_last_run() -> None:
    half = (2,) * 30 + (0,) * 30
    golden = suite_evidence().suite_golden
    assert judged().status == "pass"
    found = judged(exchanges=suite_evidence(half).exchanges, suite_golden=golden)
    assert (found.status, found.cause, found.effect) == ("fail", "worse_than_golden", pytest.approx(-1 / 3))
    past = RunRecord(run=replace(RUN, run_id="r0"), exchanges=suite_evidence().exchanges, observations=())
    found = judged(exchanges=suite_evidence(half).exchanges, suite_golden=(), history=(past,))
    assert (found.status, found.cause) == ("fail", "regression")
    assert judged(suite_golden=()).cause == "no_reference"
    # A loss that stays is found again, also past a run that nobody answered: neither is what the next is held against.
    failed = RunRecord(run=replace(RUN, run_id="r2"), exchanges=suite_evidence(half).exchanges, observations=())
    untold = tuple(exchange(case, 0, passed=None) for case in range(60))
    silent = RunRecord(run=replace(RUN, run_id="r3"), exchanges=untold, observations=())
    stays = suite_evidence(half).exchanges
    found = judged(exchanges=stays, suite_golden=(), history=(past, failed, silent))
    assert (found.status, found.cause, found.details["changes_since"]) == ("fail", "regression", {"last": "r0"})
    lost = tuple(exchange(case, 0, passed=None) for case in range(60))
    assert judged(exchanges=lost).cause == "no_answers"


def test_a_verdict_cannot_be_computed_again_since_no_words_are_kept() -> None:
    config: Any = None
    with pytest.raises(UsageError, match="keep no words"):
        _require_one_run(judged(), config)
    assert replay_command("suite", "acme/m", "v") == "weighmaster probe acme/m --kind suite"


async def test_the_judge_asks_golden_the_same_once(tmp_path: Path) -> None:
    record, _, probe = await ran(tmp_path / "a.jsonl", cases(40, privacy="drop"))

    class Plan:
        def __init__(self) -> None:
            self.probe = probe

    class Counting(Golden):
        asked: list[Request] = []  # noqa: RUF012  # of this test alone

        async def send(self, request: Request) -> Capture:
            self.asked.append(request)
            return await super().send(request)

    class Plans:
        plans = (Plan(),)

    config: Config = Plans()  # type: ignore[assignment]  # all that is looked at
    golden: Any = Counting(knows=35)
    suites = SuiteGolden(config, SystemClock())
    found = await suites.of(record, golden)
    assert found == await suites.of(record, golden)
    assert len(Counting.asked) == 40
    assert {one.case for one in found} == {one.case for one in tallies(record.exchanges)}
    assert sum(one.k for one in found) == 35
    assert await suites.of(replace(record, run=replace(record.run, params_sha256="x")), golden) == ()
    assert await suites.of(record, None) == ()


async def test_one_probe_in_one_process_is_paired_too(tmp_path: Path) -> None:
    # Oracle: the endpoint knows 30 of the 40 cases and golden 35.
    probe = written(tmp_path / "a.jsonl", cases(40))
    text = (
        f"endpoints: [{{name: a/b, base_url: 'http://127.0.0.1:1/v1', model: m}}]\n"
        f"probes: [{{kind: suite, every: 1d, file: {tmp_path / 'a.jsonl'}}}]\n"
    )
    config, clock = load(text, {}, catalogues()), SystemClock()
    golden: Any = GoldenOfCases(knows=35)
    prober = Prober(clock=clock, vantage="t", version="0", seed=3, concurrency=2)
    probed = await probe_endpoint(endpoint(), Knows(), [probe], prober, lambda *_: None)
    assert is_paired(probed, config.detectors)
    beside = await ask_golden(probed, golden, config.detectors, SuiteGolden(config, clock))
    (found,) = (one for one in judge_endpoint(probed, golden, config.detectors, clock, beside=beside).verdicts
                if one.detector == "suite")  # fmt: skip
    assert (found.n, found.effect) == (40, -5 / 40)
    assert found.details["golden"]["k"] == 35


async def test_golden_calls_are_put_where_an_endpoint_has_them() -> None:
    """Oracle: the text of a Hermes call, as Qwen models write it."""

    class Writes(Knows):
        async def send(self, request: Request) -> Capture:
            text = '<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>'
            body = orjson.dumps({"choices": [{"message": {"content": text}, "finish_reason": "stop"}]})
            return replace(await super().send(request), reads=(Read(2, body),))

    tools = ({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}},)
    asked = Request(prompt_id="a", messages=({"role": "user", "content": "Say 1."},), max_tokens=8, tools=tools)
    capture = await CallingClient(Writes(), "hermes").send(asked)
    call = orjson.loads(capture.body)["choices"][0]["message"]["tool_calls"][0]["function"]
    assert (call["name"], orjson.loads(call["arguments"])) == ("f", {"x": 1})


def test_tallies_ignore_names_without_a_grade() -> None:
    assert tallies([exchange(1, 0, passed=True)]) == (Tally(case="suite/s/1", k=1, n=1),)
    bare = exchange(1, 0, passed=True)
    assert tallies([replace(bare, request=None), replace(bare, request=replace(bare.request, prompt_id="a|b"))]) == ()  # type: ignore[type-var]


async def test_only_who_needs_no_words_judges_a_private_run(tmp_path: Path) -> None:
    """What is kept of a case has no prompt: its tokens are not golden's to count, and its answers are not empty."""
    record, _, _ = await ran(tmp_path / "a.jsonl", cases(40, privacy="drop"))
    usage = {"prompt_tokens": 31, "completion_tokens": 2, "total_tokens": 33}
    record = replace(record, exchanges=tuple(replace(one, usage=usage) for one in record.exchanges))
    golden = golden_side([record], FakeScorer(), ())
    assert golden.views == {}
    detectors = [made() for made in (catalogues().detectors or {}).values()]
    found = judge(endpoint(), [record], golden, detectors, at=AT)
    assert {one.detector for one in found} == {"availability", "suite"}
    spoken = replace(record, exchanges=tuple(
        replace(one, request=replace(one.request, messages=({"role": "user", "content": "hi"},)))
        for one in record.exchanges if one.request
    ))  # fmt: skip
    seen = golden_side([spoken], FakeScorer(), ())
    heard = {one.detector for one in judge(endpoint(), [spoken], seen, detectors, at=AT)}
    assert {"accounting", "shape", "faults"} <= heard  # so the assertion above can fail

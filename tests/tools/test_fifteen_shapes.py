"""The 15 answers on which the K2 verifier was observed (notes, 5.1). Oracle: what each should be called."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from monitor.results import RunRecord
from monitor.tools import k2vv
from monitor.tools.graded import Graded, grade
from monitor.tools.measures import by_name, observed
from monitor.tools.summary import summary
from monitor.types import Capture, Endpoint, Request
from monitor.wire.dispatch import decode
from monitor.wire.usage import read_usage
from probes.run import run_probe
from probes.tools import Tools
from tests.tools.made import call, called, captured, case, frame, function, graded, names, said, streamed

TIME = function("get_time", {"type": "object", "properties": {"tz": {"type": "string"}}})
CITY = '{"city":"A"}'


def twice(*, index: int | None) -> list[dict[str, Any]]:
    calls = [call(arguments=CITY, id="a"), call("get_time", '{"tz":"B"}', id="b")]
    for one in calls:
        one.update({"index": index})
        if index is None:
            del one["index"]
    return [*(frame({"tool_calls": [one]}) for one in calls), frame({}, "tool_calls")]


def test_1_usage_in_a_frame_without_choices_is_counted() -> None:
    made = graded([*called(call()), frame(usage={"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39})])
    reading = read_usage(made.exchange.usage or {})
    assert (reading.prompt, reading.completion, names(made)) == (30, 9, [])
    assert by_name(observed([made]))["tool_usage_present"].value == 1.0
    assert summary([made], model="m")["usage"] == {"prompt_tokens": 30, "completion_tokens": 9, "total_tokens": 39}


def test_2_a_cut_stream_is_truncated_and_no_success() -> None:
    made = graded([frame({"content": "It is"})], done=False)
    assert names(made) == ["transport:truncated"]
    assert (summary([made], model="m")["success_count"], summary([made], model="m")["finish_stop"]) == (0, 0)


def test_3_parallel_calls_without_index_or_all_at_0_are_a_fault_of_the_wire_and_two_calls() -> None:
    for index, name in ((None, "missing_index"), (0, "index_reused")):
        made = graded(twice(index=index), case(case().tools[0], TIME))
        assert names(made) == [f"protocol:{name}"]
        assert [(one.name, one.valid) for one in made.calls] == [("get_weather", True), ("get_time", True)]


def test_4_a_valid_call_with_finish_stop_is_a_fault_of_the_finish_reason_only() -> None:
    made = graded(called(call(), finish="stop"))
    assert names(made) == ["protocol:stop_with_tool_calls"]
    assert (made.calls[0].valid, made.decided) == (True, True)


def test_5_an_empty_schema_accepts_an_empty_object() -> None:
    made = graded(called(call(arguments="{}")), case(function("get_weather", {})))
    assert (made.calls[0].valid, names(made)) == (True, [])


def test_6_a_tool_without_parameters_accepts_an_empty_object() -> None:
    made = graded(called(call(arguments="{}")), case(function("get_weather")))
    assert (made.calls[0].valid, names(made)) == (True, [])


def test_7_a_schema_of_the_caller_that_is_none_is_the_suites_error() -> None:
    made = graded(called(call()), case(function("get_weather", {"type": "int"})))
    assert (names(made), made.faults, made.calls[0].valid) == (["suite:schema_unusable"], (), None)
    assert by_name(observed([made]))["tool_schema_accuracy"].n == 0


def test_8_nan_is_no_json() -> None:
    made = graded(called(call("f", '{"x":NaN}')), case(function("f", {"type": "object"})))
    assert names(made) == ["schema:nonstandard_number"]


def test_9_a_key_twice_is_a_fault() -> None:
    assert names(graded(called(call(arguments='{"city":1,"city":"ok"}')))) == ["schema:duplicate_key"]


def test_10_an_announced_call_that_is_not_there_is_no_schema_error() -> None:
    made = graded(said("Hello", finish="tool_calls"))
    assert names(made) == ["protocol:tool_calls_without_call"]
    assert by_name(observed([made]))["tool_schema_accuracy"].n == 0
    assert k2vv.counts_of([made]).schema_validation_error_count == 1


def test_11_raw_markup_in_the_text_is_a_leak_of_the_parser() -> None:
    text = "<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{}"
    assert names(graded(said(text))) == ["parser:markup_leak"]


def test_12_reasoning_alone_is_named_under_each_field() -> None:
    for field in ("reasoning", "reasoning_content"):
        made = graded([frame({field: "hm"}), frame({}, "stop")])
        assert names(made) == ["content:only_reasoning"]
        assert made.exchange.choice.reasoning == "hm"


def test_13_another_model_in_the_answer_is_recorded() -> None:
    made = graded([frame({"content": "Hi"}, model="other"), frame({}, "stop", model="other")])
    assert made.exchange.models == ("other",)
    assert "model_mismatch" in made.exchange.flags


class Answering:
    """A client that always answers with the same bytes, or refuses to connect."""

    def __init__(self, body: bytes | None) -> None:
        self.body, self.sent = body, 0

    async def send(self, request: Request) -> Capture:
        self.sent += 1
        if self.body is None:
            return Capture(request=request, end="connect_error")
        return replace(captured(self.body, case(), stream=request.stream), request=request)

    async def aclose(self) -> None:
        return


class Ticking:
    """A clock that moves a second with every look."""

    def __init__(self) -> None:
        self.at = 0

    def now(self) -> datetime:
        self.at += 1
        return datetime.fromtimestamp(1_800_000_000 + self.at, tz=UTC)

    def monotonic_ns(self) -> int:
        return self.at


async def run(client: Answering, name: str, clock: Ticking) -> RunRecord:
    endpoint = Endpoint(name=name, provider="p", base_url="http://127.0.0.1:9/v1", model="m")
    record, _ = await run_probe(
        Tools(n=3), endpoint, client, clock=clock, seed=1, vantage="v", prober_version="0", concurrency=2
    )
    return record


def graded_run(record: RunRecord) -> list[Graded]:
    return [made for one in record.exchanges if (made := grade(one)) is not None]


async def test_14_a_second_run_asks_again_and_changes_nothing_of_the_first() -> None:
    client, clock = Answering(streamed(said("Hello"))), Ticking()
    first = await run(client, "p/a", clock)
    before = summary(graded_run(first), model="m")
    second = await run(client, "p/a", clock)
    assert client.sent == 12
    assert first.run.run_id != second.run.run_id
    assert summary(graded_run(first), model="m") == before == summary(graded_run(second), model="m")
    assert before["success_count"] == 6


async def test_15_another_endpoint_is_another_run_whatever_was_asked_before() -> None:
    clock = Ticking()
    first = await run(Answering(streamed(said("Hello"))), "p/a", clock)
    dead = await run(Answering(None), "p/b", clock)
    assert first.run.run_id != dead.run.run_id
    counted = summary(graded_run(dead), model="m")
    assert (counted["success_count"], counted["failure_count"]) == (0, 6)
    assert {one.outcome for one in dead.exchanges} == {"connect_error"}
    assert decode(Capture(end="connect_error")).outcome == "connect_error"

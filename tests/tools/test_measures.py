"""Metrics, ours and the compatible ones. Oracle: counts made by hand, and the definitions of the peers."""

from dataclasses import replace
from typing import Any

import pytest

from monitor.results import Observation
from monitor.tools import all_measures, fragments, k2vv, measures, minimax, openrouter, thvv
from monitor.tools.all_measures import all_observed
from monitor.tools.calls import judged
from monitor.tools.case import ExpectedCall
from monitor.tools.expected import fidelity, key_order, same_json
from monitor.tools.graded import Graded, grade
from monitor.tools.measures import by_name, observed
from monitor.tools.presets import PRESETS, met
from monitor.tools.rows import row_case
from monitor.tools.summary import summary
from monitor.types import ToolCall
from tests.tools.made import call, called, case, exchange_of, frame, function, graded, graded_whole, said, whole

LEAK = '<tool_call>{"name": "get_weather", "arguments": {"city": "A"}}</tool_call>'


def answers() -> list[Graded]:
    """Four cases that want a call, two that want none; one stream was cut."""
    wanted = [called(call()), called(call(arguments="{}")), said(LEAK), said("Sunny.")]
    unwanted = [said("Hello."), called(call())]
    return [
        *(graded(frames, case(case_id=f"c{at}")) for at, frames in enumerate(wanted)),
        *(graded(frames, case(case_id=f"n{at}", expect="none")) for at, frames in enumerate(unwanted)),
        graded([frame({"content": "It"})], case(case_id="cut"), done=False),
    ]


def test_counts_by_hand() -> None:
    found = by_name(observed(answers()))
    expected = {
        "tool_first_attempt_success": (6, 7), "tool_eventual_success": (6, 7), "tool_said": (3, 6), "tool_cut": (1, 7),
        "tool_structured": (3, 6), "tool_textual": (1, 6), "tool_silent": (0, 6), "tool_match": (4, 6),
        "tool_trigger_precision": (3, 4), "tool_trigger_recall": (3, 4), "tool_trigger_f1": (6, 8),
        "tool_schema_accuracy": (2, 3), "tool_call_schema_accuracy": (2, 3), "tool_leaks": (1, 6),
        "tool_finish_consistent": (6, 6), "tool_not_only_reasoning": (6, 6), "tool_empty": (0, 6),
        "tool_usage_present": (0, 6),
    }  # fmt: skip
    assert {name: (found[name].k, found[name].n) for name in expected} == expected
    assert found["tool_attempts_per_success"].value == pytest.approx(7 / 6)


def test_an_empty_answer_that_says_stop_did_not_call() -> None:
    """Ten right calls and ten empty stops, all on cases that want a call: K2VV counts ten false negatives."""
    stops = [frame({"role": "assistant"}), frame({}, "stop")]
    made = [
        graded(frames, case(case_id=f"{name}{at}"))
        for name, frames in (("right", called(call())), ("empty", stops)) for at in range(10)
    ]  # fmt: skip
    assert {one.exchange.outcome for one in made} == {"ok", "empty"}
    found = by_name((*observed(made), *k2vv.observed(made), *minimax.observed(made)))
    expected = {
        "tool_first_attempt_success": (20, 20), "tool_match": (10, 20), "tool_trigger_recall": (10, 20),
        "tool_trigger_f1": (20, 30), "k2vv_tool_call_f1": (20, 30), "k2vv_tool_call_f1_strict": (20, 30),
        "minimax_query_success_rate": (20, 20), "minimax_tool_calls_match_rate": (10, 20), "tool_empty": (10, 20),
    }  # fmt: skip
    assert {name: (found[name].k, found[name].n) for name in expected} == expected
    counts = k2vv.counts_of(made)
    assert (counts.success_count, counts.failure_count, counts.finish_stop) == (20, 0, 10)


def test_pieces_of_streams() -> None:
    """Two answers of 2 + 9 characters; a call whose arguments come as 3, 4 and 250 characters; one not streamed."""
    split = [
        frame({"tool_calls": [call(arguments='{"a')]}),
        *(frame({"tool_calls": [{"index": 0, "function": {"arguments": more}}]})
          for more in ('": "', "x" * 248 + '"}')),
        frame({}, "tool_calls"),
    ]  # fmt: skip
    text = [frame({"content": "So"}), frame({"content": " it rains"}), frame({}, "stop")]
    made = [graded(text, case(case_id="a")), graded(text, case(case_id="b")), graded(split, case(case_id="c")),
            graded_whole(whole({"content": "no"}), case(case_id="d"))]  # fmt: skip
    found = by_name(fragments.observed(made))
    assert {name: (one.k, one.n) for name, one in found.items()} == {
        "tool_content_tiny_pieces": (2, 4), "tool_content_tiny_characters": (4, 22),
        "tool_content_large_pieces": (0, 4), "tool_content_large_characters": (0, 22),
        "tool_arguments_tiny_pieces": (2, 3), "tool_arguments_tiny_characters": (7, 257),
        "tool_arguments_large_pieces": (1, 3), "tool_arguments_large_characters": (250, 257),
    }  # fmt: skip
    assert {one.value for one in fragments.observed([made[-1]])} == {None}


def test_an_empty_answer_without_an_end_decided_nothing() -> None:
    made = [graded([frame({"role": "assistant"})], case(case_id="open"), done=False)]
    found = by_name((*observed(made), *k2vv.observed(made)))
    assert (found["tool_first_attempt_success"].k, found["tool_trigger_f1"].n) == (0, 0)
    assert found["k2vv_tool_call_f1"].value is None


def test_the_same_counts_as_others_would_make_them() -> None:
    made = answers()
    k2 = by_name(k2vv.observed(made))
    assert [(k2[m.name].k, k2[m.name].n) for m in k2vv.METRICS] == [(4, 7), (4, 8), (2, 3)]
    assert k2vv.counts_of(made).five == (3, 3, 0, 1, 2)
    mini = by_name(minimax.observed(made))
    assert [(mini[m.name].k, mini[m.name].n) for m in minimax.METRICS] == [
        (6, 7), (3, 7), (3, 7), (1, 2), (0, 6), (None, 0)]  # fmt: skip
    assert minimax.counts_of(made).ceiling == pytest.approx(6 / 7)
    router = by_name(openrouter.observed(made))
    assert [(router[m.name].k, router[m.name].n) for m in openrouter.METRICS] == [(1, 3), (0, 3), (0, 3), (1, 3)]


def test_their_language_check_is_of_rows_that_ask_for_it() -> None:
    """Oracle: their rule, any letter of U+0400 to U+04FF fails; accented Latin does not."""
    checked = row_case(
        {"messages": [{"role": "user", "content": "Ciao"}], "check_type": [minimax.LANGUAGE_CHECK]}, "a/1", prefix="a"
    )
    made = [
        one for text in ("Buongiorno, \u00e8 bello.", "Buon \u0434\u0435\u043d\u044c.")
        if (one := grade(exchange_of(said(text), checked), checked)) is not None
    ]  # fmt: skip
    rate = by_name(minimax.observed([*made, graded(said("\u0434\u0430"), case())]))["minimax_language_following_rate"]
    assert (rate.k, rate.n) == (1, 2)
    one_word = row_case({"messages": [{"role": "user"}], "check_type": "tool_calls"}, "a/2", prefix="a")
    assert one_word.tags == ("tool_calls",)


@pytest.mark.parametrize(
    ("tokens", "ttft_ms", "metric", "kept"),
    [(5_999, 4_999, "thvv_ttft_6k", 1), (5_999, 5_001, "thvv_ttft_6k", 0), (6_000, 4_000, "thvv_ttft_16k", 1),
     (20_000, 7_999, "thvv_ttft_32k", 1), (20_000, 8_001, "thvv_ttft_32k", 0), (200_000, 69_000, "thvv_ttft_256k", 1)],
)  # fmt: skip
def test_limits_of_thvv_go_by_the_length_of_the_prompt(tokens: int, ttft_ms: int, metric: str, kept: int) -> None:
    """Oracle: its table of TTFT limits by input tokens; a run is met when nine of ten keep to them."""
    one = graded(said("Hi."))
    timed = replace(one, exchange=replace(one.exchange, ttft_ms=ttft_ms, tps=31.0, measurement="valid",
                                          usage={"prompt_tokens": tokens, "completion_tokens": 2}))  # fmt: skip
    found = by_name(thvv.observed([timed]))
    assert {name: (rate.k, rate.n) for name, rate in found.items() if rate.n} == {
        metric: (kept, 1), "thvv_otps_10": (1, 1), "thvv_otps_30": (1, 1), "thvv_otps_100": (0, 1)}  # fmt: skip
    busy = replace(timed, exchange=replace(timed.exchange, measurement="busy"))
    assert {rate.n for rate in thvv.observed([busy, replace(timed, form="whole")])} == {0}


def test_nothing_is_null_and_never_zero_or_one() -> None:
    for one in all_observed([]):
        assert (one.value, one.n, one.k) == (None, 0, None)
        assert one.reason


def test_every_card_has_an_observation() -> None:
    assert sorted(card.name for card in all_measures.METRICS) == sorted(one.metric for one in all_observed(answers()))
    assert all(card.source and card.definition for card in all_measures.METRICS)


def test_quirks_of_k2vv_are_kept_under_its_name_only() -> None:
    """NaN and the last of two keys pass there; a tool without parameters, and an absent call, are schema errors."""
    lenient = [graded(called(call(arguments=text))) for text in ('{"city":"A","x":NaN}', '{"city":1,"city":"ok"}')]
    assert k2vv.counts_of(lenient).successful_tool_call_count == 2
    strict = [graded(called(call(arguments="{}")), case(function("get_weather"))), graded(said("Hi", "tool_calls"))]
    assert k2vv.counts_of(strict).schema_validation_error_count == 2
    ours = by_name(observed([*lenient, *strict]))["tool_schema_accuracy"]
    assert (ours.k, ours.n) == (1, 3)


@pytest.mark.parametrize(
    ("arguments", "name", "bucket"),
    [("{", "get_weather", "InvalidJson"), ('{"city":"A"}', "f", "UnknownName"),
     ("[1]", "get_weather", "SchemaMismatch"), ("{}", "get_weather", "SchemaMismatch"),
     ('{"city":"A"}', "get_weather", None)],
)  # fmt: skip
def test_buckets_of_openrouter(arguments: str, name: str, bucket: str | None) -> None:
    verdict = judged(ToolCall(id="a", name=name, arguments=arguments), case().parameters)
    assert openrouter.bucket(verdict) == bucket


def test_demands_are_counted_apart() -> None:
    named = {"type": "function", "function": {"name": "get_weather"}}
    made = [
        graded(said("No."), case(case_id="a", tool_choice="none", expect="none")),
        graded(called(call()), case(case_id="b", tool_choice="none", expect="none")),
        graded(said("No."), case(case_id="c", tool_choice="required")),
        graded(called(call()), case(case_id="d", tool_choice=named)),
        graded(called(call(), call(id="b")), case(case_id="e", parallel=False)),
        graded(said("Well", finish="length"), case(case_id="f", tool_choice="required")),
    ]
    found = by_name(observed(made))
    names = ("tool_choice_none", "tool_choice_required", "tool_choice_named", "tool_parallel_off")
    assert [(found[name].k, found[name].n) for name in names] == [(1, 2), (0, 1), (1, 1), (0, 1)]


def test_forms_are_compared_case_by_case() -> None:
    one = {key: value for key, value in call().items() if key != "index"}
    usage = {"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": 35}
    other = {**usage, "prompt_tokens": 31, "total_tokens": 36}
    made = [
        graded([*called(call()), frame(usage=usage)]),
        graded_whole(whole({"tool_calls": [one]}, "tool_calls", usage=usage)),
        graded([*called(call(), finish="stop"), frame(usage=usage)], case(case_id="b")),
        graded_whole(whole({"tool_calls": [one]}, "tool_calls", usage=other), case(case_id="b")),
    ]
    found = by_name(observed(made))
    assert (found["tool_forms_same_prompt"].k, found["tool_forms_same_prompt"].n) == (1, 2)
    assert (found["tool_forms_same_faults"].k, found["tool_forms_same_faults"].n) == (1, 2)
    assert found["tool_usage_adds_up"].value == 1.0


def test_ids() -> None:
    history = ({"role": "assistant", "tool_calls": [{"id": "call_0", "function": {"name": "f", "arguments": "{}"}}]},)
    made = [graded(called(call(), call())), graded(called(call(), call(id="z")), case(messages=history))]
    found = by_name(observed(made, id_pattern="call_[0-9]"))
    assert [(found[name].k, found[name].n) for name in ("tool_ids_unique", "tool_ids_new", "tool_id_pattern")] == [
        (1, 2), (0, 1), (3, 4)]  # fmt: skip


def verdicts(*calls: tuple[str, str]) -> list[Any]:
    schemas: dict[str, Any] = {"f": {"properties": {"a": {}, "b": {}, "c": {}}}, "g": None}
    return [judged(ToolCall(id=None, name=name, arguments=text), schemas) for name, text in calls]


def test_expected_calls_match_in_any_order_and_each_once() -> None:
    wanted = [ExpectedCall(name="f", arguments={"a": 1}), ExpectedCall(name="f", arguments={"a": 2}),
              ExpectedCall(name="g")]  # fmt: skip
    assert fidelity(verdicts(("g", "{}"), ("f", '{"a":2}'), ("f", '{"a":1}')), wanted) == (3, 3, 2, 2)
    assert fidelity(verdicts(("f", '{"a":1}'), ("f", '{"a":1}')), wanted) == (1, 3, 1, 2)
    assert fidelity(verdicts(("f", '{"a":1,"b":0}')), wanted) == (0, 3, 1, 2)
    assert fidelity([], wanted) == (0, 3, 0, 2)


def test_values_are_equal_as_json() -> None:
    assert same_json({"a": [1, {"b": 2.0}]}, {"a": [1.0, {"b": 2}]})
    assert not same_json([True], [1])
    assert not same_json({"a": 1}, {"a": 1, "b": 2})
    assert not same_json([1], [1, 1])


def test_key_order_is_kendalls_tau() -> None:
    schema: dict[str, Any] = {"properties": {"a": {}, "b": {}, "c": {}}}
    (same, mixed, back, one) = verdicts(
        ("f", '{"a":1,"b":1,"c":1}'), ("f", '{"b":1,"a":1,"c":1}'), ("f", '{"c":1,"b":1,"a":1}'), ("f", '{"a":1}')
    )
    assert [key_order(each, schema) for each in (same, mixed, back, one)] == [1.0, pytest.approx(1 / 3), -1.0, None]


def test_presets_say_met_missed_or_undecided() -> None:
    by_preset = {preset.name: preset for preset in PRESETS}
    f1, only = by_preset["k2vv-kimi-k2-thinking"], by_preset["minimax-reasoning"]
    assert met(f1, 0.76, 0.74, 0.78) == "met"
    assert met(f1, 0.76, 0.70, 0.81) == "undecided"
    assert met(f1, 0.60, 0.55, 0.65) == "missed"
    assert met(only, 0.0, 0.0, 0.04) == "met"
    assert met(only, 0.05, 0.01, 0.1) == "missed"
    thvv_limit = by_preset["thvv-ttft-32k"]
    assert (thvv_limit.says, thvv_limit.threshold) == ("TTFT P90 < 8 s", 0.9)
    metrics = {one.metric for one in all_observed(answers())}
    assert {preset.metric for preset in PRESETS if preset.metric} <= metrics


def test_the_summary_has_the_shape_of_k2vv_and_intervals() -> None:
    made = summary(answers(), model="m")
    assert {key: made[key] for key in ("success_count", "failure_count", "finish_stop", "finish_tool_calls")} == {
        "success_count": 6, "failure_count": 1, "finish_stop": 3, "finish_tool_calls": 3}  # fmt: skip
    row = next(one for one in made["metrics"] if one["metric"] == "tool_schema_accuracy")
    assert row["low"] < row["value"] < row["high"]
    assert {one["met"] for one in made["presets"]} <= {"met", "missed", "undecided", None}
    assert measures.rate_of("x", []) == Observation(metric="x", value=None, n=0, reason="nothing to count")


def test_what_nobody_counted_is_null_in_the_summary_and_says_why() -> None:
    """One answer has no usage; of two, the counts are those of the one that has."""
    bare, counted = graded(called(call())), graded([*called(call()), frame(usage={"prompt_tokens": 3})])
    unknown = summary([bare], model="m")
    assert unknown["usage"] == {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None}
    assert summary([bare, counted], model="m")["usage"] == {
        "prompt_tokens": 3, "completion_tokens": None, "total_tokens": None}  # fmt: skip
    rows = {row["metric"]: row["reason"] for row in unknown["metrics"]}
    assert rows["tool_choice_none"] == "nothing to count"
    assert rows["tool_schema_accuracy"] is None


def test_a_call_that_cannot_be_judged_is_not_wrong_to_minimax() -> None:
    """`unevaluatedProperties` means nothing in draft 7. Oracle: by_name's k of valid true positives."""
    schema = {"type": "object", "unevaluatedProperties": False}
    unknown = graded(called(call(arguments='{"a":1}')), case(function("get_weather", schema)))
    assert [one.valid for one in unknown.calls] == [None]
    assert minimax.counts_of([unknown]).valid == 1
    assert minimax.counts_of([graded(called(call(arguments="{}")))]).valid == 0

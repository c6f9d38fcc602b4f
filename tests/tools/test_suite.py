"""The built-in suite and the probe. Oracles: what the issue asks of them, and the schemas of the suite itself."""

import json
import re
from collections import Counter
from pathlib import Path

import orjson
import pytest

from monitor.tools.schemas import validate
from monitor.types import Exchange
from probes.tool_suite import built_in, chosen
from probes.tools import Tools
from tests.tools.made import WEATHER, call, called, case, exchange_of, said


class CountedDumps:
    """orjson, counted."""

    def __init__(self, counts: Counter[str]) -> None:
        self.counts = counts

    def dumps(self, value: object) -> bytes:
        self.counts["n"] += 1
        return orjson.dumps(value)


GROUPS = {
    "single", "several", "parallel", "nested", "no-argument", "enum", "unicode", "escapes", "large", "irrelevant",
    "multi-turn", "ids", "choice-none", "choice-required", "choice-named", "choice-auto", "one-at-a-time",
}  # fmt: skip


def test_at_least_120_cases_of_every_group() -> None:
    cases = built_in()
    assert len(cases) == len({one.case_id for one in cases}) >= 120
    counts = Counter(one.tags[0] for one in cases)
    assert set(counts) == GROUPS
    assert min(counts.values()) >= 4


def test_every_schema_is_usable_in_both_drafts_and_every_expected_call_is_valid() -> None:
    for one in built_in():
        assert one.tools
        for parameters in one.parameters.values():
            verdict = validate(parameters, {})
            assert "unusable" not in {verdict.status, verdict.draft7}
        for wanted in one.calls:
            assert wanted.name in one.parameters
            if wanted.arguments is not None:
                verdict = validate(one.parameters[wanted.name], wanted.arguments)
                assert verdict.status in {"valid", "absent"}, (one.case_id, verdict)
                assert not verdict.dialect_sensitive


def test_tools_are_spelled_out_since_servers_add_keys_that_lack() -> None:
    for one in built_in():
        assert all(set(tool["function"]) == {"name", "description", "parameters"} for tool in one.tools)


def test_expectations_agree_with_what_is_demanded() -> None:
    for one in built_in():
        assert not (one.tool_choice == "none" and one.expect != "none")
        assert not (one.tool_choice == "required" and one.expect != "call")
        assert one.named is None or one.calls[0].name == one.named
        assert not one.calls or one.expect == "call"


def test_every_call_of_the_history_is_answered() -> None:
    for one in built_in():
        asked = [part["id"] for message in one.messages for part in message.get("tool_calls", ())]
        answered = [message["tool_call_id"] for message in one.messages if message["role"] == "tool"]
        assert sorted(asked) == sorted(answered)
        assert len(set(asked)) == len(asked)


def test_subsets_follow_from_the_seed_and_leave_no_group_out() -> None:
    cases = built_in()
    first, again, other = chosen(cases, 40, 1), chosen(cases, 40, 1), chosen(cases, 40, 2)
    assert first == again != other
    assert {one.tags[0] for one in first} == GROUPS
    assert len({one.case_id for one in first}) == 40
    assert chosen(cases, None, 1) == cases


def test_conversations_beside_different_tools_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Oracle: two dumps a case (the talk, the tools of the talk), however many cases there are."""
    dumps = Counter[str]()
    monkeypatch.setattr("probes.tool_suite.orjson", CountedDumps(dumps))
    chosen(built_in(), 88, 1)
    assert dumps["n"] <= 2 * len(built_in())


def test_every_subset_asks_one_conversation_beside_different_tools() -> None:
    for seed in range(5):
        some = chosen(built_in(), 12, seed)
        talks = Counter(json.dumps(one.messages) for one in some)
        assert talks.most_common(1)[0][1] >= 2


def test_both_forms_of_a_case_are_the_same_but_for_the_stream() -> None:
    asked = Tools(n=20).requests(3)
    assert len(asked) == 40
    for stream, whole in zip(asked[::2], asked[1::2], strict=True):
        assert (stream.stream, whole.stream) == (True, False)
        assert (stream.messages, stream.tools, stream.extra, stream.seed) == (
            whole.messages, whole.tools, whole.extra, whole.seed)  # fmt: skip
        assert stream.prompt_id.removesuffix("stream") == whole.prompt_id.removesuffix("whole")


def test_the_default_run_is_large_enough_for_its_power() -> None:
    cost = Tools().cost()
    assert cost.n_requests == 176
    assert cost.tokens_in > 176 * 50


def test_own_suites_are_read_and_carry_their_hash(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Hi"}], "tools": [WEATHER]}), "utf-8")
    (one,) = Tools(suite=str(path)).cases(0)
    assert re.fullmatch(r"mine@[0-9a-f]{8}/1", one.case_id)
    path.write_text(json.dumps({"messages": [{"role": "user", "content": "Ho"}], "tools": [WEATHER]}), "utf-8")
    (other,) = Tools(suite=str(path)).cases(0)
    assert other.case_id != one.case_id


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Tools(n=0)
    with pytest.raises(ValueError, match="cannot be read"):
        Tools(suite=str(tmp_path / "none.jsonl"))
    with pytest.raises(ValueError, match="no regular expression"):
        Tools(id_pattern="(")
    bad = tmp_path / "bad.jsonl"
    bad.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not UTF-8"):
        Tools(suite=str(bad))


def test_observations_use_the_expected_calls_of_the_case() -> None:
    probe = Tools(n=None, id_pattern=r"call_\d")
    known = {one.case_id: one for one in probe.cases(0)}
    one = known["tools/single-01"]
    right = called(call("read_thermometer", '{"station":"Harbour-4"}'))
    wrong = called(call("read_thermometer", '{"station":"Harbour-5"}'))
    exchanges: list[Exchange] = [exchange_of(frames, one) for frames in (right, wrong, said("It is warm."))]
    found = {o.metric: o for o in probe._observed(exchanges, known)}
    assert (found["tool_arguments_exact"].k, found["tool_arguments_exact"].n) == (1, 3)
    assert (found["tool_match"].k, found["tool_match"].n) == (2, 3)
    assert found["tool_id_pattern"].value == 1.0
    assert {metric.name for metric in Tools.metrics} == set(found)
    assert case(case_id="x").case_id == "x"

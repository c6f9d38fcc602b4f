"""The detector `faults`. Oracles: what the answers were made to show; the Wilson interval in closed form."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.faults import Faults
from monitor.results import Evidence, Verdict
from monitor.types import Exchange
from tests.detectors.made import AT, endpoint, run_of
from tests.faults.inputs import CERTAIN
from tests.faults.lookalikes import ROWS
from tests.faults.made import TOOLS, call, calls_in, said, whole

CLEAN = said("A kilo is one kilo.")


def judge(exchanges: Sequence[Exchange], *, probe: str = "speed", dialect: str | None = None) -> Verdict:
    numbered = tuple(replace(one, exchange_id=f"r1-{at}", run_id="r1") for at, one in enumerate(exchanges))
    runs = (replace(run_of(), probe=probe),)
    made = Evidence(endpoint=replace(endpoint(), dialect=dialect), runs=runs, exchanges=numbered)
    return Faults().run(made, at=AT, rng=np.random.default_rng(0))


def test_clean_answers_pass_with_what_could_have_been_seen() -> None:
    one = judge([CLEAN] * 20)
    assert (one.status, one.cause, one.effect, one.n) == ("pass", None, 0.0, 20)
    assert (1 - (one.mde or 0)) ** 20 == pytest.approx(0.1), "20 answers miss a rate of mde with probability 0.1"


def test_lookalikes_pass() -> None:
    assert (
        judge([one for _, profile, one in ROWS if profile == "openai" and one.request and one.request.stream]).status
        == "pass"
    )


def test_the_layer_is_the_cause_and_the_kinds_are_told() -> None:
    one = judge([CLEAN] * 17 + [CERTAIN["call_as_text"][0]] * 2 + [CERTAIN["bad_finish"][0]])
    assert (one.status, one.cause) == ("fail", "parser")
    assert one.details["faults"] == {"call_as_text": 2, "bad_finish": 1}
    assert one.details["layers"] == {"parser": 2, "protocol": 1}
    assert (one.details["k"], one.n, one.effect) == (3, 20, 0.15)
    z = 1.959963984540054
    centre, half = (
        (0.15 + z * z / 40) / (1 + z * z / 20),
        z / (1 + z * z / 20) * (0.15 * 0.85 / 20 + (z / 40) ** 2) ** 0.5,
    )
    assert one.low == pytest.approx(centre - half)


def test_one_among_many_is_suspect() -> None:
    one = judge([CLEAN] * 60 + [CERTAIN["thinking_leak"][0]])
    assert (one.status, one.cause) == ("suspect", "parser")


@pytest.mark.parametrize("name", ["truncated_answer", "error_in_200", "empty_stop", "malformed_arguments"])
def test_what_availability_names_is_left_to_it(name: str) -> None:
    one = judge([CLEAN] * 10 + [CERTAIN[name][0]] * 5)
    assert (one.status, one.details["faults"]) == ("pass", {})


def test_arguments_that_a_lenient_reader_takes_are_named_here() -> None:
    twice = calls_in([call('{"city": "a", "city": "b"}')])[0]
    assert judge([CLEAN] * 10 + [twice] * 5).details["faults"] == {"malformed_arguments": 5}


def test_calls_of_the_tools_probe_are_left_to_its_detector() -> None:
    some = [CLEAN] * 10 + [CERTAIN["undeclared_tool"][0]] * 5
    assert judge(some).cause == "decision"
    assert judge(some, probe="tools").status == "pass"
    pair = [said("Rain.", request=TOOLS), calls_in([call()], text="Let me see.")[1]]
    assert judge([CLEAN] * 10 + pair, probe="tools").status == "pass"


def test_the_policy_makes_a_note_of_it() -> None:
    some = [CLEAN] * 10 + [CERTAIN["undeclared_tool"][0]] * 5
    one = judge(some, dialect="minimax")
    assert (one.status, one.details["notes"]) == ("pass", {"undeclared_tool": 5})


def test_a_pair_that_differs_is_found() -> None:
    streamed = said("Rain.", request=TOOLS)
    other = calls_in([call()], text="Let me see.")[1]
    one = judge([CLEAN] * 4 + [streamed, other])
    assert one.details["faults"] == {"stream_differs": 1}
    assert (
        judge([CLEAN] * 4 + [said("Rain.", request=TOOLS), whole({"content": "Rain!"}, request=TOOLS)]).status == "pass"
    )


def test_too_few_answers_decide_nothing() -> None:
    one = judge([CLEAN] * 4)
    assert (one.status, one.cause) == ("inconclusive", "no_answers")

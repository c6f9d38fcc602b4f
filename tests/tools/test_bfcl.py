"""BFCL's error types. Oracles: ground truth must pass in full; each single edit of it has one right name."""

from collections.abc import Mapping
from typing import Any

import orjson
import pytest

from monitor.tools.bfcl import ERRORS, counted, error_of, observed
from monitor.tools.case import FORMS, Case, ExpectedCall, Form
from monitor.tools.graded import Graded, grade
from monitor.tools.measures import by_name
from monitor.wire.dispatch import decode
from probes.tool_suite import built_in
from tests.tools.made import call, captured, function, whole
from tests.tools.made_evidence import bytes_of, known_cases, right_calls

RIGHT: dict[str, Any] = {
    "city": "Rio de Janeiro", "days": 3, "share": 0.5, "daily": True, "tags": ["wind", "rain"],
    "where": {"street": "Main", "number": 5}, "stops": [{"at": "A"}, {"at": "B"}],
}  # fmt: skip
PROPERTIES = {
    "city": {"type": "string"}, "days": {"type": "integer"}, "share": {"type": "number"}, "daily": {"type": "boolean"},
    "tags": {"type": "array", "items": {"type": "string"}}, "where": {"type": "object"},
    "stops": {"type": "array", "items": {"type": "object"}}, "note": {"type": "string"},
}  # fmt: skip
TOOL = function("trip", {"type": "object", "properties": PROPERTIES, "required": ["city", "days"]})
OTHER = function("other", {"type": "object", "properties": {}})
CASE = Case(
    case_id="trip", messages=({"role": "user", "content": "A trip."},), tools=(TOOL, OTHER), expect="call",
    calls=(ExpectedCall(name="trip", arguments=RIGHT),),
)  # fmt: skip


def answered(*calls: tuple[str, Any], case: Case = CASE) -> Graded:
    listed = [
        call(name, given if isinstance(given, str) else orjson.dumps(given).decode(), id=f"c{at}")
        for at, (name, given) in enumerate(calls)
    ]
    plain = [{key: value for key, value in one.items() if key != "index"} for one in listed]
    document = whole({"content": None, "tool_calls": plain} if plain else {"content": "No."},
                     "tool_calls" if plain else "stop")  # fmt: skip
    made = grade(decode(captured(orjson.dumps(document), case, stream=False)), case)
    assert made is not None
    return made


def rightly(case: Case, form: Form) -> Graded:
    body = bytes_of(case, form, right_calls(case))
    made = grade(decode(captured(body, case, stream=form == "stream")), case)
    assert made is not None
    return made


def edited(**changes: Any) -> Mapping[str, Any]:
    return {key: value for key, value in {**RIGHT, **changes}.items() if value is not ...}


def test_ground_truth_of_the_whole_suite_passes() -> None:
    graded = [rightly(case, form) for case in known_cases() for form in FORMS]
    assert {one.case.case_id for one in graded if one.case.calls} >= {"tools/single-01"}
    assert counted(graded) == {}
    assert [(one.k, one.n) for one in observed(graded)] == [
        (2 * n, 2 * n) for n in (
            sum(bool(one.calls) for one in known_cases()),
            sum(one.expect == "none" and bool(one.tools) for one in known_cases()),
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("edit", "error"),
    [
        ({"city": ...}, "missing_required"),
        ({"share": ...}, "missing_optional"),
        ({"colour": "red"}, "unexpected_param"),
        ({"note": "hm"}, "unexpected_param"),
        ({"days": "3"}, "type_error:simple"),
        ({"days": 3.5}, "type_error:simple"),
        ({"daily": 1}, "type_error:simple"),
        ({"tags": "wind"}, "type_error:simple"),
        ({"tags": ["wind", 7]}, "type_error:nested"),
        ({"city": "Oslo"}, "value_error:string"),
        ({"days": 4}, "value_error:others"),
        ({"daily": False}, "value_error:others"),
        ({"tags": ["rain", "wind"]}, "value_error:list/tuple"),
        ({"where": {"street": "Main"}}, "value_error:dict_key"),
        ({"where": {"street": "Main", "number": 6}}, "value_error:dict_value"),
        ({"stops": [{"at": "A"}]}, "value_error:list_dict_count"),
        ({"stops": [{"at": "A"}, {"at": "C"}]}, "value_error:dict_value"),
        ({"city": "rio-de-janeiro."}, None),
        ({"share": 0.50}, None),
        ({"where": {"number": 5.0, "street": "MAIN"}}, None),
    ],
)  # fmt: skip
def test_each_single_edit_has_its_name(edit: dict[str, Any], error: str | None) -> None:
    assert error_of(answered(("trip", edited(**edit)))) == error


@pytest.mark.parametrize(
    ("calls", "error"),
    [
        ((), "wrong_count"),
        ((("trip", RIGHT), ("trip", RIGHT)), "wrong_count"),
        ((("other", {}),), "wrong_func_name"),
        ((("trip", '{"city": '),), "decoder_failed"),
    ],
)
def test_calls_as_a_whole(calls: tuple[tuple[str, Any], ...], error: str) -> None:
    assert error_of(answered(*calls)) == error


def test_several_calls_are_matched_in_any_order_and_the_nearest_is_named() -> None:
    two = Case(
        case_id="two", messages=CASE.messages, tools=CASE.tools, expect="call",
        calls=(ExpectedCall(name="trip"), ExpectedCall(name="trip", arguments={"city": "Oslo", "days": 1})),
    )  # fmt: skip
    exact, other = {"city": "Oslo", "days": 1}, {"city": "Bergen", "days": 2}
    assert error_of(answered(("trip", exact), ("trip", other), case=two)) is None
    assert error_of(answered(("trip", other), ("trip", exact), case=two)) is None
    assert error_of(answered(("trip", other), ("trip", {**other, "days": 1}), case=two)) == "value_error:string"
    assert error_of(answered(("other", {}), ("trip", exact), case=two)) == "wrong_func_name"


def test_answers_without_known_calls_say_nothing_and_nothing_is_null() -> None:
    free = Case(case_id="free", messages=CASE.messages, tools=CASE.tools, expect="none")
    assert error_of(answered(("trip", RIGHT), case=free)) is None
    found = by_name(observed([answered(("trip", RIGHT), case=free)]))
    assert (found["bfcl_ast_accuracy"].value, found["bfcl_irrelevance"].value) == (None, 0.0)
    assert counted([answered(("other", {})), answered(("trip", RIGHT))]) == {"wrong_func_name": 1}


def test_hostile_schemas_raise_nothing() -> None:
    some: list[Any] = [None, [], {"city": None}, {"city": {"type": 3}}, {"city": {"items": 3, "type": ["string", 9]}}]
    for properties in some:
        schema = {"properties": properties, "required": 7}
        odd = Case(case_id="odd", messages=CASE.messages, tools=(function("trip", schema),), expect="call",
                   calls=CASE.calls)  # fmt: skip
        assert error_of(answered(("trip", {"city": ["x"]}), case=odd)) in {None, *ERRORS}
    assert len(built_in()) > 120

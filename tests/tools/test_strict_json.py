"""Strict JSON. Oracles: RFC 8259, RFC 7493, and Python's own parser where it is strict."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.tools.strict_json import read_object, read_strict

FAULTS = [
    ("", "empty"), (" \n\t", "empty"), ("{", "not_json"), ("{'a':1}", "not_json"), ('{"a":1,}', "not_json"),
    ('{"x":NaN}', "nonstandard_number"), ('{"x":[Infinity]}', "nonstandard_number"),
    ('{"x":-Infinity}', "nonstandard_number"), ('{"x":1e999}', "nonstandard_number"),
    ('{"x":' + "9" * 301 + "}", "nonstandard_number"),
    ('{"a":1,"a":1}', "duplicate_key"), ('{"b":{"a":1,"a":2}}', "duplicate_key"),
    ('{"a":1} x', "trailing_bytes"), ('{"a":1}{"b":2}', "trailing_bytes"), ('{"a":1}\u00a0', "trailing_bytes"),
    ("[1,2]", "not_object"), ('"text"', "not_object"), ("null", "not_object"), ("1", "not_object"),
    ("[" * 65 + "]" * 65, "too_deep"), ("[" * 100_000, "too_deep"), ('{"a":"' + "x" * 1_000_000 + '"}', "too_large"),
    ('{"a":"\n"}', "not_json"), ("\ufeff{}", "not_json"), ('{"a":01}', "not_json"), ("<tool_call>", "not_json"),
    ('{"a":"' + "[" * 100, "not_json"), ('{"a":"' + '\\"' * 400_000, "not_json"),
    ('{"a":"' + "\\" * 99_999, "not_json"), ('{"a":"\\ud800"}', "lone_surrogate"),
    ('{"\\uDE00\\uD83D":1}', "lone_surrogate"), ('{"a":"\ud800"}', "lone_surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fault"), FAULTS, ids=lambda value: str(value)[:20])
def test_faults(text: str, fault: str) -> None:
    assert read_object(text).fault == fault


@pytest.mark.parametrize(
    "text",
    ["{}", '{"a":"\\ud83d\\ude00"}',
     ' {"a": [1, 2.5, -0, true, null, "\\u00e9{[", {"b": {}}]}\n', '{"\u57ce\u5e02":"\u6771\u4eac"}'],
)  # fmt: skip
def test_clean(text: str) -> None:
    found = read_object(text)
    assert found.fault is None
    assert found.value == json.loads(text)


def test_brackets_in_strings_are_no_depth() -> None:
    assert read_object(json.dumps({"a": "[" * 500})).fault is None


def test_the_place_is_that_of_the_fault() -> None:
    assert read_object('  {"a":1} junk').at == 9
    assert read_object(' {"a" 1}').at == 6


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(value=values)
def test_all_that_python_writes_is_read(value: object) -> None:
    found = read_strict(json.dumps(value))
    assert (found.fault, found.value) == (None, value)


@settings(max_examples=60, deadline=None)
@given(text=st.text(alphabet='{}[]",:1eN\\a ', max_size=30))
def test_nothing_is_accepted_that_python_refuses(text: str) -> None:
    try:
        json.loads(text)
        readable = True
    except ValueError:
        readable = False
    assert readable or read_strict(text).fault is not None

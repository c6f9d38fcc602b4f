"""Schema verdicts. Oracle: the table of differences measured with jsonschema (notes on verifiers), and the drafts."""

from typing import Any

import pytest

from monitor.tools.schemas import draft_of, validate


def object_with(value: Any, **keywords: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"x": value}, **keywords}


TABLE = [
    (object_with({"prefixItems": [{"type": "string"}]}), {"x": [1]}, "invalid", "valid"),
    ({**object_with({"$ref": "#/$defs/s", "maxLength": 1}), "$defs": {"s": {"type": "string"}}}, {"x": "ab"},
     "invalid", "valid"),
    ({"type": "object", "dependentRequired": {"a": ["b"]}}, {"a": 1}, "invalid", "valid"),
    ({"type": "object", "dependencies": {"a": ["b"]}}, {"a": 1}, "valid", "invalid"),
    ({"type": "object", "unevaluatedProperties": False}, {"a": 1}, "invalid", "valid"),
    (object_with({"items": [{"type": "string"}, {"type": "integer"}]}), {"x": ["a", "b"]}, "unusable", "invalid"),
    (object_with({"type": "number", "exclusiveMinimum": True}), {"x": 1}, "unusable", "unusable"),
    (object_with({"type": "int"}), {"x": 1}, "unusable", "unusable"),
    (object_with({"type": "any"}), {"x": 1}, "unusable", "unusable"),
    (object_with({"type": "string", "required": True}), {"x": "a"}, "unusable", "unusable"),
    (object_with({"type": "string", "format": "date"}), {"x": "tomorrow"}, "valid", "valid"),
    (object_with({"type": "integer"}), {"x": 1.0}, "valid", "valid"),
    (object_with({"type": "integer"}), {"x": True}, "invalid", "invalid"),
    (object_with({"const": 1}), {"x": True}, "invalid", "invalid"),
    (object_with({"type": "string", "nullable": True}), {"x": None}, "invalid", "invalid"),
    (object_with({"type": "string", "pattern": r"^\d$"}), {"x": "\u0663"}, "valid", "valid"),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "arguments", "own", "draft7"), TABLE)
def test_the_table_of_drafts(schema: Any, arguments: Any, own: str, draft7: str) -> None:
    found = validate(schema, arguments)
    assert (found.status, found.draft7, found.draft) == (own, draft7, "2020-12")
    assert found.dialect_sensitive == ({own, draft7} == {"valid", "invalid"})


@pytest.mark.parametrize("schema", [None, {}])
def test_a_tool_without_parameters_accepts_any_object(schema: Any) -> None:
    assert validate(schema, {}).status == validate(schema, {"a": 1}).status == "absent"


@pytest.mark.parametrize(
    ("address", "draft"),
    [("http://json-schema.org/draft-07/schema#", "7"), ("https://json-schema.org/draft/2019-09/schema", "2019-09"),
     ("http://json-schema.org/draft-04/schema", "4"), ("urn:mine", "2020-12"), (None, "2020-12"), (7, "2020-12")],
)  # fmt: skip
def test_the_draft_is_that_of_the_schema(address: Any, draft: str) -> None:
    assert draft_of({"$schema": address}) == draft


def test_a_draft_7_schema_is_judged_by_draft_7_and_not_sensitive() -> None:
    schema = {"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "dependencies": {"a": ["b"]}}
    found = validate(schema, {"a": 1})
    assert (found.status, found.draft, found.dialect_sensitive) == ("invalid", "7", False)


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "http://127.0.0.1:9/never-fetched"}, {"$ref": "#/nowhere"}, {"$ref": "#"}, {"type": "int"},
     "text", [1], {"type": "object", "patternProperties": {"(": {}}}],
)  # fmt: skip
def test_unusable_schemas_are_never_the_vendors(schema: Any) -> None:
    found = validate(schema, {"a": 1})
    assert found.status == "unusable"
    assert found.problem


def test_the_place_is_in_the_schema_and_holds_no_word_of_the_model() -> None:
    found = validate(object_with({"type": "string"}), {"x": 1, "secret": 2})
    assert (found.keyword, found.where) == ("type", "properties/x/type")


@pytest.mark.parametrize(
    ("step", "value", "status"),
    [(0.01, 19.99, "valid"), (0.1, 0.3, "valid"), (0.1, 0.35, "invalid"), (0.5, 10**299, "valid"), (3, 7, "invalid"),
     (0.1, 1e308, "valid"), (1e-300, 1e300, "valid"), (0.01, True, "valid"), (0.01, "a", "valid"), (0, 1, "unusable")],
)  # fmt: skip
def test_multiples_are_those_of_the_written_decimals(step: Any, value: Any, status: str) -> None:
    assert validate(object_with({"multipleOf": step}), {"x": value}).status == status


def test_a_schema_of_any_depth_is_a_verdict() -> None:
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(100_000):
        inner["properties"] = {"x": {}}
        inner = inner["properties"]["x"]
    assert validate(deep, {"x": 1}).status == "unusable"


def test_problems_name_the_place() -> None:
    assert validate({"type": "int"}, {}).problem == "not a JSON Schema: anyOf at type"
    assert validate({"type": "object"}, {}).problem is None


def test_numbers_beyond_64_bits_are_numbers() -> None:
    schema = object_with({"type": "integer", "maximum": 10**30})
    assert validate(schema, {"x": 10**29}).status == "valid"
    assert validate(schema, {"x": 10**31}).status == "invalid"

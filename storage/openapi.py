"""The description of the API: what each read takes is asked from the plan itself, so that it cannot be out of date."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Any, get_args

from pydantic import TypeAdapter

from monitor.incident import Incident
from monitor.results import JudgedRun, RunRecord, Verdict
from monitor.types import Exchange, Outcome
from storage.interface import ReadStore
from storage.parameters import Parameters
from storage.plans import Plan

Json = dict[str, Any]
_NOUNS = (Exchange, Incident, JudgedRun, RunRecord, Verdict)
_LISTS: Mapping[str, Mapping[str, str]] = {
    "verdicts": {"verdicts": "Verdict"}, "exchanges": {"exchanges": "Exchange"}, "incidents": {"incidents": "Incident"},
    "runs": {"records": "RunRecord", "judged": "JudgedRun"}, "unjudged": {"records": "RunRecord"},
    "timeline": {"incidents": "Incident"}, "evidence": {"records": "RunRecord", "judged": "JudgedRun"},
}  # fmt: skip
_DRAWN = frozenset({"badge"})
_ERRORS = {"400": "A parameter is wrong.", "401": "The token is missing or wrong.", "404": "There is no such thing.",
           "503": "The store cannot work now."}  # fmt: skip
_STYLE = "body{font:15px sans-serif;max-width:60em;margin:2em auto;padding:0 1em}code{background:#eee}td,th{text-align:left;padding:.2em 1em .2em 0}"  # noqa: E501


class _Asked(Parameters):
    """Takes any parameter and notes what is asked for."""

    def __init__(self) -> None:
        super().__init__({})
        self.found: list[Json] = []

    def _note(self, name: str, schema: Json, *, required: bool = False) -> None:
        self.found.append({"name": name, "in": "query", "required": required, "schema": schema})

    def maybe(self, name: str) -> str | None:
        self._note(name, {"type": "string"})
        return None

    def text(self, name: str) -> str:
        self._note(name, {"type": "string", "minLength": 1}, required=True)
        return name

    def number(self, name: str, *, default: int, high: int) -> int:
        self._note(name, {"type": "integer", "minimum": 1, "maximum": high, "default": default})
        return default

    def flag(self, name: str) -> bool:
        self._note(name, {"type": "string", "enum": ["true", "false", "1", "0"], "default": "false"})
        return False

    def moment(self, name: str) -> datetime | None:
        self._note(name, {"type": "string", "format": "date-time"})
        return None

    def instant(self, name: str) -> datetime:
        self._note(name, {"type": "string", "format": "date-time"}, required=True)
        return datetime.now(UTC)

    def outcome(self, name: str) -> str | None:
        self._note(name, {"type": "string", "enum": list(get_args(Outcome))})
        return None


def document(store: ReadStore, reads: Mapping[str, Plan], *, token: bool, version: str) -> Json:
    """Return the OpenAPI 3.1 document of the store's API."""
    paths = {f"/api/{name}": {"get": _read(store, name, plan)} for name, plan in reads.items()}
    schemas: Json = {}
    for noun in _NOUNS:
        schema = TypeAdapter(noun).json_schema(mode="serialization", ref_template="#/components/schemas/{model}")
        schemas |= schema.pop("$defs", {})
        schemas[noun.__name__] = schema
    components: Json = {"schemas": schemas}
    if token:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Weighmaster store", "version": version},
        "paths": {**paths, **_WRITES, **_PLAIN},
        "components": components,
        "security": [{"token": []}] if token else [],
    }


def _read(store: ReadStore, name: str, plan: Plan) -> Json:
    asked = _Asked()
    plan(store, asked)
    responses: Json = {code: {"description": text, "content": _content(_ERROR)} for code, text in _ERRORS.items()}
    answer = {"image/svg+xml": {}} if name in _DRAWN else _content(_answer(name))
    responses["200"] = {"description": "The answer.", "content": answer}
    return {"summary": plan.__doc__ or name, "operationId": name, "parameters": asked.found, "responses": responses}


def _content(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def _answer(name: str) -> Json:
    if name == "verdict":
        return {"$ref": "#/components/schemas/Verdict"}
    lists = {
        key: {"type": "array", "items": {"$ref": f"#/components/schemas/{noun}"}}
        for key, noun in _LISTS.get(name, {}).items()
    }
    return {"type": "object", "properties": lists, "required": list(lists)}


_ERROR: Json = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_ENTRY: Json = {
    "type": "object", "required": ["seq", "kind", "data"], "additionalProperties": False,
    "properties": {"seq": {"type": "integer", "minimum": 1}, "kind": {"type": "string"}, "data": {}},
}  # fmt: skip
_WRITES: Json = {
    "/api/ingest": {
        "post": {
            "summary": "Takes records above the writer's mark in one transaction; safe to repeat.",
            "operationId": "ingest",
            "requestBody": {"required": True, "content": _content({
                "type": "object", "required": ["writer", "entries"], "additionalProperties": False,
                "properties": {
                    "writer": {"type": "string", "minLength": 1, "maxLength": 200},
                    "entries": {"type": "array", "items": _ENTRY},
                },
            })},
            "responses": {"200": {"description": "The new mark.", "content": _content(
                {"type": "object", "properties": {"mark": {"type": "integer"}}, "required": ["mark"]}
            )}},
        }
    },
    "/api/snapshot": {
        "post": {
            "summary": "Takes a snapshot beside the database and names its folder; a passing one goes after a day.",
            "operationId": "snapshot",
            "requestBody": {"required": True, "content": _content({
                "type": "object", "properties": {"passing": {"const": True}}, "additionalProperties": False,
            })},
            "responses": {"200": {"description": "Its folder.", "content": _content(
                {"type": "object", "properties": {"folder": {"type": "string"}}, "required": ["folder"]}
            )}},
        }
    },
}  # fmt: skip
_PLAIN: Json = {
    "/healthz": {"get": {"summary": "200 when the store works, else 503 with the reason.", "operationId": "healthz",
                         "security": [], "responses": {"200": {"description": "It works."}}}},
    "/metrics": {"get": {"summary": "Counters, histograms and gauges for Prometheus.", "operationId": "metrics",
                         "responses": {"200": {"description": "Text, format 0.0.4."}}}},
}  # fmt: skip


def page(described: Json) -> str:
    """Return the description as one page of HTML that loads nothing."""
    info = described["info"]
    parts = [_section(path, method, one) for path, ways in described["paths"].items() for method, one in ways.items()]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(info["title"])}</title>'
        f"<style>{_STYLE}</style><h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f'<p>Machine-readable: <a href="/openapi.json">openapi.json</a></p>{"".join(parts)}</html>'
    )


def _section(path: str, method: str, one: Json) -> str:
    rows = "".join(map(_row, one.get("parameters", ())))
    table = f"<table><tr><th>parameter<th>value<th></tr>{rows}</table>" if rows else ""
    return f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(one['summary'])}</p>{table}"


def _row(parameter: Json) -> str:
    schema = parameter["schema"]
    words: Sequence[str] = [str(schema.get("format", schema["type"]))]
    if "enum" in schema:
        words = [" | ".join(schema["enum"])]
    if "maximum" in schema:
        words = [f"{schema['minimum']} to {schema['maximum']}, default {schema['default']}"]
    need = "required" if parameter["required"] else "optional"
    return f"<tr><td><code>{escape(parameter['name'])}</code><td>{escape(words[0])}<td>{need}</tr>"

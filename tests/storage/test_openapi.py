"""The description of the API. Oracle: the API itself takes what is described, and its answers fit the schemas."""

import re
from typing import Any

import httpx
import jsonschema
import pytest

from storage.api import app
from storage.interface import ReadStore
from storage.memory import MemoryStore
from storage.plans import READS, Plan
from tests.storage.asks import put
from tests.storage.factories import exchange, incident, judged, run_record, slot, verdict

FIRST = run_record("r1", exchanges=[exchange(0, run_id="r1"), exchange(1, run_id="r1", outcome="stalled", usage=None)])
VALUES = {
    "endpoint": "lab/faithful", "metric": "ttft_ms", "id": "verdict-1", "writer": "w", "limit": "3", "buckets": "4",
    "since": "2026-03-01T00:00:00Z", "until": "2026-03-02T00:00:00Z", "open_only": "true", "outcome": "ok",
    "detector": "logprob_fidelity", "probe": "speed", "vantage": "test",
}  # fmt: skip


def _client(store: ReadStore, **what: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app(store, **what)), base_url="http://store")


async def _described(**what: Any) -> dict[str, Any]:
    async with _client(MemoryStore(), version="1.2.3", **what) as client:
        found: dict[str, Any] = (await client.get("/openapi.json")).json()
    return found


async def test_every_read_is_described_with_what_it_takes(store: ReadStore) -> None:
    put(store, FIRST, judged(FIRST), verdict(), incident(), slot())
    described = await _described()
    assert described["openapi"] == "3.1.0"
    async with _client(store) as client:
        for name in READS:
            one = described["paths"][f"/api/{name}"]["get"]
            assert len(one["summary"]) > 10
            asked = {p["name"]: "r1.0" if name == "capture" else VALUES[p["name"]] for p in one["parameters"]}
            reply = await client.get(f"/api/{name}", params=asked)
            assert reply.status_code == 200, (name, reply.text)
            required = [p["name"] for p in one["parameters"] if p["required"]]
            for left_out in required:
                rest = {key: value for key, value in asked.items() if key != left_out}
                reply = await client.get(f"/api/{name}", params=rest)
                assert (reply.status_code, left_out in reply.text) == (400, True)
            assert (await client.get(f"/api/{name}", params={**asked, "other": "1"})).status_code == 400
            schema = one["responses"]["200"]["content"]["application/json"]["schema"]
            answer = (await client.get(f"/api/{name}", params={key: asked[key] for key in required})).json()
            jsonschema.validate(answer, {**schema, "components": described["components"]})


async def test_references_lead_somewhere() -> None:
    described = await _described()
    for name in re.findall(r"#/components/schemas/(\w+)", str(described)):
        jsonschema.Draft202012Validator.check_schema(described["components"]["schemas"][name])


async def test_a_token_is_described() -> None:
    store = MemoryStore()
    async with _client(store, token="sesame") as client:
        found = (await client.get("/openapi.json", headers={"Authorization": "Bearer sesame"})).json()
    assert found["security"] == [{"token": []}]
    assert (await _described())["security"] == []


async def test_the_page_loads_nothing_from_anywhere() -> None:
    async with _client(MemoryStore()) as client:
        reply = await client.get("/openapi")
    assert reply.headers["content-security-policy"].startswith("default-src 'none'")
    assert re.findall(r"(?:src|href)\s*=\s*\"?([^\s\">]+)", reply.text) == ["/openapi.json"]
    assert not re.search(r"<script|<link|<img|<iframe|@import|url\(", reply.text)
    for name in READS:
        assert f"GET /api/{name}" in reply.text


@pytest.mark.parametrize("text", ["<b>bold</b>", "a & b"])
async def test_what_others_describe_is_escaped(text: str) -> None:
    def plan(_store: Any, _ask: Any) -> Any:
        return dict

    plan.__doc__ = text
    more: dict[str, Plan] = {"mine": plan}
    async with _client(MemoryStore(), more=more) as client:
        page = (await client.get("/openapi")).text
        assert (await client.get("/api/mine")).json() == {}
    assert text not in page
    assert "GET /api/mine" in page

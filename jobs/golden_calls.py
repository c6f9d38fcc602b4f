"""Golden weights that call tools: the calls in the text of their answers, put where an endpoint has them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from monitor.ports import Client
from monitor.types import Capture, Read, Request
from reference.tool_parsers.families import parse


@dataclass(frozen=True, slots=True)
class CallingClient:
    """Asks a golden engine that writes calls as text, as its model does; `family` says how it writes them."""

    inner: Client
    family: str

    async def send(self, request: Request) -> Capture:
        """Answer `request`; an answer in which calls can be read has them as calls."""
        capture = await self.inner.send(request)
        if not request.tools or len(capture.reads) != 1 or capture.status != 200:
            return capture
        try:
            body = orjson.loads(capture.body)
            message = body["choices"][0]["message"]
        except (orjson.JSONDecodeError, LookupError, TypeError):  # no answer: the decoder will say what it is
            return capture
        said = parse(message.get("content") or "", self.family, request.tools)
        if not said.tool_calls or message.get("tool_calls"):
            return capture
        message |= {"content": None, "tool_calls": _written(said.tool_calls)}
        return replace(capture, reads=(Read(capture.reads[0].at_ns, orjson.dumps(body)),))

    async def aclose(self) -> None:
        """Close the engine."""
        await self.inner.aclose()


def _written(calls: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        {"id": one.id or f"call_{at}", "type": "function", "function": {"name": one.name, "arguments": one.arguments}}
        for at, one in enumerate(calls)
    ]

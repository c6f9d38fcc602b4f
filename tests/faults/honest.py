"""A client that plays an endpoint which does what every parameter says, but for those that it is told to ignore."""

import asyncio
import re
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import orjson

from jobs.clock import SystemClock
from monitor.results import Evidence, RunRecord
from monitor.types import Capture, Endpoint, Read, Request
from probes.parameters import Parameters
from probes.run import run_probe
from tests.detectors.made import endpoint
from tests.fakes.golden import FakeScorer

MODEL = "model"
WORDS = ("sea", "stone", "light", "wind", "boat", "sand", "gull", "wave", "rope", "salt")
_SEEN = count()


@dataclass
class Honest:
    """``ignores`` names features as the probe does, ``refuses`` fields of the body that are answered with a 400."""

    ignores: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    asked: list[Request] = field(default_factory=list)

    async def send(self, request: Request) -> Capture:
        self.asked.append(request)
        fields = set(request.extra) | ({"logprobs"} if request.top_logprobs else set())
        refused = fields & self.refuses
        body = {"error": {"message": "no", "param": min(refused)}} if refused else self._answer(request)
        return Capture(
            request=request, status=400 if refused else 200, headers=(("content-type", "application/json"),),
            reads=(Read(0, orjson.dumps(body)),), sent=orjson.dumps(
                {"model": MODEL, "max_tokens": request.max_tokens, "stop": request.extra.get("stop", [])}
            ),
        )  # fmt: skip

    async def aclose(self) -> None:
        return

    def _answer(self, request: Request) -> dict[str, Any]:
        wanted = 1 if "n" in self.ignores else request.extra.get("n", 1)
        choices = [{"index": at, **self._choice(request)} for at in range(wanted)]
        thought = self._thought(request)
        completion = sum(len(str(one["message"].get("content")).split()) for one in choices) + thought
        prompt = len(str(request.messages[0]["content"])) // 5
        if "context" in self.ignores and prompt > 500:
            prompt = 400
        usage: dict[str, Any] = {"prompt_tokens": prompt, "completion_tokens": completion,
                                 "total_tokens": prompt + completion}  # fmt: skip
        if thought:
            usage["completion_tokens_details"] = {"reasoning_tokens": thought}
        if "usage" in self.ignores:
            usage["total_tokens"] += 99
        return {"model": "other" if "model_echo" in self.ignores else MODEL, "choices": choices, "usage": usage}

    def _thought(self, request: Request) -> int:
        effort = request.extra.get("reasoning_effort")
        if effort is None:
            return 0
        return 40 if "reasoning_effort" in self.ignores or effort == "low" else 90

    def _choice(self, request: Request) -> dict[str, Any]:
        calls = self._calls(request)
        if calls:
            return {"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}
        text, finish = self._text(request), "stop"
        for stop in () if "stop" in self.ignores else request.extra.get("stop", ()):
            text = text.partition(stop)[0]
        words = text.split(" ")
        if len(words) > request.max_tokens and "max_tokens" not in self.ignores:
            text, finish = " ".join(words[: request.max_tokens]), "length"
        made: dict[str, Any] = {"message": {"content": text}, "finish_reason": finish}
        if request.top_logprobs and "logprobs" not in self.ignores:
            top = [{"token": word, "logprob": -1.0} for word in WORDS[: request.top_logprobs]]
            made["logprobs"] = {"content": [{"token": text, "logprob": -0.1, "top_logprobs": top}]}
        return made

    def _text(self, request: Request) -> str:
        question = str(request.messages[-1]["content"])
        wanted = request.extra.get("response_format", {}).get("type")
        if wanted == "json_object" and "json_object" not in self.ignores:
            return '{"butter": "a kilogram"}'
        if wanted == "json_schema" and "json_schema" not in self.ignores:
            return '{"mass_in_grams": 250, "kind": "liquid"}'
        if count := re.search(r"from (\d+) to (\d+)", question):
            return ", ".join(str(number) for number in range(int(count[1]), int(count[2]) + 1))
        if code := re.match(r"The password is (\d+)", question):
            return "I do not know." if "context" in self.ignores else code[1]
        rng = np.random.default_rng([len(question), *self._draw(request)])
        return " ".join(rng.choice(WORDS, 80))

    def _draw(self, request: Request) -> list[int]:
        """What the answer depends on besides the question."""
        greedy = not request.temperature or ((request.top_p or 1) < 0.01 and "top_p" not in self.ignores)
        if "temperature_0" in self.ignores or not (greedy or "temperature" in self.ignores):
            known = request.seed is not None and "seed" not in self.ignores
            return [1, request.seed if known and request.seed else next(_SEEN)]
        return [0]

    def _calls(self, request: Request) -> list[dict[str, Any]]:
        if not request.tools:
            return []
        choice = request.extra.get("tool_choice", "auto")
        question = str(request.messages[-1]["content"])
        name, n = "current_weather", 2 if "Porto" in question else "weather" in question
        if choice == "none" and "tool_choice_none" not in self.ignores:
            n = 0
        if choice == "required" and "tool_choice_required" not in self.ignores:
            n = 1
        if isinstance(choice, dict) and "tool_choice_named" not in self.ignores:
            name, n = choice["function"]["name"], 1
        if request.extra.get("parallel_tool_calls") is False and "parallel_tool_calls" not in self.ignores:
            n = min(n, 1)
        function = {"name": name, "arguments": '{"town": "Bergen"}'}
        return [{"id": f"call_{at}", "type": "function", "function": function} for at in range(n)]


class Trusted(FakeScorer):
    """A golden server that does what every parameter says."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = Honest()

    async def send(self, request: Request) -> Capture:
        return await self.inner.send(request)


async def measured(client: Honest, *, seed: int = 1) -> RunRecord:
    """One run of the probe against `client`."""
    at = Endpoint(name="acme/model", provider="acme", base_url="http://127.0.0.1:1/v1", model=MODEL)
    record, _ = await run_probe(
        Parameters(), at, client, clock=SystemClock(), seed=seed, vantage="test", prober_version="0", concurrency=4
    )
    return record


def evidence_of(now: RunRecord, *history: RunRecord) -> Evidence:
    return Evidence(endpoint=endpoint(), runs=(now.run,), exchanges=now.exchanges, history=history)


def honest_evidence() -> Evidence:
    """A run of the probe against an endpoint that keeps all."""
    return evidence_of(asyncio.run(measured(Honest())))

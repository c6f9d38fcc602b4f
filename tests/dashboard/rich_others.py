"""What other pages open in depth: tool calls, looks at parameters, signs of agents and slots that did not run."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from monitor.agent_sign import AgentSign
from monitor.results import JudgedRun, Verdict
from monitor.slot import Slot, SlotState
from monitor.types import Request
from tests.dashboard.rich import Record, captured, chunk, kept, made_run, placed

_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def _call(arguments: str, *, content: str = "") -> list[dict[str, object]]:
    made: list[dict[str, object]] = [chunk({"content": content})] if content else []
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    usage = {"prompt_tokens": 60, "completion_tokens": 14, "total_tokens": 74}
    tail: dict[str, object] = {"id": "c", "model": "m", "choices": [], "usage": usage}
    if arguments:
        return [*made, chunk({"tool_calls": [call]}), chunk({}, finish="tool_calls"), tail]
    return [*made, chunk({}, finish="stop"), tail]


def tools(endpoint: str, model: str, now: datetime) -> list[Record]:
    """A run of ``tools``: most calls are right; one is left in the text, some break the schema or are no JSON."""
    at, run_id = now - timedelta(minutes=30), "rich-tools"
    answers = [
        *[_call('{"city": "Paris"}')] * 6,
        _call('{"town": "Paris"}'),
        _call('{"city": 5}'),
        _call('{"city": "Par'),
        _call("", content='<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>'),
        _call("", content="It is sunny <script>alert(1)</script>"),
    ]
    captures = [
        captured(
            Request(
                prompt_id=f"weather-{place}|call|stream",
                max_tokens=64,
                tools=(_TOOL,),
                messages=({"role": "user", "content": "Weather in Paris?"},),
            ),
            pieces,
            at,
        )
        for place, pieces in enumerate(answers)
    ]
    record = made_run(
        run_id,
        (endpoint, model),
        "tools",
        at,
        [placed(capture, run_id, place) for place, capture in enumerate(captures)],
    )
    judged = JudgedRun(run_id=run_id, endpoint=endpoint, judged_at=at, fingerprint=None, views=(), observations=())
    return [("run", record), ("judged", judged), *kept(record, captures)]


def capabilities(endpoint: str, now: datetime) -> list[Record]:
    """Looks at parameters, a week apart: ``seed`` was lost two looks ago."""
    names = ("max_tokens", "stop", "n", "seed", "temperature", "logprobs", "json_schema", "reasoning_effort", "usage")
    found: list[Record] = []
    for look in range(8):
        standings = dict.fromkeys(names, "kept") | {"n": "refused", "reasoning_effort": "unknown"}
        if look < 2:
            standings["seed"] = "ignored"
        found.append(
            (
                "verdict",
                Verdict(
                    verdict_id=f"rich-parameters-{look}",
                    endpoint=endpoint,
                    detector="parameters",
                    detector_version=1,
                    at=now - timedelta(days=7 * look, minutes=10),
                    status="fail" if look < 2 else "pass",
                    cause="seed" if look < 2 else None,
                    statistic="capabilities_kept",
                    effect=7 / 8,
                    unit="share",
                    low=0.5,
                    high=0.97,
                    n=8,
                    threshold=None,
                    reason="7 of 8 features do what they say",
                    run_ids=("rich-logprobs",),
                    details={
                        "capabilities": standings,
                        "why": {name: f"told from two answers about {name}" for name in names},
                    },
                ),
            )
        )
    return found


def instrument(endpoints: Sequence[str], now: datetime) -> list[Record]:
    """Signs of two agents, and slots that did not run."""
    signs = [
        AgentSign(
            vantage=name,
            version="0.1.0",
            at=now - timedelta(minutes=age),
            waiting=waiting,
            clock_offset_s=offset,
            clock_error_s=0.02,
        )
        for name, age, waiting, offset in (("eu-1", 1, 0, 0.01), ("us-1", 40, 128, 2.4))
    ]
    reasons: list[tuple[SlotState, str]] = [
        ("skipped", "over budget"),
        ("skipped", "agent busy: lag 80 ms"),
        ("missed", "nothing ran at this time"),
        ("overlapped", "the previous run of this probe had not ended"),
    ]
    slots = [
        Slot(
            endpoint=endpoint,
            probe="speed",
            slot_at=now - timedelta(hours=1 + place % 20),
            state=state,
            reason=reason,
            run_id=None,
            vantage="us-1",
        )
        for place, endpoint in enumerate(endpoints[:24])
        for state, reason in [reasons[place % len(reasons)]]
    ]
    return [*(("agent", one) for one in signs), *(("slot", one) for one in slots)]

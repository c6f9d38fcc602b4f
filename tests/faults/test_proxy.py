"""``lab faults``: every fault of the catalogue, put in front of a server with clean answers, is what our client finds.

Oracle: the name that the proxy was given. The clean answers are found clean without it.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import orjson
import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from jobs.lab_faults.inject import injector
from jobs.lab_faults.proxy import FaultProxy
from jobs.replay import Chunk, ReplayServer, Script
from monitor.errors import UsageError
from monitor.faults.behaviour import behaviours
from monitor.faults.catalogue import BY_NAME, CATALOGUE
from monitor.faults.find import faults
from monitor.faults.pairs import find_in_pair
from monitor.faults.profiles import PROFILES
from monitor.types import Endpoint, Exchange, Request
from monitor.wire.dispatch import decode
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from tests.faults.inputs import HISTORY
from tests.faults.made import DONE, HELLO, MODEL, TOOLS, USAGE, asked, call, chunk, counts
from tests.faults.series import DECLARED, ORDERED

OPENAI = PROFILES["openai"]
TEXT = "A kilo weighs exactly one kilo, as it always did."
NAMED = {"type": "function", "function": {"name": "snapshot"}}
LOGPROBS = {"content": [{"token": TEXT, "logprob": -0.1, "top_logprobs": [{"token": TEXT, "logprob": -0.1}]}]}


def script(body: bytes, kind: str) -> Script:
    return Script(chunks=(Chunk(0, body),), headers=(("Content-Type", kind),))


def one_stream(*deltas: dict[str, Any], finish: str = "stop", **more: Any) -> Script:
    frames = [chunk({"role": "assistant", "content": ""}), *(chunk(delta, **more) for delta in deltas)]
    return script(b"".join([*frames, chunk(finish=finish), counts(), DONE]), "text/event-stream")


def one_object(message: dict[str, Any], finish: str = "stop", usage: Any = USAGE, **choice: Any) -> Script:
    made = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **choice}
    return script(orjson.dumps({"model": MODEL, "choices": [made], "usage": usage}), "application/json")


CLEAN = {"stream": one_stream({"content": TEXT[:20]}, {"content": TEXT[20:]}), "whole": one_object({"content": TEXT})}
WITH_LOGPROBS = {
    "stream": script(
        orjson.dumps({"choices": [{"index": 0, "delta": {"content": TEXT}, "logprobs": LOGPROBS}]}).join(
            (b"data: ", b"\n\n")
        )
        + chunk(finish="stop")
        + counts()
        + DONE,
        "text/event-stream",
    ),
    "whole": one_object({"content": TEXT}, logprobs=LOGPROBS),
}
NEED_TOOLS = (
    "call_as_text", "stop_with_calls", "finish_without_calls", "malformed_arguments", "glued_token", "undeclared_tool",
    "schema_violation", "duplicate_ids", "id_format", "missing_index", "index_reused", "name_repeated",
    "arguments_object", "arguments_missing",
)  # fmt: skip
REQUESTS: dict[str, list[Request]] = {
    **{name: [TOOLS] for name in NEED_TOOLS},
    "restarted_ids": [HISTORY], "history_contract": [HISTORY],
    "choice_ignored": [asked(TOOLS, tool_choice=choice) for choice in ("none", "required", NAMED)],
    "parallel_ignored": [asked(TOOLS, parallel_tool_calls=False)],
    "logprobs_ignored": [replace(HELLO, top_logprobs=1)],
}  # fmt: skip
"""What must be asked for the fault to be possible; else `HELLO`."""

CERTAIN = [
    (fault.name, form, request)
    for fault in CATALOGUE
    for form in ("stream", "whole")
    if form in fault.forms
    for request in REQUESTS.get(fault.name, [HELLO])
]


@dataclass
class Asker:
    """Asks a server directly."""

    server: ReplayServer
    heartbeat: Heartbeat
    clock: SystemClock = field(default_factory=SystemClock)

    async def __call__(self, url: str, requests: Sequence[Request]) -> list[Exchange]:
        endpoint = Endpoint(name="lab/one", provider="lab", base_url=url, model=MODEL)
        client = http_client(endpoint, None, self.clock, self.heartbeat, Limits(first_byte_s=20, stall_s=20))
        found = [decode(await client.send(request)) for request in requests]
        await client.aclose()
        return found


@asynccontextmanager
async def serving(*scripts: Script) -> AsyncIterator[Asker]:
    clock = SystemClock()
    async with ReplayServer(scripts) as server, Heartbeat(clock).beating() as heartbeat:
        yield Asker(server, heartbeat)


@pytest.mark.parametrize(("name", "form", "request_"), CERTAIN, ids=[f"{name}-{form}" for name, form, _ in CERTAIN])
async def test_certain_kinds(name: str, form: str, request_: Request) -> None:
    request = replace(request_, stream=form == "stream")
    clean = WITH_LOGPROBS if name == "logprobs_ignored" else CLEAN
    async with serving(clean[form]) as ask, FaultProxy(ask.server.url, name) as proxy:
        direct = (await ask(ask.server.url, [request]))[0]
        spoilt = (await ask(proxy.url, [request]))[0]
    if request.extra.get("tool_choice", "none") == "none":
        assert faults(direct, OPENAI) == ()
    assert faults(spoilt, OPENAI) == (name,)
    assert proxy.counts == {name: 1}


@pytest.mark.parametrize("name", ["context_cut", "template_drift"])
@pytest.mark.parametrize("form", ["stream", "whole"])
async def test_prompt_counts(name: str, form: str) -> None:
    """Golden counts what the clean endpoint counts."""
    usage = {"prompt_tokens": 120, "completion_tokens": 6, "total_tokens": 126}
    frames = chunk({"content": TEXT}) + chunk(finish="stop") + counts(usage) + DONE
    clean = {"stream": script(frames, "text/event-stream"), "whole": one_object({"content": TEXT}, usage=usage)}
    request = replace(HELLO, stream=form == "stream")
    async with serving(clean[form]) as ask, FaultProxy(ask.server.url, name) as proxy:
        assert faults((await ask(ask.server.url, [request]))[0], OPENAI, golden_prompt=120) == ()
        assert faults((await ask(proxy.url, [request]))[0], OPENAI, golden_prompt=120) == (name,)


async def test_stream_differs() -> None:
    calls = [call()]
    streaming = one_stream({"content": "Let me see."}, {"tool_calls": [{"index": 0, **calls[0]}]}, finish="tool_calls")
    whole = one_object({"content": "Let me see.", "tool_calls": calls}, "tool_calls")
    both = [replace(TOOLS, stream=True), replace(TOOLS, stream=False)]
    async with serving(streaming, whole) as ask, FaultProxy(ask.server.url, "stream_differs") as proxy:
        direct, spoilt = await ask(ask.server.url, both), await ask(proxy.url, both)
    assert find_in_pair(direct[0], direct[1], OPENAI) is None
    found = find_in_pair(spoilt[0], spoilt[1], OPENAI)
    assert found is not None
    assert found.name == "stream_differs"
    assert proxy.counts == {"stream_differs": 1, "not_carried": 1}


def effort(size: int) -> Script:
    usage = {"prompt_tokens": 5, "completion_tokens": size + 2, "total_tokens": size + 7,
             "completion_tokens_details": {"reasoning_tokens": size}}  # fmt: skip
    return one_object({"content": TEXT, "reasoning_content": "hm"}, usage=usage)


PLAIN = [
    replace(HELLO, prompt_id=f"p{at}", stream=False, messages=({"role": "user", "content": f"Weigh thing {at}."},))
    for at in range(12)
]
BOOKED = one_object({"tool_calls": [call(DECLARED, name="book")]}, "tool_calls")
BEHAVIOUR: dict[str, tuple[list[Request], list[Script]]] = {
    **{name: (PLAIN, [CLEAN["whole"]]) for name in
       ("repetition_loop", "cap_ignored", "other_model", "quantised", "language_mixing")},
    "stop_ignored": ([replace(one, extra={"stop": ["END"]}) for one in PLAIN], [CLEAN["whole"]]),
    "sampling_ignored": ([replace(one, temperature=1.5) for one in PLAIN for _ in range(3)],
                         [one_object({"content": f"{TEXT} {n}"}) for n in range(3)]),
    "reordered_schema": ([replace(one, tools=(ORDERED,)) for one in PLAIN], [BOOKED]),
    "effort_ignored": ([replace(one, extra={"reasoning_effort": level}) for one in PLAIN for level in ("low", "high")],
                       [effort(20), effort(60)]),
    "cache_changes": ([replace(one, temperature=0.0, prompt_id=f"{one.prompt_id}-{state}")
                       for state in ("cold", "warm") for one in PLAIN], [CLEAN["whole"]]),
}  # fmt: skip
"""What is asked, and the answers of the server in turn."""


@pytest.mark.parametrize("name", BEHAVIOUR)
async def test_behavioural_kinds(name: str) -> None:
    requests, scripts = BEHAVIOUR[name]
    async with serving(*scripts) as ask, FaultProxy(ask.server.url, name) as proxy:
        reference = await ask(ask.server.url, requests)
        ask.server.requests.clear()  # the answers begin again
        spoilt = await ask(proxy.url, requests)
    assert [one.name for one in behaviours(spoilt, reference)] == [name]
    assert behaviours(reference, reference) == ()


def test_every_fault_of_the_catalogue_can_be_put_in() -> None:
    tested = {name for name, _, _ in CERTAIN} | set(BEHAVIOUR) | {"context_cut", "template_drift", "stream_differs"}
    assert tested == set(BY_NAME)
    assert all(callable(injector(name)) for name in BY_NAME)


async def test_the_rate_is_kept_and_follows_from_the_seed() -> None:
    """Binomial(60, 0.3): between 7 and 30 with probability 1 - 1e-3; a client sees in a header what it got."""

    async def names(seed: int) -> list[bool]:
        async with (
            serving(CLEAN["stream"]) as ask,
            FaultProxy(ask.server.url, "bad_finish", rate=0.3, seed=seed) as proxy,
        ):
            return [bool(faults(one, OPENAI)) for one in await ask(proxy.url, [HELLO] * 60)]

    first = await names(1)
    assert 7 <= sum(first) <= 30
    assert first == await names(1)
    assert first != await names(2)


async def test_what_cannot_carry_the_fault_goes_through_unchanged() -> None:
    async with serving(CLEAN["stream"]) as ask, FaultProxy(ask.server.url, "undeclared_tool") as proxy:
        assert faults((await ask(proxy.url, [HELLO]))[0], OPENAI) == ()
        assert proxy.counts == {"not_carried": 1}


async def test_an_endpoint_that_is_not_there_is_a_502() -> None:
    async with serving(CLEAN["stream"]) as ask, FaultProxy("http://127.0.0.1:9/v1", "bad_finish") as proxy:
        assert (await ask(proxy.url, [HELLO]))[0].status == 502


def test_an_unknown_fault_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match="call_as_text"):
        FaultProxy("http://127.0.0.1:9/v1", "nothing")

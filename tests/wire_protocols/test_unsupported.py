"""Nothing is dropped in silence. Oracle: the definition: a field changes the body, or it is reported; never neither."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from monitor.types import Capture, Endpoint, Request
from monitor.wire.dialects import dialects
from monitor.wire.dispatch import decode, dialects_by_protocol, protocols, speaker
from monitor.wire.speaker import SAYABLE, Speaker

ALL = [(kind, name) for kind, names in sorted(dialects_by_protocol().items()) for name in names]
TOOL = {"type": "function", "function": {"name": "weigh", "parameters": {"type": "object"}}}
HELLO = ({"role": "user", "content": "weigh it"},)
PLAIN = Request(prompt_id="p", messages=(), max_tokens=32)
SET: dict[str, Any] = {
    "messages": HELLO, "prompt": "A pound", "echo": True, "temperature": 0.5, "top_p": 0.5, "seed": 0,
    "top_logprobs": 2, "tools": (TOOL,), "reasoning_off": True, "max_tokens": 33, "extra": {"n": 2},
}  # fmt: skip


def spoken(kind: str, dialect: str | None = None) -> Speaker:
    return speaker(
        Endpoint(name="a/b", provider="a", base_url="http://h", model="m", protocol=kind, dialect=dialect, upstream="u")
    )  # fmt: skip


def test_every_field_that_can_be_asked_is_covered() -> None:
    assert set(SET) == set(SAYABLE)


@pytest.mark.parametrize("name", SAYABLE)
@pytest.mark.parametrize(("kind", "dialect"), ALL)
def test_a_field_is_said_or_reported(kind: str, dialect: str, name: str) -> None:
    protocol = spoken(kind, dialect)
    asked = replace(PLAIN, **{name: SET[name]})
    said = protocol.body(asked, "m") != protocol.body(PLAIN, "m")
    assert said is not (name in protocol.unsupported(asked))
    assert protocol.departures(asked) == (() if said else (f"not_sent:{name}",))
    assert protocol.refused(replace(asked, optional=())) == protocol.unsupported(asked)
    assert protocol.refused(replace(asked, optional=(name,))) == ()


@pytest.mark.parametrize(("kind", "dialect"), ALL)
def test_the_body_is_an_object_whatever_is_asked(kind: str, dialect: str) -> None:
    asked = replace(PLAIN, **SET)
    body = orjson.loads(spoken(kind, dialect).body(asked, "m"))
    assert body["model"] == "m"
    assert body["stream"] is True
    assert orjson.loads(spoken(kind, dialect).body(replace(asked, stream=False), "m"))["stream"] is False


@pytest.mark.parametrize(("kind", "dialect"), ALL)
def test_top_logprobs_never_exceed_what_the_dialect_accepts(kind: str, dialect: str) -> None:
    protocol = spoken(kind, dialect)
    most = protocol.wording.max_top_logprobs
    asked = replace(PLAIN, top_logprobs=1000)
    if "top_logprobs" in protocol.unsupported(asked):
        assert b"logprobs" not in protocol.body(asked, "m")
    elif most is None:
        assert protocol.said(asked).top_logprobs == 1000
        assert protocol.departures(asked) == ()
    else:
        assert protocol.said(asked).top_logprobs == most
        assert protocol.departures(asked) == ("lowered:top_logprobs",)


def test_seed_and_thinking_are_preferences_and_the_rest_requirements() -> None:
    asked = replace(PLAIN, **{**SET, "prompt": None, "echo": False, "extra": {}})
    assert spoken("anthropic_messages").unsupported(asked) == ("seed", "top_logprobs")
    assert spoken("anthropic_messages").refused(asked) == ("top_logprobs",)
    assert spoken("openai_chat", "groq").refused(asked) == ("top_logprobs",)
    assert spoken("openai_chat").refused(asked) == ()
    assert spoken("openai_chat").departures(asked) == ("not_sent:reasoning_off",)
    assert spoken("openai_completions").refused(asked) == ("messages", "tools")
    assert spoken("openai_responses").refused(replace(asked, max_tokens=1)) == ("max_tokens",)


def test_a_prompt_and_messages_say_the_same_thing() -> None:
    both = replace(PLAIN, messages=HELLO, prompt="<user>weigh it")
    for kind in protocols():
        assert spoken(kind).unsupported(both) == ()
    assert orjson.loads(spoken("openai_completions").body(both, "m"))["prompt"] == "<user>weigh it"
    assert orjson.loads(spoken("openai_chat").body(both, "m"))["messages"] == list(HELLO)
    assert orjson.loads(spoken("ollama_generate").body(both, "m"))["prompt"] == "<user>weigh it"


UNSAYABLE: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,"}}]},
    {"role": "user", "content": "a", "name": "ann"},
    {"role": "assistant", "content": "a", "reasoning_content": "b"},
    {"role": "_input", "content": "a"},
    {"role": "tool", "content": "a"},
]


@pytest.mark.parametrize("message", UNSAYABLE)
def test_messages_without_a_form_are_reported(message: dict[str, Any]) -> None:
    asked = replace(PLAIN, messages=(*HELLO, message))
    for kind in ("openai_responses", "anthropic_messages", "ollama_chat", "ollama_generate"):
        assert spoken(kind).refused(asked) == ("messages",)
        orjson.loads(spoken(kind).body(asked, "m"))
    assert spoken("openai_chat").refused(asked) == ()


def test_conversations_without_a_form_are_reported() -> None:
    late_system = replace(PLAIN, messages=(*HELLO, {"role": "system", "content": "be exact"}))
    assert spoken("anthropic_messages").refused(late_system) == ("messages",)
    damaged = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":'}}
    broken = replace(PLAIN, messages=(*HELLO, {"role": "assistant", "content": None, "tool_calls": [damaged]}))
    assert spoken("anthropic_messages").refused(broken) == ("messages",)
    assert spoken("ollama_chat").refused(broken) == ("messages",)
    assert spoken("openai_responses").refused(broken) == ()
    two_turns = replace(PLAIN, messages=HELLO + HELLO)
    assert spoken("ollama_generate").refused(two_turns) == ("messages",)


def test_tools_without_a_form_are_reported() -> None:
    custom = replace(PLAIN, messages=HELLO, tools=({"type": "custom", "custom": {"name": "f"}},))
    assert spoken("openai_responses").refused(custom) == ("tools",)
    assert spoken("anthropic_messages").refused(custom) == ("tools",)
    strict = {"type": "function", "function": {"name": "weigh", "strict": True}}
    assert spoken("anthropic_messages").refused(replace(custom, tools=(strict,))) == ("tools",)
    assert spoken("openai_responses").refused(replace(custom, tools=(strict,))) == ()


@pytest.mark.parametrize("kind", sorted(protocols()))
def test_what_was_not_sent_decodes_to_its_own_outcome(kind: str) -> None:
    exchange = decode(Capture(protocol=kind, end="unsupported", error="no word for it", departures=("not_sent:tools",)))
    assert exchange.outcome == "unsupported_param"
    assert (exchange.error, exchange.flags) == ("no word for it", ("not_sent:tools",))


def test_dialects_speak_protocols_that_exist_and_name_their_source() -> None:
    for dialect in dialects().values():
        assert set(dialect.wordings) <= set(protocols())
        assert dialect.wordings
        assert dialect.source
    assert all(plain.dialect.wordings[kind] is plain.wording for kind, plain in protocols().items())

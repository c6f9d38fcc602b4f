"""What is sent. Oracle: bodies written by hand from the references of the protocols and dialects."""

from dataclasses import replace
from typing import Any

import orjson
import pytest

from monitor.types import Endpoint, Request
from monitor.wire.dispatch import dialects_by_protocol, speaker
from monitor.wire.speaker import Speaker

TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "weigh", "description": "Weighs.", "parameters": {"type": "object", "properties": {}}},
}
CHAT = Request(
    prompt_id="p", messages=({"role": "system", "content": "Be exact."}, {"role": "user", "content": "Weigh it."}),
    max_tokens=32, temperature=0.0, top_p=0.5, seed=7, top_logprobs=3, tools=(TOOL,), reasoning_off=True,
    optional=("seed", "top_logprobs", "tools", "reasoning_off"),
)  # fmt: skip
RAW = Request(prompt_id="p", messages=(), prompt="A pound of", max_tokens=8, echo=True, top_logprobs=5, seed=7)
SAID = {"role": "system", "content": "Be exact."}, {"role": "user", "content": "Weigh it."}
HISTORY = (
    {"role": "user", "content": [{"type": "text", "text": "Weigh "}, {"type": "text", "text": "both."}]},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "weigh", "arguments": '{"item":"anvil"}'}},
        {"id": "c2", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "9 kg"},
    {"role": "tool", "tool_call_id": "c2", "content": "none"},
    {"role": "assistant", "content": "Nine."},
    {"role": "user", "content": "Sure?"},
)
MORE = (
    {"role": "assistant", "content": "Again.", "tool_calls": [
        {"id": "c3", "type": "function", "function": {"name": "weigh", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c3", "content": "9 kg"},
)  # fmt: skip


def spoken(protocol: str, dialect: str | None = None, upstream: str | None = None) -> Speaker:
    endpoint = Endpoint(name="a/b", provider="a", base_url="http://h/v1", model="m", protocol=protocol,
                        dialect=dialect, upstream=upstream)  # fmt: skip
    return speaker(endpoint)


def body(protocol: str, dialect: str | None, request: Request, upstream: str | None = None) -> Any:
    return orjson.loads(spoken(protocol, dialect, upstream).body(request, "m"))


def chat(cap: str = "max_tokens", **more: Any) -> dict[str, Any]:
    """The chat body of `CHAT` without what dialects differ in."""
    plain = {"model": "m", "messages": list(SAID), cap: 32, "stream": True, "temperature": 0.0, "top_p": 0.5}
    return {**plain, "tools": [TOOL], **more}


LOGPROBS: dict[str, Any] = {"logprobs": True, "top_logprobs": 3}
USAGE: dict[str, Any] = {"stream_options": {"include_usage": True}}
TEMPLATE: dict[str, Any] = {"chat_template_kwargs": {"enable_thinking": False, "thinking": False}}
PIN: dict[str, Any] = {"provider": {"order": ["acme/fp8"], "allow_fallbacks": False, "require_parameters": True}}


CHAT_BODIES: list[tuple[str | None, dict[str, Any]]] = [
    (None, chat(**LOGPROBS, **USAGE, seed=7)),
    ("openai", chat(**LOGPROBS, **USAGE, seed=7)),
    ("azure", chat(**LOGPROBS, **USAGE, seed=7)),
    ("tgi", chat(**LOGPROBS, **USAGE, seed=7)),
    ("deepseek", chat(**LOGPROBS, **USAGE, thinking={"type": "disabled"})),
    ("mistral", chat(random_seed=7)),
    ("groq", chat("max_completion_tokens", **USAGE, seed=7, reasoning_effort="none")),
    ("openrouter", chat(**LOGPROBS, **USAGE, **PIN, seed=7, reasoning={"enabled": False})),
    ("vllm", chat(**LOGPROBS, **USAGE, **TEMPLATE, seed=7)),
    ("sglang", chat(**LOGPROBS, **USAGE, **TEMPLATE, seed=7)),
    ("llama_cpp", chat(**LOGPROBS, **USAGE, **TEMPLATE, seed=7)),
    ("tensorrt_llm", chat(**LOGPROBS, **USAGE, **TEMPLATE, seed=7)),
]


@pytest.mark.parametrize(("dialect", "want"), CHAT_BODIES)
def test_chat(dialect: str | None, want: dict[str, Any]) -> None:
    assert body("openai_chat", dialect, CHAT, "acme/fp8" if dialect == "openrouter" else None) == want


def test_every_dialect_of_chat_is_tested() -> None:
    assert {dialect for dialect, _ in CHAT_BODIES} - {None} == set(dialects_by_protocol()["openai_chat"])


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        (None, {"logprobs": 5, "echo": True}), ("openai", {"logprobs": 5, "echo": True}),
        ("azure", {"logprobs": 5, "echo": True}), ("vllm", {"logprobs": 5, "echo": True}),
        ("sglang", {"logprobs": 5, "echo": True}), ("tensorrt_llm", {"logprobs": 5, "echo": True}),
        ("llama_cpp", {"logprobs": 5}), ("openrouter", {"logprobs": 5, **PIN}), ("tgi", {}),
    ],
)  # fmt: skip
def test_completions(dialect: str | None, more: dict[str, Any]) -> None:
    upstream = "acme/fp8" if dialect == "openrouter" else None
    plain = {"model": "m", "prompt": "A pound of", "max_tokens": 8, "stream": True, "seed": 7, **USAGE}
    assert body("openai_completions", dialect, RAW, upstream) == {**plain, **more}


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        (None, {"include": ["message.output_text.logprobs"], "top_logprobs": 3}),
        ("vllm", {"include": ["message.output_text.logprobs"], "top_logprobs": 3}),
        ("tensorrt_llm", {}),
    ],
)
def test_responses(dialect: str | None, more: dict[str, Any]) -> None:
    tool = {"type": "function", **TOOL["function"]}
    plain = {"model": "m", "input": list(SAID), "max_output_tokens": 32, "stream": True, "store": False}
    want = {**plain, "temperature": 0.0, "top_p": 0.5, "tools": [tool], **more}
    assert body("openai_responses", dialect, CHAT) == want


def test_responses_history() -> None:
    got = body("openai_responses", None, replace(CHAT, messages=HISTORY))["input"]
    assert got == [
        {"role": "user", "content": "Weigh both."},
        {"type": "function_call", "call_id": "c1", "name": "weigh", "arguments": '{"item":"anvil"}'},
        {"type": "function_call", "call_id": "c2", "name": "weigh", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "9 kg"},
        {"type": "function_call_output", "call_id": "c2", "output": "none"},
        {"role": "assistant", "content": "Nine."},
        {"role": "user", "content": "Sure?"},
    ]


@pytest.mark.parametrize(
    ("dialect", "more"),
    [
        (None, {"thinking": {"type": "disabled"}}), ("deepseek", {"thinking": {"type": "disabled"}}),
        ("vllm", {}), ("llama_cpp", {}),
    ],
)  # fmt: skip
def test_anthropic(dialect: str | None, more: dict[str, Any]) -> None:
    assert body("anthropic_messages", dialect, CHAT) == {
        "model": "m", "system": "Be exact.", "messages": [{"role": "user", "content": "Weigh it."}], "max_tokens": 32,
        "stream": True, "temperature": 0.0, "top_p": 0.5,
        "tools": [{"name": "weigh", "description": "Weighs.", "input_schema": TOOL["function"]["parameters"]}],
        **more,
    }  # fmt: skip


def test_anthropic_history() -> None:
    got = body("anthropic_messages", None, replace(CHAT, messages=HISTORY))
    assert "system" not in got
    assert got["messages"] == [
        {"role": "user", "content": "Weigh both."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "weigh", "input": {"item": "anvil"}},
            {"type": "tool_use", "id": "c2", "name": "weigh", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "9 kg"},
            {"type": "tool_result", "tool_use_id": "c2", "content": "none"}]},
        {"role": "assistant", "content": "Nine."},
        {"role": "user", "content": "Sure?"},
    ]  # fmt: skip


def test_anthropic_keeps_rounds_of_calls_apart() -> None:
    got = body("anthropic_messages", None, replace(CHAT, messages=HISTORY[:4] + MORE))["messages"]
    again = [{"type": "text", "text": "Again."}, {"type": "tool_use", "id": "c3", "name": "weigh", "input": {}}]
    result = [{"type": "tool_result", "tool_use_id": "c3", "content": "9 kg"}]
    assert got[3:] == [{"role": "assistant", "content": again}, {"role": "user", "content": result}]


def test_ollama_chat() -> None:
    assert body("ollama_chat", None, CHAT) == {
        "model": "m", "messages": list(SAID), "stream": True, "think": False, "tools": [TOOL], **LOGPROBS,
        "options": {"num_predict": 32, "temperature": 0.0, "top_p": 0.5, "seed": 7},
    }  # fmt: skip


def test_ollama_chat_history() -> None:
    got = body("ollama_chat", None, replace(CHAT, messages=HISTORY))["messages"]
    assert got[1] == {
        "role": "assistant", "content": "", "tool_calls": [
            {"id": "c1", "function": {"name": "weigh", "arguments": {"item": "anvil"}}},
            {"id": "c2", "function": {"name": "weigh", "arguments": {}}}],
    }  # fmt: skip
    assert got[2] == {"role": "tool", "content": "9 kg", "tool_name": "weigh", "tool_call_id": "c1"}


def test_ollama_generate() -> None:
    options = {"num_predict": 32, "temperature": 0.0, "top_p": 0.5, "seed": 7}
    asked = {"stream": True, "think": False, **LOGPROBS, "options": options}
    turn = {"model": "m", "prompt": "Weigh it.", "system": "Be exact.", **asked}
    assert body("ollama_generate", None, CHAT) == turn
    raw = replace(CHAT, prompt="A pound of")
    assert body("ollama_generate", None, raw) == {"model": "m", "prompt": "A pound of", "raw": True, **asked}


def test_where_to_and_with_which_key() -> None:
    assert spoken("openai_chat").url("http://h:1/v1/", "m") == "http://h:1/v1/chat/completions"
    azure = spoken("openai_chat", "azure").url("https://x.openai.azure.com", "gpt 4/b")
    assert azure == (
        "https://x.openai.azure.com/openai/deployments/gpt%204%2Fb/chat/completions?api-version=2024-10-21"
    )
    paths = {kind: spoken(kind).url("http://h", "m")[len("http://h") :] for kind in dialects_by_protocol()}
    assert paths == {
        "openai_chat": "/chat/completions", "openai_completions": "/completions", "openai_responses": "/responses",
        "anthropic_messages": "/messages", "ollama_chat": "/chat", "ollama_generate": "/generate",
    }  # fmt: skip
    assert spoken("openai_chat").headers("k") == {"authorization": "Bearer k"}
    assert spoken("openai_chat").headers(None) == {}
    assert spoken("openai_chat", "azure").headers("k") == {"api-key": "k"}
    assert spoken("anthropic_messages").headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}
    assert spoken("anthropic_messages", "vllm").headers("k")["authorization"] == "Bearer k"

"""The golden engine against llama.cpp, an engine that shares no code with it, on the same weights."""

import json
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from jobs.golden import ensure_gguf
from monitor.ports import ScoreTask
from monitor.types import Request
from reference.engine import TorchEngine
from reference.tokenizer import GoldenTokenizer
from tests.lab.server import llama_server

pytestmark = [pytest.mark.lab, pytest.mark.golden]

QUESTIONS = [
    "Name three rivers.", "What is 12 times 12?", "Why do leaves fall?", "Write a line of Python that prints 7.",
    "Who painted the Mona Lisa?", "Translate 'thank you' to German.", "What do cats eat?", "Say something kind.",
    "How far is the moon?", "What is a bridge for?",
]  # fmt: skip
STRINGS = [
    "plain words", "12 boats and 345 stones", "3.14159e-10", "2026-02-03T04:05:06Z", "naïve café", "日本語のテキスト",
    "Привет, мир", "مرحبا", "🙂👩‍👩‍👧‍👦🏳️‍🌈", "def f(x):\n\treturn x ** 2  # no\n", "<|im_start|>user\nhi<|im_end|>\n",
    "  leading and   inner  spaces ", "\n\n\ttabs\r\n", "it's we'll I'D 'quoted'", "a\u0301 e\u0301 combining",
    "½ ² ٣ Ⅷ 七",
    "https://example.org/a?b=c&d=%20", "\u200bzero\u200dwidth\ufeff", "x" * 70, '{"json": [1, 22, null]}',
]  # fmt: skip
CONVERSATIONS: list[list[dict[str, Any]]] = [
    [{"role": "user", "content": "hi"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "12 🙂 <b>"}],
    [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b\n"}, {"role": "user", "content": " c "}],
]


def post(address: str, path: str, body: Any) -> Any:
    reply = httpx.post(address + path, json=body, timeout=120)
    assert reply.status_code == 200, reply.text
    return reply.json()


@pytest.mark.parametrize("text", STRINGS)
def test_token_ids_are_those_of_llama_cpp(text: str, f16_server: str, golden_engine: TorchEngine) -> None:
    found = post(f16_server, "/tokenize", {"content": text, "add_special": False, "parse_special": True})
    assert golden_engine.tokenizer.encode(text) == found["tokens"]
    assert golden_engine.tokenizer.decode(found["tokens"]) == text


@pytest.mark.parametrize("messages", CONVERSATIONS)
def test_prompts_are_those_of_llama_cpp(
    messages: list[dict[str, Any]], f16_server: str, golden_engine: TorchEngine
) -> None:
    found = post(f16_server, "/apply-template", {"messages": messages})
    assert golden_engine.tokenizer.render(messages) == found["prompt"]


def ask(address: str, question: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    body = {
        "model": "SmolLM2-135M-Instruct",
        "messages": [{"role": "user", "content": question}],
        "max_tokens": 16,
        "temperature": 0,
        "logprobs": True,
        "top_logprobs": 20,
    }
    answer = post(address, "/v1/chat/completions", body)
    return answer["usage"], answer["choices"][0]["logprobs"]["content"]


def differences(address: str, engine: TorchEngine) -> tuple[list[float], list[float]]:
    """Absolute logprob differences, endpoint to golden: of each golden favourite, and of the whole top 20."""
    tokenizer: GoldenTokenizer = engine.tokenizer
    tasks, listed = [], []
    for question in QUESTIONS:
        usage, entries = ask(address, question)
        prompt = tokenizer.prompt_ids([{"role": "user", "content": question}])
        assert usage["prompt_tokens"] == len(prompt)
        ids = [tokenizer.token_id(entry["token"], entry["bytes"]) for entry in entries]
        assert ids == [entry["id"] for entry in entries]
        tops = [{top["id"]: top["logprob"] for top in entry["top_logprobs"]} for entry in entries]
        listed += tops
        tasks.append(
            ScoreTask(
                prompt_ids=tuple(prompt),
                completion_ids=tuple(entry["id"] for entry in entries),
                gather=tuple(tuple(top) for top in tops),
            )
        )
    scores = engine.score(tasks)
    gathered = [row for one in scores for row in one.gathered]
    favourites = [int(row[0]) for one in scores for row in one.top_ids]
    best = [float(row[0]) for one in scores for row in one.top_logprobs]
    first = [abs(top[who] - lp) for top, who, lp in zip(listed, favourites, best, strict=True) if who in top]
    pairs = zip(listed, gathered, strict=True)
    every = [float(np.abs(np.array(list(top.values())) - row).mean()) for top, row in pairs]
    return first, every


def test_f32_agrees_within_two_thousandths(f32_server: str, golden_engine: TorchEngine) -> None:
    first, every = differences(f32_server, golden_engine)
    assert len(first) >= 100
    assert np.mean(first) <= 0.002
    assert np.mean(every) <= 0.004  # the tail of the top 20 is less certain: its logprobs are near -10


def test_f16_is_faithful(f16_server: str, golden_engine: TorchEngine) -> None:
    first, _ = differences(f16_server, golden_engine)
    assert len(first) >= 100
    assert np.mean(first) <= 0.005


def test_other_weights_are_not(golden_home: Path, golden_engine: TorchEngine) -> None:
    """The power of the two tests above: Q4_0 differs by far more than their bounds."""
    with llama_server(ensure_gguf(golden_home, "Q4_0", print)) as address:
        first, _ = differences(address, golden_engine)
    assert np.mean(first) > 0.1


async def test_golden_answers_greedily_what_f32_answers(f32_server: str, golden_engine: TorchEngine) -> None:
    """A whole answer where no position is a near tie."""
    question = "What is the capital of France?"
    request = Request(
        prompt_id="p", messages=({"role": "user", "content": question},), max_tokens=16, temperature=0
    )
    choice = json.loads((await golden_engine.send(request)).body)["choices"][0]
    _, entries = ask(f32_server, question)
    assert choice["token_ids"] == [entry["id"] for entry in entries]
    assert choice["finish_reason"] == "stop"

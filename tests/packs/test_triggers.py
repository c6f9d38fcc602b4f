"""How often golden answers call a tool. Oracle: the script that the fake golden model follows."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jobs.pack_file import summary, write_pack
from monitor.errors import UsageError
from monitor.types import Request
from reference.answer import Answer, Step
from reference.engines.pack import PackEngine
from reference.pack import Pack, PackSample
from reference.pack_making import record
from reference.pack_triggers import triggers_of
from reference.tool_parsers.families import parse
from tests.fakes.golden import EOS, FakeScorer
from tests.packs.opened import read_pack

TOOL = {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": {}}}}
CALL = '<tool_call>{"name": "find", "arguments": {}}</tool_call>'
SCRIPTS = {
    "weather": [CALL, "It rains.", "Let me see." + CALL, "<tool_call>{not json</tool_call>", "<tool_call>{", CALL],
    "hello": ["Hi!", "Hello.", "Hi!", "Hey", "Hi there", "Hi!"],
}
CALLED = {"weather": (True, False, True, True, True, True), "hello": (False,) * 6}
PARSED = {"weather": (True, False, True, False, False, True), "hello": (False,) * 6}


def request(name: str, *, tools: bool = True) -> Request:
    return Request(prompt_id=name, messages=({"role": "user", "content": name},), max_tokens=3,
                   tools=(TOOL,) if tools else ())  # fmt: skip


class Golden(FakeScorer):
    """Draws what the script says for the prompt, each answer with its end token unless it is cut."""

    def sample(
        self, prompts: Sequence[Sequence[int]], *, n: int, max_tokens: int, seed: int, temperature: float = 1.0
    ) -> list[list[Answer]]:
        return [[self._answer(ids, at, max_tokens) for at in range(n)] for ids in prompts]

    def _answer(self, ids: Sequence[int], at: int, max_tokens: int) -> Answer:
        text = self.tokenizer.decode(ids)
        script = next(lines for name, lines in SCRIPTS.items() if name in text)
        said = [*self.tokenizer.encode(script[at]), EOS][:max_tokens]
        steps = tuple(Step(token_id=token, logprob=-1.0) for token in said)
        return Answer(prompt_ids=tuple(ids), steps=steps, finish="stop" if said[-1] == EOS else "length")


def made(golden: Any, asked: Sequence[Request], *, n: int = 6, family: str | None = "hermes") -> Pack:
    return record(
        golden, asked, folder=Path("nowhere"), created_at=datetime(2026, 11, 29, tzinfo=UTC), about={}, template={},
        top_k=5, n_samples=n, sample_tokens=200, seed=1, variants=(), varied=lambda _: nullcontext(),
        report=lambda _: None, family=family,
    )  # fmt: skip


def test_calls_are_counted_per_prompt(tmp_path: Path) -> None:
    """A call that cannot be read was begun all the same: the decision is one thing, its writing another."""
    golden = Golden()
    pack = made(golden, [request("weather"), request("hello")])
    assert [(one.prompt, one.k, one.n) for one in pack.triggers] == [(0, 5, 6), (1, 0, 6)]
    assert {one.family for one in pack.triggers} == {"hermes"}
    assert [one.called for one in pack.triggers] == list(CALLED.values())
    assert [one.parsed for one in pack.triggers] == list(PARSED.values())
    write_pack(pack, tmp_path / "p")
    again = read_pack(tmp_path / "p")
    assert again.triggers == pack.triggers
    assert summary(tmp_path / "p")["n"]["triggers"] == 2


def test_the_pack_engine_tells_them_by_request() -> None:
    golden = Golden()
    pack = made(golden, [request("weather"), request("hello", tools=False)])
    tokenizer: Any = golden.tokenizer
    engine = PackEngine(pack, tokenizer)
    found = engine.trigger(request("weather"))
    assert found is not None
    assert (found.k, found.n) == (5, 6)
    assert engine.trigger(request("hello")) is None
    assert engine.trigger(request("never asked")) is None


def test_without_tools_or_samples_nothing_is_recorded(tmp_path: Path) -> None:
    for pack in (
        made(Golden(), [request("hello", tools=False)], family=None),
        made(Golden(), [request("weather")], n=0, family=None),
    ):
        assert pack.triggers == ()
        write_pack(pack, tmp_path / "p")
        assert "triggers" not in summary(tmp_path / "p")["n"]
        assert read_pack(tmp_path / "p").triggers == ()


@pytest.mark.parametrize(("family", "words"), [(None, "need the family"), ("elvish", "'elvish' is not one of")])
def test_a_family_is_needed_before_anything_is_computed(family: str | None, words: str) -> None:
    golden = Golden()
    with pytest.raises(UsageError, match=words):
        made(golden, [request("weather")], family=family)
    assert golden.n_calls == 0


def test_an_end_token_that_ends_a_call_stays() -> None:
    """gpt-oss ends its answer with the token that ends the call; without it the call would look cut."""

    class Harmony:
        eos_ids = frozenset({9})

        def decode(self, ids: Sequence[int]) -> str:
            pieces = {1: "<|channel|>commentary to=functions.find<|message|>", 2: "{}", 9: "<|call|>"}
            return "".join(pieces[one] for one in ids)

    tokenizer: Any = Harmony()
    prompts: Any = [request("weather")]
    none = np.zeros(0)
    samples = [
        PackSample(prompt=0, ids=ids, finish="stop", logprob=none, rank=none.astype(np.int64), entropy_nats=none)
        for ids in ((1, 2, 9), (1, 2))
    ]
    (found,) = triggers_of(tokenizer, prompts, samples, "harmony")
    assert (found.called, found.parsed) == ((True, True), (True, False))


@pytest.mark.parametrize(
    ("text", "called", "readable"),
    [
        ("plain", False, False),
        (CALL, True, True),
        (CALL + "and" + CALL, True, True),
        ('<tool_call>{"name": "find"}</tool_call>', True, False),
        ("<tool_call>broken</tool_call>", True, False),
    ],
)
def test_what_counts_as_a_call(text: str, called: bool, readable: bool) -> None:
    found = parse(text, "hermes")
    assert (found.called, found.readable) == (called, readable)

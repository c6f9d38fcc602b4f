"""A real vLLM with a parser of tool calls: its capability matrix, and calls that break their schema by themselves.

Oracles: what vLLM documents for each parameter; `jsonschema` on the raw arguments. Zero-shot, the small model calls
only where it is forced to, and then writes schemas in place of arguments.
Not part of a plain test run: ``make test-vllm`` installs vLLM and runs this.
"""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from jsonschema import Draft202012Validator

from jobs.golden import MODEL
from jobs.vllm import Vllm
from monitor.tools.graded import grade
from monitor.tools.layers import was_cut
from probes.tools import Tools
from tests.engines.matrix import asked, matrix
from tests.tools.made import WEATHER

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1200)]

TEMPLATE = Path(__file__).parents[1] / "golden" / "tools" / "tools_hermes.jinja"
OPTIONS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--chat-template", str(TEMPLATE))
CITIES = ("Lisbon", "Paris", "Tokyo", "Cairo", "Madrid", "Berlin")

KEPT = frozenset({
    "max_tokens", "stop", "n", "seed", "temperature", "top_p", "logprobs", "json_schema", "tool_choice_required",
    "context", "model_echo", "usage",
})  # fmt: skip
"""What vLLM does, and this model lets show; the rest is unknown: the model does not think, nor call by itself."""


class Served(NamedTuple):
    """A running vLLM."""

    url: str


@pytest.fixture(scope="module")
def served(golden_home: Path, golden_folder: Path) -> Iterator[Served]:
    python = golden_home / "vllm" / "bin" / "python"
    if not python.exists():
        pytest.fail("vLLM is not installed; run tests/engines/install_vllm.sh", pytrace=False)
    log = golden_home / "logs" / "test-vllm-tools.log"
    server = Vllm.start(python, golden_folder, log, dtype="float32", options=OPTIONS)
    try:
        yield Served(asyncio.run(server.url()))
    finally:
        server.stop()


async def test_what_vllm_does_is_kept_and_nothing_is_called_ignored_or_refused(served: Served) -> None:
    found = await matrix(served.url, MODEL)
    assert {name for name, one in found.items() if one.standing == "kept"} == KEPT
    assert {one.standing for name, one in found.items() if name not in KEPT} == {"unknown"}


async def test_forced_calls_that_break_their_schema_are_blamed_on_the_schema_and_cut_ones_on_nobody(
    served: Served, tmp_path: Path
) -> None:
    suite = tmp_path / "required.jsonl"
    rows = [
        {"messages": [{"role": "user", "content": f"What is the weather in {city}?"}], "tools": [WEATHER],
         "tool_choice": "required", "expect": "call", "max_tokens": 64}
        for city in CITIES
    ]  # fmt: skip
    suite.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    record = await asked(served.url, MODEL, Tools(suite=str(suite), n=None, temperature=0.0))
    graded = [one for exchange in record.exchanges if (one := grade(exchange)) is not None]
    broken = 0
    for one in graded:
        arguments = [call.arguments for call in one.exchange.choice.tool_calls]
        print(f"  {one.case.case_id} {one.form}: {one.exchange.choice.finish} {arguments}")  # noqa: T201  # for people
        if was_cut(one.exchange):
            assert one.faults == ()
        else:
            bad = any(not Draft202012Validator(WEATHER["function"]["parameters"]).is_valid(json.loads(text))
                      or not isinstance(json.loads(text), dict) for text in arguments)  # fmt: skip
            assert {fault.layer for fault in one.faults} == ({"schema"} if bad else set())
            broken += bad
    assert len(graded) == 2 * len(CITIES)
    print(f"  {broken} broken, {sum(was_cut(one.exchange) for one in graded)} cut of {len(graded)}")  # noqa: T201
    assert broken

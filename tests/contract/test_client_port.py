"""One contract for everything behind the port `Client` on the golden side: an answer decodes like an endpoint's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.ports import Client
from monitor.types import Request
from monitor.wire.dispatch import decode
from tests.contract.test_scorer import Setting, pack, setting, torch_engine
from tests.engines.golden_server import CHAT_ONLY, VLLM, serving

__all__ = ["setting"]


def remote(kind: str, answers: Any) -> Callable[[Setting, ExitStack, Path], Any]:
    def connect(setting: Setting, stack: ExitStack, tmp_path: Path) -> Any:
        url = stack.enter_context(serving(setting.oracle, answers))
        return scorer_for(
            ReferenceConfig(engine=kind, path=str(setting.folder), url=url, model="tiny")  # type: ignore[arg-type]
        )

    return connect


ENGINES: dict[str, Callable[[Setting, ExitStack, Path], Any]] = {
    "torch": torch_engine, "server": remote("server", VLLM), "official": remote("official", CHAT_ONLY), "pack": pack,
}  # fmt: skip


@pytest.fixture(params=ENGINES)
async def client(
    request: pytest.FixtureRequest, setting: Setting, tmp_path: Path
) -> AsyncIterator[Client]:
    with ExitStack() as stack:
        made = await asyncio.to_thread(ENGINES[request.param], setting, stack, tmp_path)
        try:
            yield made
        finally:
            await made.aclose()
            await made.aclose()


async def test_the_contract(client: Client, setting: Setting) -> None:
    """Greedy answers are golden's own, complete, stamped, with usage and the alternatives that were asked for."""
    wanted = [
        Request(prompt_id=one.prompt_id, messages=one.messages, max_tokens=4, temperature=0.0, top_logprobs=2,
                stream=False)
        for one in setting.asked
    ]  # fmt: skip
    for request, task in zip(wanted, setting.tasks, strict=True):
        capture = await client.send(request)
        assert capture.request == request
        assert capture.sent
        assert capture.started_at is not None
        assert capture.t0_ns is not None
        assert capture.eof_ns is not None
        assert capture.t0_ns <= capture.eof_ns
        exchange = decode(capture)
        assert exchange.outcome in {"ok", "ok_length"}
        assert exchange.usage is not None
        assert exchange.usage["prompt_tokens"] == len(task.prompt_ids)
        assert exchange.usage["completion_tokens"] == len(task.completion_ids)
        entries = exchange.choice.logprobs
        assert entries is not None
        assert tuple(entry.id for entry in entries) == task.completion_ids
        assert all(len(entry.top) == 2 for entry in entries)
        assert exchange.choice.content == setting.oracle.tokenizer.visible_text(task.completion_ids)

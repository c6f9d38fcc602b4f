"""One contract for everything behind the port `Scorer`. Oracle: the weights of the tiny model in this process."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers
from numpy.testing import assert_allclose

from jobs.pack_file import write_pack
from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from monitor.ports import Scorer, ScoreTask
from monitor.types import Request
from reference.engine import TorchEngine
from reference.pack_making import record
from tests.engines.golden_server import ECHOING, LLAMA_CPP, VLLM, serving
from tests.reference.tiny import save_tiny

TOP_K = 3


@dataclass(frozen=True, slots=True)
class Setting:
    """The weights as oracle, their folder, and what golden itself answers to two prompts."""

    oracle: TorchEngine
    folder: Path
    tasks: tuple[ScoreTask, ...]
    asked: tuple[Request, ...]


@pytest.fixture(scope="module")
def setting(tmp_path_factory: pytest.TempPathFactory) -> Setting:
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return setting_of(save_tiny(tmp_path_factory.mktemp("tiny") / "model"))


def setting_of(folder: Path) -> Setting:
    """Load the weights in `folder`, and let them answer."""
    oracle = TorchEngine.load(folder, device="cpu", threads=1)
    texts = [f"{n} boats" for n in range(9)]
    requests = [Request(prompt_id=text, messages=({"role": "user", "content": text},), max_tokens=4) for text in texts]
    prompts = [oracle.tokenizer.prompt_ids(request.messages) for request in requests]
    drawn = oracle.sample(prompts, n=1, max_tokens=4, seed=0, temperature=0.0)
    # Two to which the random weights say something that can be read.
    spoken = [at for at, (one,) in enumerate(drawn) if oracle.tokenizer.visible_text([x.token_id for x in one.steps])]
    asked, greedy = tuple(requests[at] for at in spoken[:2]), [drawn[at] for at in spoken[:2]]
    tasks = [
        ScoreTask(
            prompt_ids=answer.prompt_ids,
            completion_ids=tuple(step.token_id for step in answer.steps),
            gather=tuple((step.token_id, 9) for step in answer.steps),
        )
        for (answer,) in greedy
    ]
    return Setting(oracle, folder, tuple(tasks), asked)


def torch_engine(setting: Setting, stack: ExitStack, tmp_path: Path) -> Scorer:
    return scorer_for(ReferenceConfig(path=str(setting.folder), device="cpu"))


def pool(setting: Setting, stack: ExitStack, tmp_path: Path) -> Scorer:
    engine: Any = scorer_for(ReferenceConfig(path=str(setting.folder), device="cpu", workers=2))
    stack.callback(engine.close)
    return engine  # type: ignore[no-any-return]


def server(answers: Any) -> Callable[[Setting, ExitStack, Path], Scorer]:
    def connect(setting: Setting, stack: ExitStack, tmp_path: Path) -> Scorer:
        url = stack.enter_context(serving(setting.oracle, answers))
        engine: Any = scorer_for(ReferenceConfig(engine="server", path=str(setting.folder), url=url, model="tiny"))
        stack.callback(lambda: asyncio.run(engine.aclose()))
        return engine  # type: ignore[no-any-return]

    return connect


def pack(setting: Setting, stack: ExitStack, tmp_path: Path) -> Scorer:
    made = record(
        setting.oracle, setting.asked, folder=setting.folder, created_at=datetime(2026, 11, 29, tzinfo=UTC), about={},
        template={}, top_k=256, n_samples=0, sample_tokens=1, seed=0, variants=(), varied=lambda _: nullcontext(),
        report=lambda _: None,
    )  # fmt: skip
    write_pack(made, tmp_path / "tiny.pack")
    return scorer_for(ReferenceConfig(engine="pack", path=str(tmp_path / "tiny.pack")))


ENGINES = {
    "torch": torch_engine, "pool": pool, "vllm": server(VLLM), "echo": server(ECHOING), "llama_cpp": server(LLAMA_CPP),
    "pack": pack,
}  # fmt: skip


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest, setting: Setting, tmp_path: Path) -> Iterator[Scorer]:
    with ExitStack() as stack:
        yield ENGINES[request.param](setting, stack, tmp_path)


def test_the_contract(engine: Scorer, setting: Setting) -> None:
    """All of it at once: starting an engine costs more than asking it."""
    keeps_the_contract(engine, setting, atol=1e-5)


def keeps_the_contract(engine: Scorer, setting: Setting, *, atol: float) -> None:
    """Raise AssertionError where `engine` differs from the oracle by more than `atol`, or in kind.

    Order of results, shapes, logprobs and ranks of golden's own tokens, descending alternatives, NaN and -1 (never a
    number) for what is not known, an answer without tokens, identity, tokenizer.
    """
    empty = ScoreTask(prompt_ids=setting.tasks[0].prompt_ids, completion_ids=())
    tasks = [setting.tasks[1], empty, setting.tasks[0]]
    found, oracle = engine.score(tasks, top_k=TOP_K), setting.oracle.score(tasks, top_k=TOP_K)
    assert [len(one.logprob) for one in found] == [len(task.completion_ids) for task in tasks]
    assert len(found[1].gathered) == 0
    for task, one, true in zip(tasks, found, oracle, strict=True):
        n = len(task.completion_ids)
        assert one.rank.shape == one.entropy_nats.shape == (n,)
        assert one.top_ids.shape == one.top_logprobs.shape == (n, TOP_K)
        assert_allclose(one.logprob, true.logprob, atol=atol)
        assert set(one.rank.tolist()) <= {0, -1}
        known = ~np.isnan(one.top_logprobs)
        assert_allclose(one.top_logprobs[known], true.top_logprobs[known], atol=atol)
        assert (one.top_ids[known] == true.top_ids[known]).all()
        assert (one.top_ids[~known] == -1).all()
        told = ~np.isnan(one.entropy_nats)
        assert_allclose(one.entropy_nats[told], true.entropy_nats[told], atol=atol)
        assert [len(row) for row in one.gathered] == [len(ids) for ids in task.gather]
        for row, expected in zip(one.gathered, true.gathered, strict=True):
            seen = ~np.isnan(row)
            assert seen[0]
            assert_allclose(row[seen], expected[seen], atol=atol)
    assert engine.fingerprint.tokenizer_sha256 == setting.oracle.fingerprint.tokenizer_sha256
    assert engine.fingerprint.weights_sha256 == setting.oracle.fingerprint.weights_sha256
    messages = setting.asked[0].messages
    assert engine.tokenizer.prompt_ids(messages) == setting.oracle.tokenizer.prompt_ids(messages)
    again = engine.score(tasks, top_k=TOP_K)
    assert all(np.array_equal(one.logprob, other.logprob) for one, other in zip(found, again, strict=True))


def test_an_official_api_refuses_with_the_remedy(setting: Setting) -> None:
    url = "https://api.vendor.example/v1"
    config = ReferenceConfig(engine="official", path=str(setting.folder), url=url, model="m")
    with pytest.raises(GoldenError, match=r"cannot score.*torch, a server of your own, or a pack"):
        scorer_for(config).score(setting.tasks)

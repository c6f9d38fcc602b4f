"""Servers of one's own as golden engine. Oracle: the same weights scored in this process."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jobs.references import HttpAsk, scorer_for
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError
from monitor.ports import ScoreTask
from reference.engine import TorchEngine
from reference.engines.server import ServerEngine
from tests.engines.golden_server import CHAT_ONLY, ECHOING, LLAMA_CPP, VLLM, serving
from tests.reference.test_engine_score import some_tasks

SERVERS = {"prompt_logprobs": VLLM, "echo": ECHOING, "one_token": LLAMA_CPP}


@contextmanager
def connected(folder: Path, url: str) -> Iterator[ServerEngine]:
    engine = scorer_for(ReferenceConfig(engine="server", path=str(folder), url=url, model="tiny"))
    assert isinstance(engine, ServerEngine)
    try:
        yield engine
    finally:
        asyncio.run(engine.aclose())


@pytest.mark.parametrize("name", SERVERS)
def test_what_a_server_tells_is_what_the_weights_say(name: str, tiny_engine: TorchEngine, tiny_folder: Path) -> None:
    tasks, top_k = some_tasks(4), 2 if name == "echo" else 5  # most tokens of the tiny model are pieces of characters
    expected = tiny_engine.score(tasks, top_k=top_k)
    with serving(tiny_engine, SERVERS[name]) as url, connected(tiny_folder, url) as engine:
        assert engine.style.name == name
        found = engine.score(tasks, top_k=top_k)
    n_known = 0
    for one, other in zip(expected, found, strict=True):
        assert_allclose(other.logprob, one.logprob, atol=1e-5)
        known = ~np.isnan(other.top_logprobs)
        assert_allclose(other.top_logprobs[known], one.top_logprobs[known], atol=1e-5)
        assert (other.top_ids[known] == one.top_ids[known]).all()
        assert (other.top_ids[~known] == -1).all()
        told = other.rank >= 0
        assert (other.rank[told] == one.rank[told]).all()
        for gathered, oracle in zip(other.gathered, one.gathered, strict=True):
            seen = ~np.isnan(gathered)
            assert_allclose(gathered[seen], oracle[seen], atol=1e-5)
        n_known += int(known.sum())
    n_positions = sum(len(task.completion_ids) for task in tasks)
    assert 0 < n_known <= top_k * n_positions if name == "echo" else n_known == top_k * n_positions


def test_one_token_servers_are_asked_for_the_whole_vocabulary_where_needed(
    tiny_engine: TorchEngine, tiny_folder: Path
) -> None:
    """Nothing that was asked for is unknown, though the first question is for 256 of about 340 tokens."""
    tasks = some_tasks(3, n_gather=40)
    with serving(tiny_engine, LLAMA_CPP) as url, connected(tiny_folder, url) as engine:
        found = engine.score(tasks)
    assert not any(np.isnan(row).any() for scores in found for row in scores.gathered)


def test_a_server_without_logprobs_of_given_tokens_is_refused(tiny_engine: TorchEngine, tiny_folder: Path) -> None:
    with (
        serving(tiny_engine, CHAT_ONLY) as url,
        pytest.raises(GoldenError, match=r"no logprobs of given tokens.*vLLM"),
        connected(tiny_folder, url),
    ):
        pass


def test_a_server_that_splits_text_otherwise_is_refused(tiny_engine: TorchEngine, tiny_folder: Path) -> None:
    def other_tokens(_: TorchEngine, body: Mapping[str, Any]) -> Any:
        return {"tokens": [1, 2, 3]}

    with (
        serving(tiny_engine, {**VLLM, "/tokenize": other_tokens}) as url,
        pytest.raises(GoldenError, match="other tokens than the golden tokenizer"),
        connected(tiny_folder, url),
    ):
        pass


def test_a_server_that_is_gone_is_an_error_with_its_address(tiny_engine: TorchEngine) -> None:
    with serving(tiny_engine, VLLM) as url:
        pass
    with closing(HttpAsk(url, None)) as ask, pytest.raises(GoldenError, match=r"127\.0\.0\.1.*golden server running"):
        ask("/v1/completions", {})


def test_a_refusal_is_told_in_the_servers_words(tiny_engine: TorchEngine) -> None:
    with (
        serving(tiny_engine, VLLM) as url,
        closing(HttpAsk(url, None)) as ask,
        pytest.raises(GoldenError, match=r"HTTP 400.*missing"),
    ):
        ask("/v1/completions", {"model": "tiny"})


def test_an_answer_of_another_length_is_an_error(tiny_engine: TorchEngine, tiny_folder: Path) -> None:
    def short(_: TorchEngine, body: Mapping[str, Any]) -> Any:
        n = 2 if len(body["prompt"]) == 2 else 1
        entry = {str(body["prompt"][-1]): {"logprob": -1.0, "rank": 1}}
        return {"choices": [{"prompt_logprobs": [None, entry][:n]}]}

    with (
        serving(tiny_engine, {**VLLM, "/v1/completions": short}) as url,
        connected(tiny_folder, url) as engine,
        pytest.raises(GoldenError, match="tells 1 prompt logprobs of 3 tokens"),
    ):
        engine.score([ScoreTask(prompt_ids=(1, 2), completion_ids=(3,))])


def test_the_official_api_cannot_score(tiny_folder: Path) -> None:
    url = "https://api.vendor.example/v1"
    reference = ReferenceConfig(engine="official", path=str(tiny_folder), url=url, model="m")
    engine = scorer_for(reference)
    assert engine.tokenizer.encode("river")
    with pytest.raises(GoldenError, match=r"official API cannot score.*pack"):
        engine.score(some_tasks(1))


def test_fingerprints_say_who_was_believed(tiny_folder: Path, tmp_path: Path, tiny_engine: TorchEngine) -> None:
    """With weights at hand they are hashed; without, the address stands in their place."""
    url = "https://api.vendor.example/v1"
    bare = tmp_path / "bare"
    bare.mkdir()
    for path in tiny_folder.iterdir():
        if path.suffix != ".safetensors" and not path.name.startswith("."):
            (bare / path.name).write_bytes(path.read_bytes())
    full, said = (
        scorer_for(ReferenceConfig(engine="official", path=str(folder), url=url, model="m")).fingerprint
        for folder in (tiny_folder, bare)
    )
    own = tiny_engine.fingerprint
    assert full.weights_sha256 == own.weights_sha256
    assert said.weights_sha256 == f"declared:m@{url}"
    assert full.tokenizer_sha256 == said.tokenizer_sha256 == own.tokenizer_sha256
    assert full.template_sha256 == said.template_sha256 == own.template_sha256
    assert len({full.digest, said.digest, own.digest}) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"engine": "server"}, "needs `url` and `model`"),
        ({"engine": "torch", "url": "http://127.0.0.1:1/v1"}, "asks no `url`"),
    ],
)
def test_an_address_belongs_to_what_asks_it(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ReferenceConfig(path="x", **changes)

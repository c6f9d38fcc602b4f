"""A pack as golden engine. Oracle: the engine that recorded it, on the same questions."""

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jobs.alignment import align
from jobs.audit_questions import known_prompts
from monitor.errors import GoldenError, UsageError
from monitor.ports import ScoreTask
from monitor.wire.dispatch import decode
from probes.prompt_pool import pool_prompts
from reference.engine import TorchEngine
from reference.engines.pack import PackEngine
from reference.pack import Pack
from tests.packs.conftest import ASKED


@pytest.fixture
def engine(tiny_pack: Pack, tiny_engine: TorchEngine) -> PackEngine:
    return PackEngine(tiny_pack, tiny_engine.tokenizer)


def greedy_task(pack: Pack, prompt: int = 0) -> ScoreTask:
    path = max((one for one in pack.positions if one.prompt == prompt), key=lambda one: len(one.path))
    return ScoreTask(prompt_ids=pack.prompts[prompt].ids, completion_ids=(*path.path, int(path.top_ids[0])))


def test_the_golden_answer_is_scored_as_by_the_weights(
    engine: PackEngine, tiny_engine: TorchEngine, tiny_pack: Pack
) -> None:
    task = greedy_task(tiny_pack)
    task = replace(task, gather=tuple((token, 5) for token in task.completion_ids))
    (found,), (oracle,) = engine.score([task], top_k=9), tiny_engine.score([task], top_k=9)
    assert_allclose(found.logprob, oracle.logprob, atol=1e-5)
    assert (found.rank == oracle.rank).all()
    assert_allclose(found.entropy_nats, oracle.entropy_nats, atol=1e-5)
    assert (found.top_ids == oracle.top_ids).all()
    for row, expected in zip(found.gathered, oracle.gathered, strict=True):
        known = ~np.isnan(row)
        assert known[0]
        assert_allclose(row[known], expected[known], atol=1e-5)


def test_an_answer_is_known_up_to_its_first_other_token(
    engine: PackEngine, tiny_engine: TorchEngine, tiny_pack: Pack
) -> None:
    """The second token is golden's second choice; what follows it was never recorded."""
    golden = greedy_task(tiny_pack)
    second = next(one for one in tiny_pack.positions if one.prompt == 0 and one.path == golden.completion_ids[:1])
    answer = (golden.completion_ids[0], int(second.top_ids[1]), 77, 78)
    task = ScoreTask(prompt_ids=golden.prompt_ids, completion_ids=answer)
    (found,), (oracle,) = engine.score([task], top_k=3), tiny_engine.score([task], top_k=3)
    assert_allclose(found.logprob[:2], oracle.logprob[:2], atol=1e-5)
    assert found.rank.tolist() == [0, 1, -1, -1]
    assert np.isnan(found.logprob[2:]).all()
    assert np.isnan(found.top_logprobs[2:]).all()
    assert (found.top_ids[2:] == -1).all()


def test_recorded_samples_have_their_scores(engine: PackEngine, tiny_engine: TorchEngine, tiny_pack: Pack) -> None:
    for sample in tiny_pack.samples:
        task = ScoreTask(prompt_ids=tiny_pack.prompts[sample.prompt].ids, completion_ids=sample.ids)
        (found,), (oracle,) = engine.score([task]), tiny_engine.score([task])
        known = ~np.isnan(found.logprob)
        assert known.sum() >= len(sample.ids) - 1
        assert_allclose(found.logprob[known], oracle.logprob[known], atol=1e-5)


async def test_greedy_answers_are_given_and_decode_like_any(engine: PackEngine, tiny_engine: TorchEngine) -> None:
    request = replace(ASKED[1], temperature=0.0, top_logprobs=3)
    recorded, live = await engine.send(request), await tiny_engine.send(request)
    one, other = (json.loads(capture.body)["choices"][0] for capture in (recorded, live))
    assert one["token_ids"] == other["token_ids"]
    assert one["finish_reason"] == other["finish_reason"]
    assert decode(recorded).answered


async def test_what_was_not_recorded_is_said(engine: PackEngine) -> None:
    request = replace(ASKED[0], temperature=0.0)
    with pytest.raises(GoldenError, match="greedy answers only"):
        await engine.send(replace(request, temperature=1.0))
    with pytest.raises(GoldenError, match="not in this pack"):
        await engine.send(replace(request, messages=({"role": "user", "content": "other"},)))
    with pytest.raises(GoldenError, match="tokens of the answer, not 60"):
        await engine.send(replace(request, max_tokens=60))


async def test_views_tell_how_much_is_known(engine: PackEngine, tiny_pack: Pack) -> None:
    """A golden answer is viewed whole; one that leaves it is viewed in part, and the view says so."""
    exchange = decode(await engine.send(replace(ASKED[0], temperature=0.0, top_logprobs=3)))
    whole = align(exchange, engine.tokenizer)
    assert whole.task is not None
    view = whole.view(engine.score([whole.task])[0])
    assert len(view.positions) == len(whole.tokens.slots)
    assert view.problem is None
    assert all(position.golden_rank == 0 for position in view.positions)
    # The same pack without what follows the first token.
    short = replace(tiny_pack, positions=tuple(one for one in tiny_pack.positions if not one.path), samples=())
    part = whole.view(PackEngine(short, engine.tokenizer).score([whole.task])[0])
    assert len(part.positions) == 1
    assert part.problem == f"the golden side knows 1 of {len(whole.tokens.slots)} positions"


def test_recorded_samples_are_drawn_again(engine: PackEngine, tiny_pack: Pack) -> None:
    """Two answers of up to six tokens were recorded to each prompt."""
    prompts = [prompt.ids for prompt in tiny_pack.prompts]
    eos = engine.tokenizer.eos_ids
    drawn = engine.draw(prompts, n=2, max_tokens=6, seed=0)
    expected = [
        [[x for x in one.ids if x not in eos] for one in tiny_pack.samples if one.prompt == at] for at in range(3)
    ]
    assert drawn == expected
    short = engine.draw(prompts[1:2], n=1, max_tokens=2, seed=0)
    assert short == [[expected[1][0][:2]]]
    for n, length in ((3, 6), (2, 7)):
        with pytest.raises(GoldenError, match=rf"answers of {length} tokens to a prompt, not {n}; record it"):
            engine.draw(prompts, n=n, max_tokens=length, seed=0)
    with pytest.raises(GoldenError, match="holds 0 answers"):
        engine.draw([(1, 2, 3)], n=1, max_tokens=1, seed=0)


def test_an_audit_asks_the_prompts_of_the_pool_that_a_pack_has(tiny_pack: Pack, tiny_engine: TorchEngine) -> None:
    pool = pool_prompts(960, 0)
    other = replace(tiny_pack.prompts[0], prompt_id="pool-4")  # a name of the pool with other words
    same = tuple(replace(other, prompt_id=name, messages=pool[name]) for name in ("pool-9", "pool-2"))
    pack = replace(tiny_pack, prompts=(*tiny_pack.prompts, other, *same))
    assert known_prompts(PackEngine(pack, tiny_engine.tokenizer), "golden") == ("pool-9", "pool-2")
    assert known_prompts(tiny_engine, "golden") is None
    with pytest.raises(UsageError, match="reference golden: its pack holds no prompt that an audit asks"):
        known_prompts(PackEngine(tiny_pack, tiny_engine.tokenizer), "golden")

"""Records a pack with golden weights."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from monitor.ports import Scores, ScoreTask
from monitor.types import Request
from reference.answer import Answer
from reference.engines.local import LocalEngine
from reference.pack import FILES, Pack, PackDeviation, PackPosition, PackPrompt, PackSample
from reference.pack_triggers import known_family, triggers_of

_N_DEVIATIONS = 20
"""Alternatives of each position whose deviations are recorded: as many as APIs tell."""

Varied = Callable[[str], AbstractContextManager[None]]
"""Lets the engine compute with the weights of a named variant for the length of a context."""


def record(
    engine: LocalEngine,
    asked: Sequence[Request],
    *,
    folder: Path,
    created_at: datetime,
    about: Mapping[str, Any],
    template: Mapping[str, Any],
    top_k: int,
    n_samples: int,
    sample_tokens: int,
    seed: int,
    variants: Sequence[str],
    varied: Varied,
    report: Callable[[str], None],
    model: str | None = None,
    family: str | None = None,
) -> Pack:
    """Record what `engine` says to the requests `asked`.

    Parameters
    ----------
    engine : LocalEngine
        Golden weights.
    asked : Sequence
        What the probes ask; each is recorded along the greedy answer, as long as it wants it.
    folder : Path
        The golden folder, for the files that the pack carries.
    created_at : datetime
        Stamp of the pack.
    about : Mapping
        What people should know of it.
    template : Mapping
        Variables that the engine's template was given.
    top_k : int
        Most likely tokens to record at each position.
    n_samples, sample_tokens : int
        Answers to draw to each prompt, and their length.
    seed : int
        Decides the samples.
    variants : Sequence
        Names of variants whose deviations are predicted.
    varied : Callable
        Applies one of them.
    report : Callable
        Takes one line of progress.
    model : str, optional
        The name by which the pack is chosen among several.
    family : str, optional
        How the model writes tool calls (`reference.tool_parsers`). Compulsory where samples of prompts with tools are
        drawn: how often they call one is recorded.

    Raises
    ------
    GoldenError
        When a prompt cannot be rendered or scored.
    UsageError
        When there are samples of prompts with tools and `family` is none that is known.
    """
    prompts, lengths = _prompts(engine, asked)
    if n_samples and any(prompt.tools for prompt in prompts):
        known_family(family)
    report(f"{len(prompts)} prompts, greedy answers of up to {max(lengths)} tokens")
    tasks = _greedy(engine, prompts, lengths, seed=seed)
    scores = engine.score(tasks, top_k=top_k)
    samples = []
    if n_samples:
        report(f"{n_samples} samples of each prompt, up to {sample_tokens} tokens")
        samples = _samples(engine, prompts, n=n_samples, length=sample_tokens, seed=seed)
    deviations: list[PackDeviation] = []
    for name in variants:
        report(f"variant {name}")
        with varied(name):
            deviations += _deviations(engine, name, tasks, scores)
    return Pack(
        fingerprint=engine.fingerprint, model=model, created_at=created_at, about=about,
        top_k=scores[0].top_ids.shape[1], template=template,
        files={name: (folder / name).read_bytes() for name in FILES if (folder / name).exists()},
        prompts=tuple(prompts), positions=tuple(_positions(tasks, scores)), samples=tuple(samples),
        deviations=tuple(deviations), triggers=triggers_of(engine.tokenizer, prompts, samples, family),
    )  # fmt: skip


def _prompts(engine: LocalEngine, asked: Sequence[Request]) -> tuple[list[PackPrompt], list[int]]:
    """Prompts that differ in their tokens, and how many tokens of the greedy answer to each are wanted."""
    made = [
        PackPrompt(prompt_id=request.prompt_id, messages=request.messages, tools=request.tools,
                   ids=tuple(engine.tokenizer.prompt_ids(request.messages, request.tools)))
        for request in asked
    ]  # fmt: skip
    lengths: dict[tuple[int, ...], int] = {}
    for prompt, request in zip(made, asked, strict=True):
        lengths[prompt.ids] = max(request.max_tokens, lengths.get(prompt.ids, 0))
    prompts = list({prompt.ids: prompt for prompt in made}.values())
    return prompts, [lengths[prompt.ids] for prompt in prompts]


def _greedy(
    engine: LocalEngine, prompts: Sequence[PackPrompt], lengths: Sequence[int], *, seed: int
) -> list[ScoreTask]:
    """The greedy answers, those of one length together: one token of most prompts is enough."""
    tasks: dict[tuple[int, ...], ScoreTask] = {}
    for length in sorted(set(lengths)):
        ids = [prompt.ids for prompt, own in zip(prompts, lengths, strict=True) if own == length]
        for (answer,) in engine.sample(ids, n=1, max_tokens=length, seed=seed, temperature=0.0):
            tasks[answer.prompt_ids] = _task(answer)
    return [tasks[prompt.ids] for prompt in prompts]


def _task(answer: Answer) -> ScoreTask:
    return ScoreTask(prompt_ids=answer.prompt_ids, completion_ids=tuple(step.token_id for step in answer.steps))


def _positions(tasks: Sequence[ScoreTask], scores: Sequence[Scores]) -> list[PackPosition]:
    return [
        PackPosition(prompt=at, path=task.completion_ids[:t], entropy_nats=float(score.entropy_nats[t]),
                     top_ids=score.top_ids[t], top_logprobs=score.top_logprobs[t])
        for at, (task, score) in enumerate(zip(tasks, scores, strict=True))
        for t in range(len(task.completion_ids))
    ]  # fmt: skip


def _samples(
    engine: LocalEngine, prompts: Sequence[PackPrompt], *, n: int, length: int, seed: int
) -> list[PackSample]:
    drawn = engine.sample([prompt.ids for prompt in prompts], n=n, max_tokens=length, seed=seed)
    answers = [(at, answer) for at, row in enumerate(drawn) for answer in row]
    tasks = [_task(answer) for _, answer in answers]
    return [
        PackSample(prompt=at, ids=task.completion_ids, finish=answer.finish, logprob=score.logprob, rank=score.rank,
                   entropy_nats=score.entropy_nats)
        for (at, answer), task, score in zip(answers, tasks, engine.score(tasks, top_k=1), strict=True)
    ]  # fmt: skip


def _deviations(
    engine: LocalEngine, name: str, tasks: Sequence[ScoreTask], scores: Sequence[Scores]
) -> list[PackDeviation]:
    """Score the golden answers once more, now that the engine computes with the weights of variant `name`."""
    wanted = [
        ScoreTask(
            prompt_ids=task.prompt_ids, completion_ids=task.completion_ids,
            gather=tuple(tuple(int(x) for x in row[:_N_DEVIATIONS]) for row in score.top_ids),
        )
        for task, score in zip(tasks, scores, strict=True)
    ]  # fmt: skip
    found = engine.score(wanted, top_k=1)
    return [
        PackDeviation(variant=name, prompt=at, position=t, deviation=row - score.top_logprobs[t, : len(row)])
        for at, (other, score) in enumerate(zip(found, scores, strict=True))
        for t, row in enumerate(other.gathered)
    ]

"""Scoring and sampling with golden weights against plain transformers, interleaved, as ratios of one run.

``python -m benchmarks scoring`` takes a small size; ``python -m benchmarks.scoring 25 20 64`` the full one (prompts,
samples per prompt, tokens per sample).
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.report import Report, stdout
from jobs.golden import default_home, ensure_golden
from monitor.ports import ScoreTask
from reference.engine import TorchEngine
from reference.tokenizer import GoldenTokenizer

NAME = "scoring"
SIZE = (3, 20, 64)
THREADS = 2  # on a busy machine one thread is measured better: two wait for each other
PLAIN = ("one by one", "padded")
PADDED = 16  # sequences in one padded batch; more only cost memory
PROMPTS_AT_ONCE = 5
SAMPLED_PROMPTS = 2  # the plain loop takes a minute for each
WORDS = ("river", "bridge", "stone", "water", "light", "small", "wide", "narrow", "boat", "walks", "under", "near")
_RSS = "import sys; from benchmarks.scoring import peak_rss; print(peak_rss(*map(int, sys.argv[1:])))"


@dataclass(slots=True)
class Lap:
    """Seconds by name, summed over all rounds."""

    wall_s: dict[str, float] = field(default_factory=dict)
    cpu_s: dict[str, float] = field(default_factory=dict)

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        """Do `work` on the account of `name`."""
        wall, cpu = time.perf_counter(), time.process_time()
        result = work()
        self.wall_s[name] = self.wall_s.get(name, 0.0) + time.perf_counter() - wall
        self.cpu_s[name] = self.cpu_s.get(name, 0.0) + time.process_time() - cpu
        return result


def engine() -> TorchEngine:
    """The golden engine on the small real model."""
    return TorchEngine.load(golden(), device="cpu", threads=THREADS)


def golden() -> Path:
    """The golden folder."""
    import os  # noqa: PLC0415

    return ensure_golden(default_home(os.environ), print)


def prompts_of(n_tokens: int, n: int, tokenizer: GoldenTokenizer) -> list[tuple[int, ...]]:
    """`n` different conversations that the template makes `n_tokens` long."""
    found = []
    for at in range(n):
        rng, text = np.random.default_rng((n_tokens, at)), "Say"
        while len(ids := tokenizer.prompt_ids([{"role": "user", "content": text}])) < n_tokens:
            text += f" {rng.choice(WORDS)}"
        found.append(tuple(ids[:n_tokens]))
    return found


def made_tasks(n_tokens: int, size: Sequence[int], tokenizer: GoldenTokenizer) -> list[ScoreTask]:
    """Random answers: no two have a token in common but by chance."""
    n_prompts, n_samples, length = size
    rng = np.random.default_rng(9)
    return [
        ScoreTask(prompt_ids=prompt, completion_ids=tuple(int(x) for x in rng.integers(20, 40_000, length)))
        for prompt in prompts_of(n_tokens, n_prompts, tokenizer)
        for _ in range(n_samples)
    ]


@torch.inference_mode()
def one_by_one(model: Any, tasks: Sequence[ScoreTask]) -> list[np.ndarray[Any, Any]]:
    """The plain loop: one forward of the whole model for each sequence."""
    return [part for task in tasks for part in _forward(model, [task])]


@torch.inference_mode()
def in_padded_batches(model: Any, tasks: Sequence[ScoreTask]) -> list[np.ndarray[Any, Any]]:
    """The plain batch: whole sequences side by side."""
    return [part for batch in batched_list(tasks, PADDED) for part in _forward(model, batch)]


def batched_list(tasks: Sequence[ScoreTask], n: int) -> list[list[ScoreTask]]:
    """`tasks` in lists of `n`."""
    return [list(tasks[at : at + n]) for at in range(0, len(tasks), n)]


def _forward(model: Any, tasks: Sequence[ScoreTask]) -> list[np.ndarray[Any, Any]]:
    ids = torch.tensor([task.prompt_ids + task.completion_ids for task in tasks])  # all of one length
    logits = model(ids, attention_mask=torch.ones_like(ids)).logits
    start = len(tasks[0].prompt_ids)
    logprobs = torch.log_softmax(logits[:, start - 1 : -1], -1)
    return list(logprobs.gather(2, ids[:, start:, None])[:, :, 0].numpy())


def compare(golden_engine: TorchEngine, n_tokens: int, size: Sequence[int]) -> tuple[Lap, float]:
    """Score the same tasks three ways, a few prompts at a time in turns; return times and the largest difference."""
    model, tasks = golden_engine.weights.model, made_tasks(n_tokens, size, golden_engine.tokenizer)
    lap, worst = Lap(), 0.0
    one_by_one(model, tasks[:1])
    for block in batched_list(tasks, PROMPTS_AT_ONCE * size[1]):
        ours = lap.time("weighmaster", lambda block=block: golden_engine.score(block))
        plain = lap.time("one by one", lambda block=block: one_by_one(model, block))
        lap.time("padded", lambda block=block: in_padded_batches(model, block))
        worst = max(worst, *(float(np.abs(a.logprob - b).max()) for a, b in zip(ours, plain, strict=True)))
    return lap, worst


def compare_sampling(golden_engine: TorchEngine, size: Sequence[int]) -> tuple[Lap, dict[str, int]]:
    """Draw the same number of answers with transformers' generate, one by one, and with ours; one prompt in turns."""
    model, lap, n_tokens = golden_engine.weights.model, Lap(), {"generate": 0, "weighmaster": 0}
    n_prompts, n_samples, length = size
    options = {"do_sample": True, "top_k": 0, "top_p": 1.0, "temperature": 1.0, "max_new_tokens": length}
    torch.manual_seed(0)

    def plain(prompt: tuple[int, ...]) -> int:
        ids = torch.tensor([prompt])
        return sum(
            model.generate(ids, attention_mask=torch.ones_like(ids), **options).shape[1] - len(prompt)
            for _ in range(n_samples)
        )

    def ours(prompt: tuple[int, ...]) -> int:
        (answers,) = golden_engine.sample([prompt], n=n_samples, max_tokens=length, seed=1)
        return sum(len(answer.steps) for answer in answers)

    for prompt in prompts_of(37, n_prompts, golden_engine.tokenizer):
        n_tokens["weighmaster"] += lap.time("weighmaster", lambda prompt=prompt: ours(prompt))
        n_tokens["generate"] += lap.time("generate", lambda prompt=prompt: plain(prompt))
    return lap, n_tokens


def peak_rss(n_tokens: int, *size: int) -> int:
    """Score in this process, and nothing else; return the most memory that it took."""
    scorer = engine()
    scorer.score(made_tasks(n_tokens, size, scorer.tokenizer))
    return scorer.peak_memory_bytes()


def run(report: Report, size: Sequence[int] = SIZE) -> None:
    """Write the tables, each as soon as it is measured."""
    scorer = engine()
    title = f"{size[0]} prompts x {size[1]} answers x {size[2]} tokens, SmolLM2-135M in float32, {THREADS} threads"
    columns = ["prompt tokens", "s", "scored tokens/s", "x one by one", "x padded", "x one by one (CPU s)",
               "x padded (CPU s)", "max abs difference", "peak RSS GB"]  # fmt: skip
    for n_tokens in (256, 37):
        report.table(f"Scoring, {title}", columns, [_row(scorer, n_tokens, size)])
    lap, drawn = compare_sampling(scorer, (min(size[0], SAMPLED_PROMPTS), *size[1:]))
    speeds = {name: drawn[name] / lap.wall_s[name] for name in drawn}
    report.table(
        "Sampling at temperature 1, 37-token prompts", ["tokens/s", "generate, one by one", "x"],
        [[speeds["weighmaster"], speeds["generate"], speeds["weighmaster"] / speeds["generate"]]],
    )  # fmt: skip


def _row(scorer: TorchEngine, n_tokens: int, size: Sequence[int]) -> list[object]:
    lap, worst = compare(scorer, n_tokens, size)
    rss = subprocess.run(
        [sys.executable, "-c", _RSS, *map(str, (n_tokens, *size))], check=True, capture_output=True, text=True
    )
    own_s, own_cpu_s = lap.wall_s["weighmaster"], lap.cpu_s["weighmaster"]
    ratios = [lap.wall_s[name] / own_s for name in PLAIN] + [lap.cpu_s[name] / own_cpu_s for name in PLAIN]
    return [n_tokens, own_s, size[0] * size[1] * size[2] / own_s, *ratios, worst, int(rss.stdout.split()[-1]) / 1e9]


if __name__ == "__main__":
    run(stdout(), tuple(map(int, sys.argv[1:])) or SIZE)

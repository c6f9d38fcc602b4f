"""An engine whose weights are in this process: answers like an endpoint, and scores tokens by teacher forcing."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np

from monitor.ports import Scores, ScoreTask
from monitor.results import Fingerprint
from monitor.types import Capture, Request
from reference.answer import Answer, capture_of, chat_body
from reference.batches import check
from reference.generate import Drawer, generate, sample
from reference.scoring import score_batches
from reference.tokenizer import GoldenTokenizer


class Weights(Drawer, Protocol):
    """Weights that compute. ``busy`` is held while one computation must not be disturbed by another."""

    busy: threading.RLock
    n_vocab: int

    def release(self) -> None:
        """Give the memory back. Idempotent."""
        ...

    def peak_memory_bytes(self) -> int:
        """Return the most memory used so far."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class LocalEngine:
    """Golden weights that answer (port `Client`) and score (port `Scorer`).

    One computation at a time: calls from several tasks and threads wait for each other. ``fingerprint`` says what
    exactly computes, ``tokenizer`` holds the tokenizer and template that belong to the weights. At most
    ``batch_tokens`` tokens are read at once. ``progress`` gets (tasks scored, tasks in all) after each batch.
    """

    fingerprint: Fingerprint
    tokenizer: GoldenTokenizer
    name: str
    weights: Weights
    rng: np.random.Generator
    batch_tokens: int
    progress: Callable[[int, int], None]
    now: Callable[[], datetime]
    _worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "golden"))

    async def send(self, request: Request) -> Capture:
        """Answer `request` with a non-streamed chat completion, whatever ``stream`` says.

        `reference.generate.generate` says how, and when it raises. A cancelled call stops at the next token.
        """
        started_at, t0_ns = self.now(), time.perf_counter_ns()
        abandoned = threading.Event()
        try:
            body = await asyncio.get_running_loop().run_in_executor(self._worker, self._body, request, abandoned)
        finally:
            abandoned.set()
        return capture_of(
            request, body, model=self.name, started_at=started_at, t0_ns=t0_ns, done_ns=time.perf_counter_ns()
        )

    def close(self) -> None:
        """Stop the worker and give the memory of the weights back, after what is being computed. Idempotent."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        self.weights.release()

    async def aclose(self) -> None:
        """Do what `close` does, without blocking the loop."""
        await asyncio.to_thread(self.close)

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        """Score all `tasks` by teacher forcing; results in the order of `tasks`. Raises what `score_each` raises."""
        results = dict(self.score_each(tasks, top_k=top_k))
        return [results[at] for at in range(len(tasks))]

    def score_each(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> Iterator[tuple[int, Scores]]:
        """Score `tasks`; yield (index, scores) as they are done, in no particular order.

        Raises
        ------
        GoldenError
            When a task cannot be asked of this model, it computes NaN, or one sequence exceeds the device's memory.
        """
        check(tasks, n_vocab=self.weights.n_vocab, context=self.weights.context)
        top_k, n_done = min(top_k, self.weights.n_vocab), 0
        for batch in score_batches(self.weights, tasks, top_k=top_k, batch_tokens=self.batch_tokens):
            yield from batch
            n_done += len(batch)
            if batch:
                self.progress(n_done, len(tasks))

    def sample(
        self, prompts: Sequence[Sequence[int]], *, n: int, max_tokens: int, seed: int, temperature: float = 1.0,
        top_p: float = 1.0,
    ) -> list[list[Answer]]:  # fmt: skip
        """Draw `n` answers to each of `prompts` (token ids); `reference.generate.sample` says how."""
        asked = [ScoreTask(prompt_ids=tuple(ids), completion_ids=(0,)) for ids in prompts]
        check(asked, n_vocab=self.weights.n_vocab, context=self.weights.context)
        return sample(
            self.weights, prompts, n=n, max_tokens=max_tokens, seed=seed, temperature=temperature, top_p=top_p,
            eos_ids=self.tokenizer.eos_ids, batch_tokens=self.batch_tokens, progress=self.progress,
        )  # fmt: skip

    def draw(self, prompts: Sequence[Sequence[int]], *, n: int, max_tokens: int, seed: int) -> list[list[list[int]]]:
        """Draw as `sample` does, at temperature 1; return the token ids without the end token."""
        eos = self.tokenizer.eos_ids
        answers = self.sample(prompts, n=n, max_tokens=max_tokens, seed=seed)
        return [
            [[step.token_id for step in answer.steps if step.token_id not in eos] for answer in some]
            for some in answers
        ]

    def peak_memory_bytes(self) -> int:
        """Return the most memory used so far: of the device, or of the whole process where the CPU computes."""
        return self.weights.peak_memory_bytes()

    def _body(self, request: Request, abandoned: threading.Event) -> bytes:
        with self.weights.busy:
            answer = generate(self.weights, self.tokenizer, request, self.rng, abandoned=abandoned.is_set)
        return chat_body(answer, request, self.tokenizer, model=self.name, fingerprint=self.fingerprint.digest)

"""A recorded pack as golden engine: no weights, no torch. What was not recorded is not known, and that is said."""

import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from monitor.errors import GoldenError
from monitor.ports import Scores, ScoreTask
from monitor.results import Fingerprint
from monitor.types import Capture, Request
from reference.answer import Answer, Step, capture_of, chat_body
from reference.engines.known import NOTHING, Known, scores_of
from reference.pack import Pack, PackPosition, PackTrigger
from reference.tokenizer import GoldenTokenizer

_Place = tuple[tuple[int, ...], tuple[int, ...]]


class PackEngine:
    """Answers out of a pack (ports `Client` and `Scorer`)."""

    def __init__(self, pack: Pack, tokenizer: GoldenTokenizer) -> None:
        self.pack, self.tokenizer = pack, tokenizer
        self._positions: dict[_Place, PackPosition] = {
            (pack.prompts[one.prompt].ids, one.path): one for one in pack.positions
        }
        self._sampled = {place: known for sample in pack.samples for place, known in _along(pack, sample)}
        self._triggers = {pack.prompts[one.prompt].ids: one for one in pack.triggers}

    @property
    def fingerprint(self) -> Fingerprint:
        """The engine that recorded."""
        return self.pack.fingerprint

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        """Look all `tasks` up.

        An answer is known up to its first token that is neither golden's own nor that of a recorded sample, that token
        included; within a position, the recorded tokens are known.
        """
        return [
            scores_of(task, [self._known(task, at) for at in range(len(task.completion_ids))], top_k=top_k)
            for task in tasks
        ]

    async def send(self, request: Request) -> Capture:
        """Answer with the recorded greedy answer.

        Raises
        ------
        GoldenError
            When the prompt was not recorded, or not an answer of this kind.
        """
        t0_ns = time.perf_counter_ns()
        answer = self._answer(request, tuple(self.tokenizer.prompt_ids(request.messages, request.tools)))
        name = "pack"
        body = chat_body(answer, request, self.tokenizer, model=name, fingerprint=self.fingerprint.digest)
        started_at: datetime = self.pack.created_at
        return capture_of(
            request, body, model=name, started_at=started_at, t0_ns=t0_ns, done_ns=time.perf_counter_ns()
        )  # fmt: skip

    def draw(self, prompts: Sequence[Sequence[int]], *, n: int, max_tokens: int, seed: int) -> list[list[list[int]]]:
        """Return `n` recorded answers to each of `prompts`, cut after `max_tokens`, without the end token.

        They are what the golden weights drew once, whatever `seed` says.

        Raises
        ------
        GoldenError
            When the pack holds fewer for a prompt, or shorter ones.
        """
        del seed
        return [self._recorded(tuple(ids), n, max_tokens) for ids in prompts]

    def trigger(self, request: Request) -> PackTrigger | None:
        """How often golden answers to `request` call a tool, k of n samples; None where that was not recorded."""
        return self._triggers.get(tuple(self.tokenizer.prompt_ids(request.messages, request.tools)))

    def close(self) -> None:
        """Nothing is open."""

    async def aclose(self) -> None:
        """Nothing is open."""

    def _recorded(self, prompt_ids: tuple[int, ...], n: int, max_tokens: int) -> list[list[int]]:
        eos = self.tokenizer.eos_ids
        some = [one for one in self.pack.samples if self.pack.prompts[one.prompt].ids == prompt_ids]
        whole = [one.ids[:max_tokens] for one in some if len(one.ids) >= max_tokens or one.finish == "stop"]
        # Answers that were cut are the long ones: to leave them out would bias the rest.
        if len(whole) < n or len(whole) < len(some):
            raise GoldenError(
                f"this pack holds {len(whole)} answers of {max_tokens} tokens to a prompt, not {n}; record it with "
                "`weighmaster reference pack --samples --sample-tokens`"
            )
        return [[token for token in ids if token not in eos] for ids in whole[:n]]

    def _known(self, task: ScoreTask, at: int) -> Known:
        place = (task.prompt_ids, task.completion_ids[:at])
        recorded = self._positions.get(place)
        if recorded is None:
            return self._sampled.get((task.prompt_ids, task.completion_ids[: at + 1]), NOTHING)
        top = [(int(token), float(value)) for token, value in zip(recorded.top_ids, recorded.top_logprobs, strict=True)]
        return Known(top=top, entropy_nats=recorded.entropy_nats)

    def _answer(self, request: Request, prompt_ids: tuple[int, ...]) -> Answer:
        if request.temperature != 0:
            raise GoldenError(f"prompt {request.prompt_id}: a pack has greedy answers only; ask at temperature 0")
        if (prompt_ids, ()) not in self._positions:
            raise GoldenError(f"prompt {request.prompt_id}: not in this pack; `weighmaster reference pack` records one")
        steps: list[Step] = []
        path: tuple[int, ...] = ()
        while len(steps) < request.max_tokens and (at := self._positions.get((prompt_ids, path))) is not None:
            steps.append(_greedy(at, request.top_logprobs or 0))
            path = (*path, steps[-1].token_id)
        stopped = path[-1] in self.tokenizer.eos_ids
        if not stopped and len(steps) < request.max_tokens:
            raise GoldenError(
                f"prompt {request.prompt_id}: this pack has {len(steps)} tokens of the answer, not {request.max_tokens}"
            )
        return Answer(prompt_ids=prompt_ids, steps=tuple(steps), finish="stop" if stopped else "length")


def _greedy(position: PackPosition, n_top: int) -> Step:
    pairs = zip(position.top_ids[:n_top], position.top_logprobs[:n_top], strict=True)
    top = tuple((int(token), float(value)) for token, value in pairs)
    return Step(token_id=int(position.top_ids[0]), logprob=float(position.top_logprobs[0]), top=top)


def _along(pack: Pack, sample: Any) -> list[tuple[_Place, Known]]:
    """The recorded scores of the tokens of one sample, by what stands before and the token itself."""
    prompt = pack.prompts[sample.prompt].ids
    return [
        (
            (prompt, sample.ids[: at + 1]),
            Known(others={token: float(sample.logprob[at])}, rank=int(sample.rank[at]),
                  entropy_nats=float(sample.entropy_nats[at])),
        )
        for at, token in enumerate(sample.ids)
    ]  # fmt: skip

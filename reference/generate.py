"""The golden answer to a request: token by token, from whatever gives the logprobs of the next token."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from monitor.errors import GoldenError
from monitor.ports import Floats
from monitor.types import Request
from reference.answer import Answer, Step
from reference.sampling import draw
from reference.tokenizer import GoldenTokenizer


class Reader(Protocol):
    """A model that reads tokens and says what comes next."""

    @property
    def context(self) -> int | None:
        """Most tokens that it can read, where it says so."""
        ...

    def read(self, ids: Sequence[int], past: Any) -> tuple[Floats, Any]:
        """Read `ids` after `past` (None at first); return the logprobs (V,) of the next token, and the new past."""
        ...


def generate(
    model: Reader,
    tokenizer: GoldenTokenizer,
    request: Request,
    rng: np.random.Generator,
    *,
    abandoned: Callable[[], bool],
) -> Answer:
    """Return the answer to `request`; it ends at an end token, at ``max_tokens`` or where the context does.

    Temperature and top-p left open mean 1, as the OpenAI API defines. Logprobs are the model's own: neither is applied
    to them. `rng` serves requests without a seed; `abandoned` is asked before each token.

    Raises
    ------
    GoldenError
        When the template refuses the messages, or the prompt exceeds the context.
    """
    prompt_ids = tuple(tokenizer.prompt_ids(request.messages, request.tools))
    room = _room(model, request, len(prompt_ids))
    source = rng if request.seed is None else np.random.default_rng(request.seed)
    temperature = 1.0 if request.temperature is None else request.temperature
    top_p = 1.0 if request.top_p is None else request.top_p
    steps: list[Step] = []
    unread, past = prompt_ids, None
    while len(steps) < room and not abandoned():
        logprobs, past = model.read(unread, past)
        chosen = draw(logprobs, temperature=temperature, top_p=top_p, rng=source)
        steps.append(Step.of(chosen, logprobs, n_top=request.top_logprobs or 0))
        if chosen in tokenizer.eos_ids:
            return Answer(prompt_ids=prompt_ids, steps=tuple(steps), finish="stop")
        unread = (chosen,)
    return Answer(prompt_ids=prompt_ids, steps=tuple(steps), finish="length")


def _room(model: Reader, request: Request, n_prompt: int) -> int:
    if model.context is None:
        return request.max_tokens
    if n_prompt > model.context:
        raise GoldenError(
            f"prompt {request.prompt_id}: {n_prompt} tokens exceed the golden model's context of {model.context}"
        )
    return min(request.max_tokens, model.context - n_prompt + 1)

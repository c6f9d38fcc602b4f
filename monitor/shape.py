"""The shape of an answer: numbers only, made where the answer is, so that nothing of a text need travel or be kept."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monitor.shape_text import TextShape, foreign_share, scripts, text_shape
from monitor.types import Exchange, Request
from monitor.wire.usage import read_usage

LOOP_PIECES = 40
"""A cycle at the end of a text is a loop when it covers so many pieces, and half of the text or all up to the cap."""

STUCK_REP_4, STUCK_COMPRESSION = 0.5, 4.0
"""A cycle need not be exact ("item 17, item 18, ..."): so many 4-grams came before, and so well the text packs."""

FOREIGN_SHARE = 0.02
"""So many of the letters in a script that the question does not use, and one of them at least, are mixing."""

TRAFFIC = "traffic"
"""What runs of real traffic are called in place of a probe's kind. They are never beside a probe's in its verdict."""

DROPPED = "content_dropped"
"""Flag of an exchange whose text was dropped where it was seen; its signs are in flags ``shape:<sign>`` beside it."""

SIGNS = ("looped", "mixed", "empty", "only_reasoning")
"""Signs that need the text."""

CALLED = "called"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeEvent:
    """One answer in numbers. None where not known.

    ``tokens`` is the length of the answer, reasoning included; ``cut`` says that it ended by length, so that the whole
    would have been longer; ``called`` that it calls a tool. ``looped``, ``mixed``, ``empty`` and ``only_reasoning`` are
    signs; ``retried`` says that it was asked for more than once, by us or by a router that names several providers.
    ``prompt`` names what was asked, where that has a name: it is no text.
    """

    outcome: str
    prompt: str | None = None
    tokens: float | None = None
    cut: bool | None = None
    called: bool | None = None
    looped: bool | None = None
    mixed: bool | None = None
    empty: bool | None = None
    only_reasoning: bool | None = None
    retried: bool | None = None

    @property
    def told(self) -> bool:
        """Whether an answer came to its end, be it an empty one."""
        return self.outcome in {"ok", "ok_length", "empty"}


def event_of(exchange: Exchange) -> ShapeEvent:
    """Return the shape of `exchange`."""
    choice, usage, request = exchange.choice, read_usage(exchange.usage or {}), exchange.request
    told = exchange.answered or exchange.outcome == "empty"
    return ShapeEvent(
        outcome=exchange.outcome, prompt=request.prompt_id if request else None,
        tokens=exchange.tokens_golden if exchange.tokens_golden is not None else usage.generated,
        cut=None if choice.finish is None else choice.finish == "length",
        retried=exchange.attempt > 1 or len(exchange.providers) > 1, **(_signs(exchange) if told else {}),
    )  # fmt: skip


def _signs(exchange: Exchange) -> Mapping[str, bool | None]:
    """The signs of an answer; those of one whose text was dropped were noted then."""
    if DROPPED in exchange.flags:
        return {name: _noted(name, exchange.flags) for name in (*SIGNS, CALLED)}
    choice = exchange.choice
    question = question_of(exchange.request) if exchange.request else ""
    n_calls = len(choice.tool_calls)
    signs = text_signs(choice.content, choice.reasoning, question, n_calls=n_calls, finish=choice.finish)
    return {**signs, CALLED: n_calls > 0}


def _noted(sign: str, flags: Sequence[str]) -> bool | None:
    return True if f"shape:{sign}" in flags else False if f"shape:no_{sign}" in flags else None


def question_of(request: Request) -> str:
    """Return all words of a request, tool descriptions included."""
    texts = [str(message.get("content")) for message in request.messages]
    return "".join((*texts, *(str(tool) for tool in request.tools), request.prompt or ""))


def text_signs(
    content: str, reasoning: str, question: str, *, n_calls: int, finish: str | None
) -> Mapping[str, bool | None]:
    """Return the signs that follow from texts, which can then be dropped. Without a question mixing is not known."""
    shape = text_shape(content or reasoning)
    return {
        "looped": is_loop(shape, cut=finish == "length"),
        "mixed": foreign_share(scripts(content), scripts(question)) >= FOREIGN_SHARE if question else None,
        "empty": not (content or reasoning or n_calls),
        "only_reasoning": bool(reasoning) and not (content or n_calls) and finish != "length",
    }


def sign_flags(signs: Mapping[str, bool | None]) -> tuple[str, ...]:
    """Return the flags that carry `signs` without the text (see `DROPPED`)."""
    kept = [f"shape:{name if shown else f'no_{name}'}" for name, shown in signs.items() if shown is not None]
    return (DROPPED, *kept)


def is_loop(shape: TextShape, *, cut: bool) -> bool:
    """Whether a text of this shape is caught: in a cycle, or until the cap in words that hardly change."""
    stuck = (shape.rep_4 or 0) >= STUCK_REP_4 and (shape.compression or 0) >= STUCK_COMPRESSION
    return (cut and stuck) or is_loop_of(shape.loop_period, shape.loop_repeats, shape.pieces, cut=cut)


def is_loop_of(period: int, repeats: int, length: int, *, cut: bool) -> bool:
    """Whether `length` pieces that end in `repeats` cycles of `period` are caught in a loop."""
    return period * repeats >= LOOP_PIECES and (cut or 2 * period * repeats >= length)

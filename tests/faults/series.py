"""Series for the behavioural kinds: answers of an endpoint that has the fault and of a reference that has not."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from monitor.types import Exchange, Request
from tests.faults.made import HELLO, call, calls_in, chunk, counts, said, streamed, whole

N = 32
DONE = b"data: [DONE]\n\n"
ORDERED = {
    "type": "function",
    "function": {
        "name": "book",
        "parameters": {
            "type": "object",
            "properties": {"where": {"type": "string"}, "day": {"type": "string"}, "nights": {"type": "integer"}},
        },
    },
}


@dataclass(frozen=True)
class Series:
    """Answers of the endpoint and of two runs of the reference."""

    endpoint: tuple[Exchange, ...]
    reference: tuple[Exchange, ...]
    again: tuple[Exchange, ...] = ()


def prompts(**more: Any) -> list[Request]:
    return [
        replace(HELLO, prompt_id=f"p{at}", messages=({"role": "user", "content": f"Weigh thing {at}."},), **more)
        for at in range(N)
    ]


def each(answer: Callable[[Request], Exchange], **more: Any) -> tuple[Exchange, ...]:
    return tuple(answer(request) for request in prompts(**more))


def _loop(request: Request) -> Exchange:
    usage = {"prompt_tokens": 5, "completion_tokens": 64, "total_tokens": 69}
    text = "So it is heavy. " + "and so on " * 40
    return streamed(chunk({"content": text}), chunk(finish="length"), tail=counts(usage) + DONE, request=request)


def _plain(request: Request) -> Exchange:
    return said(f"{request.prompt_id} weighs one kilo.", request=request)


def _over(request: Request) -> Exchange:
    usage = {"prompt_tokens": 5, "completion_tokens": 90, "total_tokens": 95}
    return streamed(chunk({"content": "a"}), chunk(finish="length"), tail=counts(usage) + DONE, request=request)


def _leaks(request: Request) -> Exchange:
    return said("One kilo. END and more", request=request)


def _renamed(request: Request) -> Exchange:
    return whole({"content": "Heavy, I should say."}, request=request, model="other-9")


def _other(request: Request) -> Exchange:
    at = int(request.prompt_id[1:])
    return said("Two pounds." if at < 16 else f"{request.prompt_id} weighs one kilo.", request=request)


def _noisy(request: Request) -> Exchange:
    at = int(request.prompt_id[1:])
    return said("About one." if at in {3, 20} else f"{request.prompt_id} weighs one kilo.", request=request)


def _mixed(request: Request) -> Exchange:
    return said("Das ist \u4e00\u516c\u65a4 schwer.", request=request)


def _booked(arguments: str) -> Callable[[Request], Exchange]:
    return lambda request: calls_in([call(arguments, name="book")], request=request)[0]


def _repeated(*texts: str, temperature: float) -> tuple[Exchange, ...]:
    asked = prompts(temperature=temperature)
    return tuple(said(text, request=request) for request in asked for text in texts)


def _efforts(low: int, high: int, *, stream: bool = False) -> tuple[Exchange, ...]:
    def thought(request: Request, effort: str, size: int) -> Exchange:
        usage = {
            "prompt_tokens": 5, "completion_tokens": size + 2, "total_tokens": size + 7,
            "completion_tokens_details": {"reasoning_tokens": size},
        }  # fmt: skip
        asked = replace(request, extra={"reasoning_effort": effort})
        if stream:
            frames = chunk({"reasoning_content": "hm"}), chunk({"content": "One."}), chunk(finish="stop")
            return streamed(*frames, tail=counts(usage) + DONE, request=asked)
        return whole({"reasoning_content": "hm", "content": "One."}, request=asked, usage=usage)

    return tuple(thought(one, effort, size) for one in prompts() for effort, size in (("low", low), ("high", high)))


def _cold_warm(cold: str, warm: str) -> tuple[Exchange, ...]:
    asked: Sequence[Request] = prompts(temperature=0.0)
    return tuple(
        said(text, request=replace(one, prompt_id=f"{one.prompt_id}-{state}"))
        for one in asked
        for state, text in (("cold", cold), ("warm", warm))
    )


STOPPED = {"extra": {"stop": ["END"]}}
BOOK = {"tools": (ORDERED,)}
SORTED, DECLARED = (
    '{"day": "Monday", "nights": 2, "where": "Oslo"}',
    '{"where": "Oslo", "day": "Monday", "nights": 2}',
)

SERIES: dict[str, Series] = {
    "repetition_loop": Series(each(_loop), each(_plain)),
    "cap_ignored": Series(each(_over), each(_plain)),
    "stop_ignored": Series(each(_leaks, **STOPPED), each(_plain, **STOPPED)),
    "sampling_ignored": Series(_repeated("a", "a", "a", temperature=1.5), _repeated("a", "b", "c", temperature=1.5)),
    "reordered_schema": Series(each(_booked(SORTED), **BOOK), each(_booked(DECLARED), **BOOK)),
    "effort_ignored": Series(_efforts(40, 40), _efforts(20, 60)),
    "other_model": Series(each(_renamed), each(_plain), each(_noisy)),
    "quantised": Series(each(_other), each(_plain), each(_noisy)),
    "cache_changes": Series(_cold_warm("a", "b"), _cold_warm("a", "a")),
    "language_mixing": Series(each(_mixed), each(_plain)),
}
"""One per behavioural kind. `again` differs from `reference` on two prompts: engines are not bit-equal."""



def _as_whole(answer: Callable[[Request], tuple[dict[str, object], str, dict[str, int]]]) -> tuple[Exchange, ...]:
    made = []
    for request in prompts(**STOPPED):
        message, finish, usage = answer(request)
        made.append(whole(message, finish, request=request, usage=usage))
    return tuple(made)


def _counted(tokens: int) -> dict[str, int]:
    return {"prompt_tokens": 5, "completion_tokens": tokens, "total_tokens": tokens + 5}


OTHER_FORM: dict[str, Series] = {
    "cap_ignored": Series(_as_whole(lambda _: ({"content": "a"}, "length", _counted(90))), each(_plain, **STOPPED)),
    "stop_ignored": Series(_as_whole(lambda _: ({"content": "One kilo. END and more"}, "stop", _counted(5))),
                           each(_plain, **STOPPED)),
    "sampling_ignored": Series(
        tuple(whole({"content": "a"}, request=one) for one in prompts(temperature=1.5) for _ in range(3)),
        _repeated("a", "b", "c", temperature=1.5),
    ),
    "effort_ignored": Series(_efforts(40, 40, stream=True), _efforts(20, 60, stream=True)),
}  # fmt: skip
"""What parameters show, in the other form than above: not streamed, and for effort streamed."""

COLD = Series(_repeated("a", "b", "a", temperature=0.0), _repeated("a", "a", "a", temperature=0.0))
"""Temperature 0 that is none: the other face of `sampling_ignored`."""

ALIAS = Series(
    each(lambda request: whole({"content": f"{request.prompt_id} weighs one kilo."}, request=request, model="alias-7")),
    each(_plain),
)
"""Another name in front of the same answers."""

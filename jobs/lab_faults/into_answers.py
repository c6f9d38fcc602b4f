"""Injectors of faults in text, reasoning, counts and the body itself."""

from collections.abc import Callable, Mapping
from typing import Any

from jobs.lab_faults.answer import DONE, Answer
from jobs.lab_faults.into_calls import Inject

_LOOP = "and so on "
_HAN = "\u8fd9\u662f\u4e2d\u6587"


def _saying(change: Callable[[str], str], finish: str | None = None) -> Inject:
    """An injector that changes the visible text."""

    def inject(answer: Answer) -> bool:
        text = answer.content
        if not text:
            return False
        answer.say(change(text))
        if finish is not None:
            answer.end(finish)
        return True

    return inject


def _ending(reason: str) -> Inject:
    def inject(answer: Answer) -> bool:
        answer.end(reason)
        return True

    return inject


def _counting(change: Callable[[dict[str, Any], Mapping[str, Any]], object]) -> Inject:
    """An injector that changes every usage object."""

    def inject(answer: Answer) -> bool:
        counted = list(answer.usage())
        for usage in counted:
            change(usage, answer.asked)
        return bool(counted)

    return inject


def _total_off(usage: dict[str, Any], _asked: Mapping[str, Any]) -> None:
    usage["total_tokens"] = usage.get("total_tokens", 0) + 99


def _prompt(change: Callable[[int], int]) -> Callable[[dict[str, Any], Mapping[str, Any]], None]:
    def counted(usage: dict[str, Any], _asked: Mapping[str, Any]) -> None:
        usage["prompt_tokens"] = change(usage.get("prompt_tokens", 0))
        usage["total_tokens"] = usage["prompt_tokens"] + usage.get("completion_tokens", 0)

    return counted


def _filled(usage: dict[str, Any], asked: Mapping[str, Any], *, more: int = 0) -> None:
    usage["completion_tokens"] = (asked.get("max_tokens") or usage.get("completion_tokens", 0)) + more
    usage["total_tokens"] = usage.get("prompt_tokens", 0) + usage["completion_tokens"]


def repetition_loop(answer: Answer) -> bool:
    """Let the text run into a cycle until the cap."""
    return _saying(lambda text: f"{text} {_LOOP * 60}", "length")(answer) and (_counting(_filled)(answer) or True)


def cap_ignored(answer: Answer) -> bool:
    """Count more tokens than the cap allows."""
    return _counting(lambda usage, asked: _filled(usage, asked, more=40))(answer)


def stop_ignored(answer: Answer) -> bool:
    """Run over the first stop text."""
    stop = answer.asked.get("stop")
    first = stop if isinstance(stop, str) else next(iter(stop or ()), None)
    return first is not None and _saying(lambda text: f"{text} {first} and more")(answer)


def only_reasoning(answer: Answer) -> bool:
    """Move the text into the reasoning."""
    text = answer.content
    answer.drop("content", "tool_calls")
    answer.first["reasoning_content"] = text or "Hm."
    answer.end("stop")
    return True


def empty_stop(answer: Answer) -> bool:
    """Deliver nothing."""
    answer.drop("content", "reasoning", "reasoning_content", "reasoning_details", "tool_calls")
    answer.end("stop")
    return True


def reasoning_field(answer: Answer) -> bool:
    """Let reasoning come in a field of another vendor."""
    answer.first["reasoning_details"] = [{"type": "reasoning.text", "text": "Hm."}]
    if answer.streamed and (text := answer.content):
        answer.drop("content")
        answer.insert({"content": text})
    return True


def mixed_delta(answer: Answer) -> bool:
    """Put reasoning beside the first text."""
    part = next((part for _, part in answer.choices() if part.get("content")), None)
    if part is None or not answer.streamed:
        return False
    part["reasoning_content"] = "Hm."
    return True


def error_in_200(answer: Answer) -> bool:
    """Break off with an error object."""
    error = {"error": {"message": "the upstream went away", "code": 502}}
    if answer.streamed:
        answer.frames[1:] = [{"choices": [], **error}, DONE]
    else:
        answer.value = error
    return True


def truncated_answer(answer: Answer) -> bool:
    """Cut the body in half, and the connection with it."""
    answer.frames = [one for one in answer.frames if isinstance(one, dict) and one.get("choices")][:2]
    answer.end(None)
    answer.cut = True
    return True


def logprobs_ignored(answer: Answer) -> bool:
    """Leave out what was asked for."""
    asked = bool(answer.asked.get("logprobs"))
    for choice, _ in answer.choices():
        choice.pop("logprobs", None)
    return asked


def other_model(answer: Answer) -> bool:
    """Answer as another model."""
    for value in answer.objects():
        value["model"] = "lab-other-model"
    return _saying(lambda _: "Somebody else answers here.")(answer)


def stream_differs(answer: Answer) -> bool:
    """Lose the text beside a call, when the answer is not streamed."""
    if answer.streamed or not (answer.content and answer.calls):
        return False
    answer.drop("content")
    return True


def bad_framing(answer: Answer) -> bool:
    """Declare the body as a web page."""
    answer.headers["content-type"] = "text/html"
    return True


def history_contract(answer: Answer) -> bool:
    """Refuse a turn without its reasoning."""
    bare = any(
        message.get("tool_calls") and not message.get("reasoning_content")
        for message in answer.asked.get("messages") or ()
    )
    if bare:
        answer.status, answer.streamed = 400, False
        answer.headers["content-type"] = "application/json"
        answer.value = {"error": {"message": "reasoning_content is missing in an assistant message", "code": 400}}
    return bare


def _other_words(text: str) -> str:
    """Let every seventh word be another, as coarser weights do now and then."""
    words = text.split(" ")
    return " ".join("rather" if at % 7 == 1 or len(words) == 1 else word for at, word in enumerate(words))


INTO_ANSWERS: Mapping[str, Inject] = {
    "bad_finish": _ending("stop_163586"),
    "broken_text": _saying(lambda text: f"{text[:1]}\ufffd\ufffd{text[1:]}"),
    "thinking_leak": _saying(lambda text: f"They want an answer.\n</think>\n\n{text}"),
    "reasoning_field": reasoning_field,
    "mixed_delta": mixed_delta,
    "empty_stop": empty_stop,
    "only_reasoning": only_reasoning,
    "error_in_200": error_in_200,
    "truncated_answer": truncated_answer,
    "repetition_loop": repetition_loop,
    "cap_ignored": cap_ignored,
    "stop_ignored": stop_ignored,
    "logprobs_ignored": logprobs_ignored,
    "context_cut": _counting(_prompt(lambda n: n // 2)),
    "template_drift": _counting(_prompt(lambda n: n + 3)),
    "other_model": other_model,
    "quantised": _saying(_other_words),
    "filter_injected": _ending("content_filter"),
    "language_mixing": _saying(lambda text: f"{text} {_HAN}"),
    "usage_wrong": _counting(_total_off),
    "stream_differs": stream_differs,
    "history_contract": history_contract,
    "bad_framing": bad_framing,
}
"""By name of the fault."""

"""Injectors of faults in tool calls. Each returns whether the answer could carry its fault."""

from collections.abc import Callable, Mapping
from typing import Any

import orjson

from jobs.lab_faults.answer import Answer
from jobs.lab_faults.calling import with_calls

Inject = Callable[[Answer], bool]


def _calling(change: Callable[[list[dict[str, Any]]], object], *, n: int = 1, finish: str = "tool_calls") -> Inject:
    """An injector that puts `n` good calls into the answer, after `change` has spoilt them."""

    def inject(answer: Answer) -> bool:
        calls = with_calls(answer, n)
        if calls is None:
            return False
        change(calls)
        answer.drop("content", "reasoning", "reasoning_content")
        answer.call(calls)
        answer.end(finish)
        return True

    return inject


def _set(key: str, value: Callable[[str], Any]) -> Callable[[list[dict[str, Any]]], None]:
    """A change of one field of the function that is called first."""

    def change(calls: list[dict[str, Any]]) -> None:
        function = calls[0]["function"]
        function[key] = value(function[key])

    return change


def _same_id(calls: list[dict[str, Any]]) -> None:
    calls[1]["id"] = calls[0]["id"]


def _no_id(calls: list[dict[str, Any]]) -> None:
    del calls[0]["id"]


def _no_arguments(calls: list[dict[str, Any]]) -> None:
    del calls[0]["function"]["arguments"]


def _sorted(text: str) -> str:
    return orjson.dumps(orjson.loads(text), option=orjson.OPT_SORT_KEYS).decode()


def _wrong(text: str) -> str:
    return orjson.dumps({"child": orjson.loads(text)}).decode()


def call_as_text(answer: Answer) -> bool:
    """Write the call as Hermes models do."""
    calls = with_calls(answer)
    if calls is None:
        return False
    function = calls[0]["function"]
    answer.drop("tool_calls")
    answer.say(f'<tool_call>\n{{"name": "{function["name"]}", "arguments": {function["arguments"]}}}\n</tool_call>')
    answer.end("stop")
    return True


def finish_without_calls(answer: Answer) -> bool:
    """Promise calls and send none."""
    answer.drop("tool_calls")
    answer.say(answer.content or "Let me look.")
    answer.end("tool_calls")
    return True


def restarted_ids(answer: Answer) -> bool:
    """Use an id of the conversation again."""
    before = [
        call["id"] for message in answer.asked.get("messages") or () for call in message.get("tool_calls") or ()
        if "id" in call
    ]  # fmt: skip
    return bool(before) and _calling(lambda calls: calls[0].update(id=before[0]))(answer)


def reordered_schema(answer: Answer) -> bool:
    """Sort the keys of the arguments that came."""
    changed = False
    for _, part in answer.choices():
        for call in part.get("tool_calls") or ():
            function = call.get("function", {})
            try:
                function["arguments"], changed = _sorted(function["arguments"]), True
            except (KeyError, orjson.JSONDecodeError):
                continue
    return changed


def parallel_ignored(answer: Answer) -> bool:
    """Call twice where once was asked for."""
    return answer.asked.get("parallel_tool_calls") is False and _calling(lambda _: None, n=2)(answer)


def choice_ignored(answer: Answer) -> bool:
    """Call where nothing was to be called, or talk where a call was asked for."""
    choice = answer.asked.get("tool_choice")
    if choice == "none":
        return _calling(lambda _: None)(answer)
    if choice == "required" or isinstance(choice, dict):
        answer.drop("tool_calls")
        answer.say("I would rather talk about it.")
        answer.end("stop")
        return True
    return False


def _pieces(*spoil: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], n: int) -> Inject:
    """An injector that sends the deltas that ``spoil`` makes of `n` good calls, in streams only."""

    def inject(answer: Answer) -> bool:
        calls = with_calls(answer, n) if answer.streamed else None
        if calls is None:
            return False
        answer.drop("content", "tool_calls", "reasoning", "reasoning_content")
        answer.end("tool_calls")
        answer.insert(*({"tool_calls": [entry]} for entry in spoil[0](calls)))
        return True

    return inject


def _twice_named(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    call = calls[0]
    text = call["function"]["arguments"]
    halves = (text[: len(text) // 2], text[len(text) // 2 :])
    return [{"index": 0, **call, "function": {**call["function"], "arguments": half}} for half in halves]


INTO_CALLS: Mapping[str, Inject] = {
    "call_as_text": call_as_text,
    "stop_with_calls": _calling(lambda _: None, finish="stop"),
    "finish_without_calls": finish_without_calls,
    "malformed_arguments": _calling(_set("arguments", lambda text: text[:-1])),
    "glued_token": _calling(_set("name", lambda name: f"{name}<|channel|>commentary")),
    "undeclared_tool": _calling(_set("name", lambda _: "Read")),
    "schema_violation": _calling(_set("arguments", _wrong)),
    "duplicate_ids": _calling(_same_id, n=2),
    "restarted_ids": restarted_ids,
    "id_format": _calling(_no_id),
    "missing_index": _pieces(lambda calls: calls, n=2),
    "index_reused": _pieces(lambda calls: [{"index": 0, **call} for call in calls], n=2),
    "name_repeated": _pieces(_twice_named, n=1),
    "arguments_object": _calling(_set("arguments", orjson.loads)),
    "arguments_missing": _calling(_no_arguments),
    "choice_ignored": choice_ignored,
    "parallel_ignored": parallel_ignored,
    "reordered_schema": reordered_schema,
}
"""By name of the fault."""

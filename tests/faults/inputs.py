"""Minimal inputs: for every certain kind, the least that shows it, in every form that can carry it.

Written from the catalogue of symptoms, not from the finders.
"""

from dataclasses import replace

from monitor.types import Exchange
from tests.faults.made import (
    DONE,
    HELLO,
    TOOLS,
    USAGE,
    asked,
    call,
    calls_in,
    chunk,
    counts,
    event,
    exchange_of,
    said,
    streamed,
    whole,
)

Pair = tuple[Exchange, Exchange]
HISTORY = replace(
    TOOLS,
    messages=(
        {"role": "user", "content": "Weather in Oslo and Rome?"},
        {"role": "assistant", "content": None, "tool_calls": [call(call_id="get_weather:0")]},
        {"role": "tool", "tool_call_id": "get_weather:0", "content": "rain"},
    ),
)
MARKUP = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'


def both(message: dict[str, object], finish: str = "stop", *, request: object = None) -> Pair:
    given = HELLO if request is None else request
    assert isinstance(given, type(HELLO))
    return streamed(chunk(message), chunk(finish=finish), request=given), whole(message, finish, request=given)


CERTAIN: dict[str, Pair] = {
    "call_as_text": both({"content": MARKUP}, request=TOOLS),
    "stop_with_calls": calls_in([call()], "stop"),
    "finish_without_calls": both({"content": "It rains.", "tool_calls": []}, "tool_calls", request=TOOLS),
    "bad_finish": both({"content": "A kilo."}, "stop_163586"),
    "malformed_arguments": calls_in([call('{"city": "Os')]),
    "glued_token": calls_in([call(name="get_weather<|channel|>commentary")]),
    "undeclared_tool": calls_in([call('{"path": "a"}', name="Read")]),
    "schema_violation": calls_in([call('{"town": "Oslo"}')]),
    "duplicate_ids": calls_in(
        [call(call_id="functions.eval:301"), call('{"city": "Rome"}', call_id="functions.eval:301")]
    ),
    "restarted_ids": calls_in([call(call_id="get_weather:0")], request=HISTORY),
    "id_format": calls_in([call(call_id=None)]),
    "broken_text": both({"content": "A \ufffd\ufffd kilo."}),
    "arguments_object": calls_in([call({"city": "Oslo"})]),
    "arguments_missing": calls_in([call(None, name="snapshot")]),
    "thinking_leak": both({"content": "They ask about weight.\n</think>\n\nOne kilo."}),
    "reasoning_field": (
        streamed(
            chunk({"content": [{"type": "thinking", "thinking": "hm"}]}),
            chunk({"content": "One"}),
            chunk(finish="stop"),
        ),
        whole({"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "One kilo."}]}),
    ),
    "empty_stop": both({"content": ""}),
    "only_reasoning": both({"reasoning_content": "They ask about weight."}),
    "error_in_200": (
        streamed(
            chunk({"content": "One"}), event({"choices": [], "error": {"code": 502, "message": "upstream"}}), tail=DONE
        ),
        whole(body={"error": {"code": 502, "message": "upstream"}}),
    ),
    "truncated_answer": (
        streamed(chunk({"content": "One"}), tail=b"", end="unclean"),
        exchange_of(
            b'{"id":"c1","choices":[{"index":0,"message":{"content":"One ki',
            replace(HELLO, stream=False),
            {"content-type": "application/json"},
            end="unclean",
        ),
    ),
    "logprobs_ignored": both({"content": "One kilo."}, request=replace(HELLO, top_logprobs=5)),
    "choice_ignored": both({"content": "I cannot say."}, request=asked(TOOLS, tool_choice="required")),
    "parallel_ignored": calls_in(
        [call(), call('{"city": "Rome"}', call_id="call_2")], request=asked(TOOLS, parallel_tool_calls=False)
    ),
    "filter_injected": both({"content": "One"}, "content_filter"),
    "usage_wrong": (
        streamed(
            chunk({"content": "One kilo."}), chunk(finish="stop"), tail=counts({**USAGE, "total_tokens": 99}) + DONE
        ),
        whole({"content": "One kilo."}, usage={**USAGE, "total_tokens": 99}),
    ),
    "history_contract": both({"content": "Rain there too."}, request=HISTORY),
    "bad_framing": (
        exchange_of(
            b'{"choices":[{"index":0,"message":{"content":"One"},"finish_reason":"stop"}],"usage":%b}'
            % b'{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}',
            HELLO,
            {"content-type": "application/json"},
        ),
        exchange_of(
            b'{"choices":[{"index":0,"message":{"content":"One"},"finish_reason":"stop"}],"usage":%b}'
            % b'{"prompt_tokens":3,"completion_tokens":1,"total_tokens":4}',
            replace(HELLO, stream=False),
            {"content-type": "text/html"},
        ),
    ),
}
"""Kinds that both forms can carry: (streamed, whole)."""

PROFILE = {"history_contract": "deepseek"}
"""Policies under which an input is a fault, where that is not OpenAI's."""

STREAM_ONLY: dict[str, Exchange] = {
    "missing_index": streamed(
        chunk({"tool_calls": [call()]}),
        chunk({"tool_calls": [call('{"city": "Rome"}', call_id="call_2")]}),
        chunk(finish="tool_calls"),
        request=TOOLS,
    ),
    "index_reused": streamed(
        chunk({"tool_calls": [{"index": 0, **call()}]}),
        chunk({"tool_calls": [{"index": 0, **call('{"city": "Rome"}', call_id="call_2")}]}),
        chunk(finish="tool_calls"),
        request=TOOLS,
    ),
    "name_repeated": streamed(
        chunk({"tool_calls": [{"index": 0, **call('{"city": ')}]}),
        chunk({"tool_calls": [{"index": 0, **call('"Oslo"}')}]}),
        chunk(finish="tool_calls"),
        request=TOOLS,
    ),
    "mixed_delta": streamed(
        chunk({"reasoning_content": "Hm."}),
        chunk({"reasoning_content": " So", "content": "One"}),
        chunk({"content": " kilo."}),
        chunk(finish="stop"),
    ),
}

VARIANTS: dict[str, list[tuple[str, Exchange]]] = {
    "call_as_text": [
        ("kimi", said("<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0", request=TOOLS)),
        ("gemma", said('<|tool_call>call:get_weather{"city":"Oslo"}', request=TOOLS)),
        ("gigachat", said('<|function_call|>{"name": "get_weather", "arguments": {}}', request=TOOLS)),
        ("harmony", said("<|channel|>commentary to=functions.get_weather", request=TOOLS)),
        ("bare json", said('{"name": "get_weather", "arguments": {"city": "Oslo"}}', request=TOOLS)),
        ("in pieces", said("<tool", '_call>{"na', 'me": "get_weather"}', request=TOOLS)),
        ("though required", said(MARKUP, request=asked(TOOLS, tool_choice="required"))),
    ],
    "bad_finish": [
        ("null to the end", streamed(chunk({"content": "One"}), chunk())),
        ("empty to the end", streamed(chunk({"content": "One"}, ""), chunk(finish=""))),
        ("two reasons", streamed(chunk({"content": "One"}, "length"), chunk(finish="stop"))),
        ("a token", said("One", finish="<|im_end|>")),
    ],
    "malformed_arguments": [
        ("NaN", calls_in([call('{"city": NaN}')])[0]),
        ("duplicate key", calls_in([call('{"city": "a", "city": "b"}')])[1]),
        ("a list", calls_in([call('["Oslo"]')])[0]),
        ("encoded twice", calls_in([call('"{\\"city\\": \\"Oslo\\"}"')])[1]),
        ("trailing bytes", calls_in([call('{"city": "Oslo"} or so')])[0]),
    ],
    "glued_token": [
        ("end of sequence", calls_in([call('{"city": "Oslo"}</s')])[0]),
        ("end of call", calls_in([call('{"city": "Oslo"}<|tool_call_end|>')])[1]),
    ],
    "schema_violation": [
        ("another level", calls_in([call('{"child": {"city": "Oslo"}}')])[0]),
        ("another type", calls_in([call('{"city": 7}')])[1]),
    ],
    "id_format": [("kimi", calls_in([call(call_id="chatcmpl-tool-0e9c")])[0])],
    "broken_text": [
        (
            "bytes",
            exchange_of(
                b'data: {"choices":[{"index":0,"delta":{"content":"A \xf0\x9f kilo"},"finish_reason":"stop"}],'
                b'"model":"scale-1","usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}\n\n' + DONE,
                HELLO,
                {"content-type": "text/event-stream"},
            ),
        ),
        ("in arguments", calls_in([call('{"city": "Troms\ufffd"}')])[0]),
    ],
    "arguments_missing": [
        ("null", calls_in([{"id": "call_1", "function": {"name": "snapshot", "arguments": None}}])[1]),
        ("empty", calls_in([call("", name="snapshot")])[0]),
    ],
    "thinking_leak": [
        ("split tag", said("They ask.\n</thi", "nk>\nOne kilo.")),
        ("whole block", said("<think>hm</think>One kilo.")),
        ("never closed", said("<think>They ask about weight")),
    ],
    "reasoning_field": [
        (
            "changes",
            streamed(
                chunk({"reasoning": "a"}),
                chunk({"reasoning_content": "b"}),
                chunk({"content": "c"}),
                chunk(finish="stop"),
            ),
        ),
    ],
    "error_in_200": [
        (
            "named event",
            streamed(chunk({"content": "One"}), b'event: error\ndata: {"message": "overloaded"}\n\n', tail=DONE),
        ),
        (
            "beside choices",
            streamed(chunk({"content": "One"}, error={"message": "overloaded", "code": 529}), tail=DONE),
        ),
    ],
    "truncated_answer": [("within an event", streamed(chunk({"content": "One"}), tail=b'data: {"choi', end="reset"))],
    "choice_ignored": [
        (
            "named",
            said("No.", request=asked(TOOLS, tool_choice={"type": "function", "function": {"name": "snapshot"}})),
        ),
        (
            "another",
            calls_in(
                [call()],
                "stop",
                request=asked(TOOLS, tool_choice={"type": "function", "function": {"name": "snapshot"}}),
            )[0],
        ),
        ("none", calls_in([call()], request=asked(TOOLS, tool_choice="none"))[1]),
    ],
    "usage_wrong": [
        ("missing", streamed(chunk({"content": "One"}), chunk(finish="stop"), tail=DONE)),
        (
            "more reasoning than completion",
            whole(
                {"content": "One"},
                usage={
                    "prompt_tokens": 12,
                    "completion_tokens": 10,
                    "total_tokens": 22,
                    "completion_tokens_details": {"reasoning_tokens": 11},
                },
            ),
        ),
        (
            "zeros",
            streamed(
                chunk({"content": "One"}),
                chunk(finish="stop"),
                tail=counts({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}) + DONE,
            ),
        ),
        ("fraction", whole({"content": "One"}, usage={"prompt_tokens": 12, "completion_tokens": 2.25})),
        ("text", whole({"content": "One"}, usage={"prompt_tokens": "12", "completion_tokens": "3"})),
        ("negative", whole({"content": "One"}, usage={"prompt_tokens": -1, "completion_tokens": 3})),
        (
            "goes down",
            streamed(
                chunk({"content": "One"}, usage=USAGE),
                chunk(finish="stop"),
                tail=counts({**USAGE, "completion_tokens": 2, "total_tokens": 14}) + DONE,
            ),
        ),
        (
            "reasoning above completion",
            whole(
                {"content": "One"},
                usage={
                    "prompt_tokens": 10,
                    "completion_tokens": 10,
                    "total_tokens": 70,
                    "completion_tokens_details": {"reasoning_tokens": 25},
                },
            ),
        ),
    ],
    "bad_framing": [
        ("no blank line", streamed(chunk({"content": "One"}), chunk(finish="stop"), tail=counts().rstrip(b"\n"))),
        ("a web page", exchange_of(b"<html>busy</html>", HELLO, {"content-type": "text/html"})),
        ("comment as data", streamed(b"data: : PROCESSING\n\n", chunk({"content": "One"}), chunk(finish="stop"))),
        ("unknown lines", streamed(b"datum: {}\n\n", chunk({"content": "One"}), chunk(finish="stop"))),
        (
            "NaN",
            streamed(
                b'data: {"choices":[{"index":0,"delta":{"content":"One"},"score":NaN}]}\n\n', chunk(finish="stop")
            ),
        ),
    ],
}
"""Further faces of the kinds. The one called ``kimi`` is judged by that policy."""

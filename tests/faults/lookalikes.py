"""Answers that look like a fault and are none. Each row is another shape, not another wording of one.

``(what it looks like, policy, exchange)``.
"""

from dataclasses import replace
from typing import Any

import orjson

from monitor.types import Exchange
from tests.faults.inputs import HISTORY
from tests.faults.made import (
    DONE,
    HELLO,
    MODEL,
    SNAPSHOT,
    TOOLS,
    USAGE,
    WEATHER,
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

Row = tuple[str, str, Exchange]
STOP = chunk(finish="stop")
FENCED = '```json\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n```'
NAMED = {"type": "function", "function": {"name": "get_weather"}}
SSE = {"content-type": "text/event-stream"}


def text(about: str, words: str, profile: str = "openai", **fields: Any) -> Row:
    return about, profile, said(words, **fields)


def raw(body: bytes, headers: dict[str, str] | None = None, **fields: Any) -> Exchange:
    return exchange_of(body, HELLO, headers or SSE, **fields)


def plain(usage: dict[str, Any]) -> Exchange:
    return whole({"content": "One kilo."}, usage=usage)


def tool(parameters: Any, **more: Any) -> Any:
    function = {"name": "weigh", **({} if parameters is None else {"parameters": parameters}), **more}
    return replace(TOOLS, tools=({"type": "function", "function": function},))


def weigh(arguments: str, parameters: Any, **more: Any) -> Exchange:
    return calls_in([call(arguments, name="weigh")], request=tool(parameters, **more))[0]


ABOUT_MARKUP: list[Row] = [
    text("talks about the opening tag", "Models write <think> before they think.", request=TOOLS),
    text("talks about both tags", "Between <think> and </think> stands the reasoning.", request=TOOLS),
    text("tags in backticks", "Close it with `</think>` and go on.", request=TOOLS),
    text("closing tag in a sentence", "Use the </think> tag to end it.", request=TOOLS),
    text("closing tag at the end", "The last token is </think>", request=TOOLS),
    text("thinking in a fence", "```\n<think>\nhm\n</think>\n```\nis how it looks.", request=TOOLS),
    text("fence in another fence", "````\n```\n</think>\n```\n````", request=TOOLS),
    text("escaped tags", "It prints &lt;think&gt;hm&lt;/think&gt; there.", request=TOOLS),
    text("the tag of another language", "<thinking>is another tag</thinking>", request=TOOLS),
    text("a tag with attributes", 'XML such as <think id="1"/> is fine.', request=TOOLS),
    text("names the call tag", "The parser waits for <tool_call> and then for JSON.", request=TOOLS),
    text("call tag in backticks", 'Write `<tool_call>{"name": "f"}</tool_call>` there.', request=TOOLS),
    text("call in a fence", FENCED, request=TOOLS),
    text("call in a fence with words", f"You would call it so:\n{FENCED}\nDone.", request=TOOLS),
    text("marked call in a fence", '```\n<tool_call>\n{"name": "get_weather"}\n</tool_call>\n```', request=TOOLS),
    text("fence that never closes", '```json\n{"name": "get_weather", "arguments": {}}', request=TOOLS),
    text("call as JSON within prose", 'I would send {"name": "get_weather", "arguments": {}} now.', request=TOOLS),
    text("JSON answer, no call", '{"city": "Oslo", "degrees": 3}', request=TOOLS),
    text("JSON answer with a name", '{"name": "Oslo", "population": 700000}', request=TOOLS),
    text("JSON call of another tool", '{"name": "Read", "arguments": {"path": "a"}}', request=TOOLS),
    text("JSON list of names", '["get_weather", "snapshot"]', request=TOOLS),
    text("call JSON without any tool", '{"name": "get_weather", "arguments": {"city": "Oslo"}}'),
    text(
        "call JSON where none is wanted",
        '{"name": "get_weather", "arguments": {"city": "Oslo"}}',
        request=asked(TOOLS, tool_choice="none"),
    ),
    text("marked call without any tool", '<tool_call>{"name": "f", "arguments": {}}</tool_call>'),
    text("function tag in prose", "HTML has no <function> element.", request=TOOLS),
    text("brackets like Mistral's", "The list [TOOL_CALLS] is a token of Mistral.", request=TOOLS),
    text("names a special token", "The token <|im_end|> ends a turn.", request=TOOLS),
    text("names end of sequence", "It prints </s> at the end.", request=TOOLS),
    text("names harmony channels", "Channels are analysis, commentary and final.", request=TOOLS),
    text("a python tag explained", "The python_tag token starts code.", request=TOOLS),
    text("invoke in XML", '<config><invoke method="run"/></config>', request=TOOLS),
    text("generic type", "Use List<function> or Map<string, tool_call> in code.", request=TOOLS),
    text("shell pipes", "a <|b and c|> d", request=TOOLS),
]

FINISHES: list[Row] = [
    ("no end marker", "openai", streamed(chunk({"content": "One"}), STOP, tail=counts())),
    (
        "no end marker, connection cut",
        "openai",
        streamed(chunk({"content": "One"}), STOP, tail=counts(), end="unclean"),
    ),
    ("named choice says stop", "openai", calls_in([call()], "stop", request=asked(TOOLS, tool_choice=NAMED))[0]),
    ("named choice says stop, whole", "openai", calls_in([call()], "stop", request=asked(TOOLS, tool_choice=NAMED))[1]),
    ("named choice says tool_calls", "openai", calls_in([call()], request=asked(TOOLS, tool_choice=NAMED))[0]),
    (
        "empty reason on all but the last",
        "openai",
        streamed(chunk({"content": "On"}, ""), chunk({"content": "e"}, "stop")),
    ),
    ("reason on the last text", "openai", streamed(chunk({"content": "One"}, "stop"))),
    ("reason twice, the same", "openai", streamed(chunk({"content": "One"}, "stop"), STOP)),
    (
        "reason with the usage",
        "openai",
        streamed(chunk({"content": "One"}), chunk(finish="stop", usage=USAGE), tail=DONE),
    ),
    ("capitals", "openai", said("One", finish="STOP")),
    ("Anthropic's word", "openai", said("One", finish="end_turn")),
    ("an engine's word", "openai", said("One", finish="eos")),
    ("Gemini's word", "openai", whole({"content": "One"}, "STOP")),
    (
        "length at the cap",
        "openai",
        whole({"content": "One"}, "length", usage={"prompt_tokens": 3, "completion_tokens": 64, "total_tokens": 67}),
    ),
    (
        "length, one above the cap",
        "openai",
        whole({"content": "One"}, "length", usage={"prompt_tokens": 3, "completion_tokens": 65, "total_tokens": 68}),
    ),
    (
        "length within reasoning",
        "openai",
        whole(
            {"reasoning_content": "Hm, so"},
            "length",
            usage={"prompt_tokens": 3, "completion_tokens": 64, "total_tokens": 67},
        ),
    ),
    (
        "null delta at the end",
        "openai",
        streamed(chunk({"content": "One"}), event({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]})),
    ),
    (
        "choice without delta",
        "openai",
        streamed(event({"choices": [{"index": 0, "finish_reason": None}]}), chunk({"content": "One"}), STOP),
    ),
    (
        "required choice cut by length",
        "openai",
        whole(
            {"content": "Let me"},
            "length",
            request=asked(TOOLS, tool_choice="required"),
            usage={"prompt_tokens": 3, "completion_tokens": 64, "total_tokens": 67},
        ),
    ),
    ("auto choice without call", "openai", said("It rains.", request=asked(TOOLS, tool_choice="auto"))),
    ("function_call as reason", "openai", calls_in([call()], "function_call")[0]),
    ("tool_use as reason", "openai", calls_in([call()], "tool_use")[1]),
    ("named choice where the policy ignores it", "kimi", said("No.", request=asked(TOOLS, tool_choice=NAMED))),
    (
        "other call where the policy ignores the name",
        "kimi",
        calls_in(
            [call("{}", name="snapshot", call_id="functions.snapshot:0")], request=asked(TOOLS, tool_choice=NAMED)
        )[0],
    ),
]

FRAMES: list[Row] = [
    ("comment heartbeats", "openai", streamed(b": ping\n\n", chunk({"content": "One"}), b": ping\n\n", STOP)),
    ("router's comments", "openai", streamed(b": OPENROUTER PROCESSING\n\n" * 3, chunk({"content": "One"}), STOP)),
    ("CR LF", "openai", raw((chunk({"content": "One"}) + STOP + counts() + DONE).replace(b"\n", b"\r\n"))),
    ("bare CR", "openai", raw((chunk({"content": "One"}) + STOP + counts() + DONE).replace(b"\n", b"\r"))),
    ("mixed line ends", "openai", raw(chunk({"content": "One"}).replace(b"\n", b"\r\n") + STOP + counts() + DONE)),
    (
        "no space after data",
        "openai",
        raw((chunk({"content": "One"}) + STOP + counts() + DONE).replace(b"data: ", b"data:")),
    ),
    (
        "two spaces after data",
        "openai",
        raw(chunk({"content": "One"}).replace(b"data: ", b"data:  ") + STOP + counts() + DONE),
    ),
    ("byte order mark", "openai", raw(b"\xef\xbb\xbf" + chunk({"content": "One"}) + STOP + counts() + DONE)),
    (
        "one event on several lines",
        "openai",
        raw(chunk({"content": "One"}).replace(b',"choices"', b',\ndata: "choices"') + STOP + counts() + DONE),
    ),
    (
        "ids and retry",
        "openai",
        raw(b"id: 1\nretry: 1500\n" + chunk({"content": "One"}) + b"id: 2\n" + STOP + counts() + DONE),
    ),
    ("named message events", "openai", raw(b"event: message\n" + chunk({"content": "One"}) + STOP + counts() + DONE)),
    (
        "foreign event",
        "openai",
        raw(b'event: tool.progress\ndata: {"tool":"x"}\n\n' + chunk({"content": "One"}) + STOP + counts() + DONE),
    ),
    ("blank lines between", "openai", raw(b"\n\n" + chunk({"content": "One"}) + b"\n\n\n" + STOP + counts() + DONE)),
    (
        "charset in the type",
        "openai",
        raw(chunk({"content": "One"}) + STOP + counts() + DONE, {"content-type": "text/event-stream; charset=utf-8"}),
    ),
    (
        "type in capitals",
        "openai",
        raw(chunk({"content": "One"}) + STOP + counts() + DONE, {"content-type": "Text/Event-Stream"}),
    ),
    ("no type at all", "openai", raw(chunk({"content": "One"}) + STOP + counts() + DONE, {"x-request-id": "1"})),
    (
        "problem+json type",
        "openai",
        exchange_of(
            orjson.dumps(
                {
                    "model": MODEL,
                    "choices": [{"index": 0, "message": {"content": "One"}, "finish_reason": "stop"}],
                    "usage": USAGE,
                }
            ),
            replace(HELLO, stream=False),
            {"content-type": "application/vnd.acme+json"},
        ),
    ),
    (
        "leading blanks in a body",
        "openai",
        exchange_of(
            b"  \n\n"
            + orjson.dumps(
                {
                    "model": MODEL,
                    "choices": [{"index": 0, "message": {"content": "One"}, "finish_reason": "stop"}],
                    "usage": USAGE,
                }
            ),
            replace(HELLO, stream=False),
            {"content-type": "application/json"},
        ),
    ),
    (
        "pretty printed body",
        "openai",
        exchange_of(
            orjson.dumps(
                {
                    "model": MODEL,
                    "choices": [{"index": 0, "message": {"content": "One"}, "finish_reason": "stop"}],
                    "usage": USAGE,
                },
                option=orjson.OPT_INDENT_2,
            ),
            replace(HELLO, stream=False),
            {"content-type": "application/json"},
        ),
    ),
    (
        "filter chunk first",
        "openai",
        streamed(
            event({"id": "", "model": "", "choices": [], "prompt_filter_results": []}), chunk({"content": "One"}), STOP
        ),
    ),
    ("role chunk", "openai", streamed(chunk({"role": "assistant", "content": ""}), chunk({"content": "One"}), STOP)),
    (
        "null content chunk",
        "openai",
        streamed(chunk({"role": "assistant", "content": None}), chunk({"content": "One"}), STOP),
    ),
    ("refusal null", "openai", streamed(chunk({"content": "One", "refusal": None}), STOP)),
    ("padding field", "openai", streamed(chunk({"content": "One"}, obfuscation="aX3"), STOP)),
    (
        "line separator in a string",
        "openai",
        raw(
            'data: {"model":"scale-1","choices":[{"index":0,"delta":{"content":"a\u2028b"}}]}\n\n'.encode()
            + STOP
            + counts()
            + DONE
        ),
    ),
    ("the word error in the text", "openai", said('{"error": "not found"} is what it prints')),
    ("error null", "openai", streamed(chunk({"content": "One"}, error=None), STOP)),
    ("error object as an answer", "openai", said('event: error\ndata: {"error": 1}')),
    ("an answer of one space", "openai", said(" ")),
    ("two hundred pieces", "openai", streamed(*(chunk({"content": "a"}) for _ in range(200)), STOP)),
    ("everything in one chunk", "openai", streamed(chunk({"content": "A kilo is one kilo."}, "stop"))),
]

NAMES: list[Row] = [
    ("alias with a vendor", "openai", streamed(chunk({"content": "One"}, model="acme/scale-1"), STOP)),
    ("alias in capitals", "openai", streamed(chunk({"content": "One"}, model="SCALE-1"), STOP)),
    (
        "dated",
        "openai",
        streamed(
            chunk({"content": "One"}, model="scale-1-2026-10-01"), chunk(finish="stop", model="scale-1-2026-10-01")
        ),
    ),
    ("another name alone", "openai", whole({"content": "One"}, model="checkpoint-7f")),
    ("no name", "openai", whole({"content": "One"}, model=None)),
    (
        "empty name in the first chunk",
        "openai",
        streamed(chunk({"role": "assistant"}, model=""), chunk({"content": "One"}), STOP),
    ),
    ("provider named", "openai", streamed(chunk({"content": "One"}, provider="acme"), STOP)),
    ("a fingerprint", "openai", streamed(chunk({"content": "One"}, system_fingerprint="fp_1"), STOP)),
]

COUNTS: list[Row] = [
    (
        "usage in the last choice frame",
        "openai",
        streamed(chunk({"content": "One"}), chunk(finish="stop", usage=USAGE), tail=DONE),
    ),
    (
        "usage within the choice",
        "kimi",
        streamed(
            chunk({"content": "One"}),
            event({"model": MODEL, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": USAGE}]}),
            tail=DONE,
        ),
    ),
    ("null until the end", "openai", streamed(chunk({"content": "One"}, usage=None), chunk(finish="stop", usage=None))),
    (
        "running counts",
        "openai",
        streamed(
            chunk({"content": "a"}, usage={"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}),
            chunk({"content": "b"}, usage={"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9}),
            STOP,
            tail=DONE,
        ),
    ),
    ("usage twice, the same", "openai", streamed(chunk({"content": "One"}), chunk(finish="stop", usage=USAGE))),
    (
        "reasoning within completion",
        "openai",
        plain(
            {
                "prompt_tokens": 10,
                "completion_tokens": 95,
                "total_tokens": 105,
                "completion_tokens_details": {"reasoning_tokens": 90},
            }
        ),
    ),
    (
        "reasoning beside completion",
        "openai",
        plain(
            {
                "prompt_tokens": 31,
                "completion_tokens": 6,
                "total_tokens": 46,
                "completion_tokens_details": {"reasoning_tokens": 9},
            }
        ),
    ),
    ("sum off by one", "openai", plain({"prompt_tokens": 12, "completion_tokens": 6, "total_tokens": 19})),
    ("no total", "openai", plain({"prompt_tokens": 12, "completion_tokens": 6})),
    ("cached tokens", "openai", plain({**USAGE, "prompt_tokens_details": {"cached_tokens": 8}})),
    (
        "cached beside the prompt",
        "openai",
        plain(
            {
                "prompt_tokens": 148,
                "completion_tokens": 9,
                "total_tokens": 157,
                "prompt_tokens_details": {"cached_tokens": 6600},
            }
        ),
    ),
    ("details null", "openai", plain({**USAGE, "prompt_tokens_details": None})),
    ("whole decimals", "openai", plain({"prompt_tokens": 12.0, "completion_tokens": 6.0, "total_tokens": 18.0})),
    ("cost beside", "openai", plain({**USAGE, "cost": 0.00014})),
    ("timings beside", "openai", plain({**USAGE, "queue_time": 0.02, "total_time": 0.4})),
    ("one token", "openai", plain({"prompt_tokens": 12, "completion_tokens": 1, "total_tokens": 13})),
]

CALLS: list[Row] = [
    ("empty object as arguments", "openai", calls_in([call("{}", name="snapshot")])[0]),
    ("empty object, whole", "openai", calls_in([call("{}", name="snapshot")])[1]),
    (
        "empty text, then an object",
        "openai",
        streamed(
            chunk({"tool_calls": [{"index": 0, **call("", name="snapshot")}]}),
            chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
            chunk(finish="tool_calls"),
            request=TOOLS,
        ),
    ),
    ("blanks around the object", "openai", calls_in([call('  {"city": "Oslo"}\n')])[0]),
    ("empty schema", "openai", weigh('{"anything": 1}', {})),
    ("no schema", "openai", weigh('{"anything": 1}', None)),
    (
        "schema null",
        "openai",
        calls_in(
            [call('{"a": 1}', name="weigh")],
            request=replace(TOOLS, tools=({"type": "function", "function": {"name": "weigh", "parameters": None}},)),
        )[0],
    ),
    ("schema that is none", "openai", weigh('{"a": 1}', {"type": "object", "properties": {"a": {"type": "int"}}})),
    (
        "required on a property",
        "openai",
        weigh("{}", {"type": "object", "properties": {"a": {"type": "string", "required": True}}}),
    ),
    (
        "valid in one draft only",
        "openai",
        weigh(
            '{"a": [1, 2]}',
            {"type": "object", "properties": {"a": {"type": "array", "prefixItems": [{"type": "string"}]}}},
        ),
    ),
    (
        "format not asserted",
        "openai",
        weigh('{"on": "tomorrow"}', {"type": "object", "properties": {"on": {"type": "string", "format": "date"}}}),
    ),
    ("1.0 as an integer", "openai", weigh('{"n": 1.0}', {"type": "object", "properties": {"n": {"type": "integer"}}})),
    (
        "additional keys allowed",
        "openai",
        weigh('{"a": 1, "b": 2}', {"type": "object", "properties": {"a": {"type": "integer"}}}),
    ),
    (
        "null where it may be",
        "openai",
        weigh('{"a": null}', {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}),
    ),
    (
        "keys in Chinese",
        "openai",
        weigh(
            '{"城市": "奥斯陆"}', {"type": "object", "properties": {"城市": {"type": "string"}}, "required": ["城市"]}
        ),
    ),
    ("escaped characters", "openai", calls_in([call('{"city": "Troms\\u00f8"}')])[0]),
    ("an emoji", "openai", calls_in([call('{"city": "\U0001fae0"}')])[0]),
    ("markup as a value", "openai", calls_in([call('{"city": "<|im_end|>"}')])[0]),
    ("end of sequence as a value", "openai", calls_in([call('{"city": "</s>"}')])[1]),
    ("braces in a value", "openai", calls_in([call('{"city": "a}b{"}')])[0]),
    (
        "reference within the schema",
        "openai",
        weigh(
            '{"a": {"b": 1}}',
            {"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "object"}}},
        ),
    ),
    (
        "remote reference",
        "openai",
        weigh('{"a": 1}', {"type": "object", "properties": {"a": {"$ref": "https://acme.example/a.json"}}}),
    ),
    (
        "strict tool",
        "openai",
        weigh(
            '{"a": 1}',
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}},
                "required": ["a"],
                "additionalProperties": False,
            },
            strict=True,
        ),
    ),
    (
        "name with dots",
        "openai",
        calls_in(
            [call("{}", name="fs.read")],
            request=replace(TOOLS, tools=({"type": "function", "function": {"name": "fs.read"}},)),
        )[0],
    ),
    (
        "name like another's beginning",
        "openai",
        calls_in(
            [call("{}", name="get")],
            request=replace(TOOLS, tools=(WEATHER, {"type": "function", "function": {"name": "get"}})),
        )[0],
    ),
    (
        "one call without index",
        "openai",
        streamed(chunk({"tool_calls": [call()]}), chunk(finish="tool_calls"), request=TOOLS),
    ),
    (
        "arguments in pieces",
        "openai",
        streamed(
            chunk({"tool_calls": [{"index": 0, **call("")}]}),
            *(
                chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
                for piece in ('{"ci', 'ty": "Os', 'lo"}')
            ),
            chunk(finish="tool_calls"),
            request=TOOLS,
        ),
    ),
    (
        "interleaved calls",
        "openai",
        streamed(
            chunk({"tool_calls": [{"index": 0, **call("")}]}),
            chunk({"tool_calls": [{"index": 1, **call("", call_id="call_2")}]}),
            chunk(
                {
                    "tool_calls": [
                        {"index": 0, "function": {"arguments": '{"city": "Oslo"}'}},
                        {"index": 1, "function": {"arguments": '{"city": "Rome"}'}},
                    ]
                }
            ),
            chunk(finish="tool_calls"),
            request=TOOLS,
        ),
    ),
    (
        "index that starts at one",
        "openai",
        streamed(chunk({"tool_calls": [{"index": 1, **call()}]}), chunk(finish="tool_calls"), request=TOOLS),
    ),
    (
        "name null in later pieces",
        "openai",
        streamed(
            chunk({"tool_calls": [{"index": 0, **call('{"city":')}]}),
            chunk({"tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": ' "Oslo"}'}}]}),
            chunk(finish="tool_calls"),
            request=TOOLS,
        ),
    ),
    (
        "name empty in later pieces",
        "openai",
        streamed(
            chunk({"tool_calls": [{"index": 0, **call('{"city":')}]}),
            chunk({"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": ' "Oslo"}'}}]}),
            chunk(finish="tool_calls"),
            request=TOOLS,
        ),
    ),
    ("text beside a call", "openai", calls_in([call()], text="Let me see.")[0]),
    (
        "reasoning beside a call",
        "openai",
        whole({"reasoning_content": "hm", "tool_calls": [call()]}, "tool_calls", request=TOOLS),
    ),
    (
        "parallel calls, as allowed",
        "openai",
        calls_in([call(), call('{"city": "Rome"}', call_id="call_2")], request=asked(TOOLS, parallel_tool_calls=True))[
            0
        ],
    ),
    ("same call twice, two ids", "openai", calls_in([call(), call(call_id="call_2")])[1]),
    ("one call, none parallel", "openai", calls_in([call()], request=asked(TOOLS, parallel_tool_calls=False))[0]),
    ("required, and a call", "openai", calls_in([call()], request=asked(TOOLS, tool_choice="required"))[1]),
    ("none, and no call", "openai", said("It rains.", request=asked(TOOLS, tool_choice="none"))),
    ("list of calls empty", "openai", whole({"content": "It rains.", "tool_calls": []}, request=TOOLS)),
    ("list of calls null", "openai", whole({"content": "It rains.", "tool_calls": None}, request=TOOLS)),
    ("ids go on", "openai", calls_in([call(call_id="get_weather:1")], request=HISTORY)[0]),
    ("Kimi's ids go on", "kimi", calls_in([call(call_id="functions.get_weather:1")], request=HISTORY)[1]),
    ("Mistral's ids", "openai", calls_in([call(call_id="a1B2c3D4e")])[0]),
    ("ids of vLLM", "vllm", calls_in([call(call_id="chatcmpl-tool-0e9c")])[1]),
    ("ids of SGLang", "sglang", calls_in([call(call_id="call_0e9c")])[1]),
    (
        "arguments cut by the cap",
        "openai",
        calls_in(
            [call('{"city": "Os')], "length", usage={"prompt_tokens": 3, "completion_tokens": 64, "total_tokens": 67}
        )[1],
    ),
    ("undeclared where that is policy", "minimax", calls_in([call('{"a": 1}', name="Read")])[0]),
    (
        "legacy tools of another kind",
        "openai",
        calls_in([call("{}", name="snapshot")], request=replace(TOOLS, tools=(SNAPSHOT,)))[1],
    ),
    (
        "a name alone as a tool",
        "openai",
        calls_in(
            [call("{}", name="ping")],
            request=replace(TOOLS, tools=({"name": "ping", "input_schema": {"type": "object"}},)),
        )[0],
    ),
    ("deep but legal arguments", "openai", weigh('{"a": ' + '{"a": ' * 30 + "1" + "}" * 31, {"type": "object"})),
]

TEXTS: list[Row] = [
    ("reasoning in its field", "openai", streamed(chunk({"reasoning_content": "hm"}), chunk({"content": "One"}), STOP)),
    ("reasoning, vLLM's field", "vllm", streamed(chunk({"reasoning": "hm"}), chunk({"content": "One"}), STOP)),
    (
        "both fields, the same words",
        "vllm",
        streamed(chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "One"}), STOP),
    ),
    (
        "details of MiniMax",
        "minimax",
        streamed(chunk({"reasoning_details": [{"text": "hm"}]}), chunk({"content": "One"}), STOP),
    ),
    ("thinking in the content, MiniMax", "minimax", said("<think>hm</think>One kilo.")),
    (
        "both in the border delta, vLLM",
        "vllm",
        streamed(chunk({"reasoning": "hm"}), chunk({"reasoning": ".", "content": "One"}), STOP),
    ),
    (
        "both in the border delta, SGLang",
        "sglang",
        streamed(chunk({"reasoning_content": "hm", "content": "One"}), STOP),
    ),
    ("reasoning and content in one object", "openai", whole({"reasoning_content": "hm", "content": "One"})),
    ("empty reasoning field", "openai", whole({"reasoning_content": "", "content": "One"})),
    ("reasoning null", "openai", whole({"reasoning_content": None, "content": "One"})),
    (
        "reasoning asked for in German",
        "openai",
        streamed(chunk({"reasoning_content": "Die Frage"}), chunk({"content": "Eins"}), STOP),
    ),
    ("typed text parts", "openai", whole({"content": [{"type": "text", "text": "One"}]})),
    (
        "a character cut by the cap",
        "openai",
        whole(
            {"content": "One \ufffd"}, "length", usage={"prompt_tokens": 3, "completion_tokens": 64, "total_tokens": 67}
        ),
    ),
    (
        "question about U+FFFD",
        "openai",
        said(
            "It is \ufffd.", request=replace(HELLO, messages=({"role": "user", "content": "What does \ufffd mean?"},))
        ),
    ),
    (
        "an emoji in pieces",
        "openai",
        streamed(chunk({"content": "\U0001f469\u200d"}), chunk({"content": "\U0001f4bb"}), STOP),
    ),
    ("combining characters", "openai", said("e\u0301 and a\u030a")),
    ("right to left", "openai", said("\u05e7\u05d9\u05dc\u05d5 \u05d0\u05d7\u05d3")),
    ("a long rule", "openai", said("-" * 400)),
    ("a table", "openai", said("| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 30)),
    ("zeros", "openai", said("0" * 300)),
    ("refusal in words", "openai", said("I cannot help with that.")),
    ("refusal in its field", "openai", whole({"content": None, "refusal": "I cannot."})),
    ("the word content_filter", "openai", said("finish_reason is content_filter then")),
    (
        "filter results, all safe",
        "openai",
        whole(
            {"content": "One"},
            prompt_filter_results=[{"content_filter_results": {"hate": {"filtered": False, "severity": "safe"}}}],
        ),
    ),
    (
        "two choices",
        "openai",
        exchange_of(
            orjson.dumps(
                {
                    "model": MODEL,
                    "usage": USAGE,
                    "choices": [{"index": n, "message": {"content": "One"}, "finish_reason": "stop"} for n in (0, 1)],
                }
            ),
            replace(HELLO, stream=False),
            {"content-type": "application/json"},
        ),
    ),
    ("logprobs not asked for", "openai", whole({"content": "One"})),
    (
        "logprobs as asked",
        "openai",
        exchange_of(
            orjson.dumps(
                {
                    "model": MODEL,
                    "usage": USAGE,
                    "choices": [
                        {
                            "index": 0,
                            "message": {"content": "One"},
                            "finish_reason": "stop",
                            "logprobs": {
                                "content": [
                                    {
                                        "token": "One",
                                        "logprob": -0.1,
                                        "bytes": [79, 110, 101],
                                        "top_logprobs": [{"token": "One", "logprob": -0.1}],
                                    }
                                ]
                            },
                        }
                    ],
                }
            ),
            replace(HELLO, stream=False, top_logprobs=1),
            {"content-type": "application/json"},
        ),
    ),
    ("top_logprobs zero", "openai", whole({"content": "One"}, request=replace(HELLO, top_logprobs=0))),
    ("logprobs on a call", "openai", calls_in([call()], request=replace(TOOLS, top_logprobs=5))[0]),
    ("a turn without reasoning", "openai", said("It rains.", request=HISTORY)),
    (
        "a turn without reasoning, thinking off",
        "deepseek",
        said("It rains.", request=replace(HISTORY, reasoning_off=True)),
    ),
    ("a stop text asked about", "openai", said("END is a word", request=HELLO)),
]

ROWS: list[Row] = [*ABOUT_MARKUP, *FINISHES, *FRAMES, *NAMES, *COUNTS, *CALLS, *TEXTS]

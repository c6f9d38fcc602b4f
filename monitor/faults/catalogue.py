"""The 44 kinds, as data.

Sources of the symptoms: issue threads of vLLM, SGLang, llama.cpp, LiteLLM, Ollama and others, recorded traffic, and the
published verifiers of Moonshot, MiniMax and DeepSeek; what each client of ours must do is in the fault corpus.
"""

from monitor.faults.kinds import Fault, Form

_BOTH: tuple[Form, ...] = ("stream", "whole")
_STREAM: tuple[Form, ...] = ("stream",)
_PAIR: tuple[Form, ...] = ("pair",)
_SERIES: tuple[Form, ...] = ("series",)

_CALLS = (
    Fault(number=1, name="call_as_text", layer="parser", forms=_BOTH, of_calls=True, title="Tool call emitted as text",
          symptom="a call in the model's own markup, or as bare JSON, stands in the content; no `tool_calls`"),
    Fault(number=2, name="stop_with_calls", layer="protocol", forms=_BOTH, of_calls=True,
          title="Finish reason `stop` with calls",
          symptom="calls came, the finish reason is `stop`, and no named choice was asked for"),
    Fault(number=3, name="finish_without_calls", layer="protocol", forms=_BOTH, of_calls=True,
          title="Finish reason `tool_calls` without a call", symptom="the finish reason promises calls, none came"),
    Fault(number=4, name="bad_finish", layer="protocol", forms=_BOTH,
          title="Finish reason missing, unknown or given twice",
          symptom='`"stop_163586"`, `""` or null to the end, or two different reasons'),
    Fault(number=5, name="malformed_arguments", layer="schema", forms=_BOTH, of_calls=True,
          title="Arguments that are no JSON object",
          symptom="arguments cut, with trailing bytes, NaN or twice the same key, and not by the token limit",
          told_by="availability"),
    Fault(number=6, name="glued_token", layer="parser", forms=_BOTH, of_calls=True,
          title="Special token glued to a name or arguments",
          symptom="a template's special token stands in the name or behind the arguments of a call"),
    Fault(number=7, name="undeclared_tool", layer="decision", forms=_BOTH, of_calls=True,
          title="Function that nobody declared",
          symptom="the name of a call is none of the tools that were sent"),
    Fault(number=8, name="schema_violation", layer="schema", forms=_BOTH, of_calls=True,
          title="Arguments against their schema",
          symptom="arguments are JSON, but the tool's own schema refuses them"),
    Fault(number=9, name="duplicate_ids", layer="protocol", forms=_BOTH, of_calls=True, title="Two calls with one id",
          symptom="two calls of one answer carry the same id"),
    Fault(number=10, name="restarted_ids", layer="protocol", forms=_BOTH, of_calls=True,
          title="Ids start again with each turn",
          symptom="an id of the answer was already used in an earlier turn of the conversation"),
    Fault(number=11, name="id_format", layer="protocol", forms=_BOTH, of_calls=True,
          title="Id missing or of the wrong format",
          symptom="a call has no id, or not the one that the model was trained on (Kimi: `functions.NAME:N`)"),
    Fault(number=12, name="missing_index", layer="protocol", forms=_STREAM, of_calls=True,
          title="Call deltas without index",
          symptom="pieces of several calls do not say which call they belong to"),
    Fault(number=13, name="index_reused", layer="protocol", forms=_STREAM, of_calls=True,
          title="Parallel calls under one index",
          symptom="a second call comes under the index of a finished one"),
    Fault(number=14, name="name_repeated", layer="protocol", forms=_STREAM, of_calls=True,
          title="Name of a call repeated or split",
          symptom="the name comes again in later deltas, or in pieces"),
)  # fmt: skip

_ANSWERS = (
    Fault(number=15, name="broken_text", layer="protocol", forms=_BOTH, title="Characters broken into U+FFFD",
          symptom="U+FFFD or bytes that are no UTF-8 in the answer, and none in the question"),
    Fault(number=16, name="arguments_object", layer="protocol", forms=_BOTH, of_calls=True,
          title="Arguments as an object",
          symptom="`arguments` is JSON itself and not a string that holds it"),
    Fault(number=17, name="arguments_missing", layer="protocol", forms=_BOTH, of_calls=True,
          title="Arguments absent, null or empty",
          symptom='a call without arguments does not say `"{}"`'),
    Fault(number=18, name="thinking_leak", layer="parser", forms=_BOTH, title="Thinking in the content",
          symptom="`</think>` on its own or a whole thinking block in the content"),
    Fault(number=19, name="reasoning_field", layer="protocol", forms=_BOTH, title="Reasoning in another field",
          symptom="reasoning comes in a field that this kind of server does not use, or the field changes"),
    Fault(number=20, name="mixed_delta", layer="protocol", forms=_STREAM, title="Content and reasoning in one delta",
          symptom="one delta holds both"),
    Fault(number=21, name="empty_stop", layer="engine", forms=_BOTH, title="Empty answer that says stop",
          symptom="no content, no reasoning, no call, finish reason `stop`", told_by="availability"),
    Fault(number=22, name="only_reasoning", layer="content", forms=_BOTH, title="Nothing but reasoning",
          symptom="reasoning, then `stop`, and no visible word"),
    Fault(number=23, name="error_in_200", layer="protocol", forms=_BOTH, title="Error inside a 200 answer",
          symptom="an error object in the stream or in place of the answer, status 200", told_by="availability"),
    Fault(number=24, name="truncated_answer", layer="transport", forms=_BOTH, title="Answer cut off",
          symptom="the connection ends before a finish reason and an end marker", told_by="availability"),
    Fault(number=25, name="repetition_loop", layer="content", forms=_SERIES, title="Repetition loop",
          symptom="the answer ends in a cycle, more often than the reference's answers to the same prompts",
          told_by="shape"),
    Fault(number=26, name="cap_ignored", layer="engine", forms=_SERIES, title="`max_tokens` not kept",
          symptom="more tokens than the cap, or `length` well before it", told_by="parameters"),
    Fault(number=27, name="stop_ignored", layer="engine", forms=_SERIES, title="`stop` not kept",
          symptom="a stop text stands in the answer", told_by="parameters"),
    Fault(number=28, name="sampling_ignored", layer="sampler", forms=_SERIES, title="Temperature or seed ignored",
          symptom="temperature 0 gives different answers, or a high temperature always the same",
          told_by="parameters"),
    Fault(number=29, name="logprobs_ignored", layer="protocol", forms=_BOTH, title="Logprobs asked for, none came",
          symptom="no logprobs, or no alternatives, although `top_logprobs` was accepted", told_by="parameters"),
)  # fmt: skip

_CONTRACTS = (
    Fault(number=30, name="choice_ignored", layer="decision", forms=_BOTH, of_calls=True, title="`tool_choice` ignored",
          symptom="`required` without a call, a named choice with another one, `none` with a call"),
    Fault(number=31, name="parallel_ignored", layer="decision", forms=_BOTH, of_calls=True,
          title="`parallel_tool_calls` ignored",
          symptom="false was asked for, several calls came"),
    Fault(number=32, name="context_cut", layer="template", forms=_PAIR, title="Prompt cut in silence",
          symptom="the endpoint counts clearly fewer prompt tokens than the golden template makes",
          told_by="accounting"),
    Fault(number=33, name="template_drift", layer="template", forms=_PAIR, title="Another template",
          symptom="the prompt count differs from golden's by a few tokens", told_by="accounting"),
    Fault(number=34, name="reordered_schema", layer="template", forms=_SERIES, title="Schema keys sorted",
          symptom="arguments come in alphabetical order where the schema, and the reference, have another"),
    Fault(number=35, name="effort_ignored", layer="template", forms=_SERIES, title="Reasoning effort ignored",
          symptom="high effort thinks no longer than low, where the reference's does", told_by="parameters"),
    Fault(number=36, name="other_model", layer="routing", forms=_SERIES, title="Another model answers",
          symptom="the answer names another model and is another than the reference's; an alias alone is none",
          told_by="fidelity"),
    Fault(number=37, name="quantised", layer="weights", forms=_SERIES, title="Quantisation not disclosed",
          symptom="greedy answers leave the reference's more often than faithful engines do", told_by="fidelity"),
    Fault(number=38, name="cache_changes", layer="engine", forms=_SERIES, title="The prefix cache changes answers",
          symptom="the warm answer differs from the cold one, at temperature 0", told_by="long_context"),
    Fault(number=39, name="filter_injected", layer="content", forms=_BOTH, title="A filter stands in between",
          symptom="the finish reason is `content_filter`", told_by="availability"),
    Fault(number=40, name="language_mixing", layer="content", forms=_SERIES, title="Another script in the answer",
          symptom="characters of a script that the question does not use, more often than in the reference's answers",
          told_by="shape"),
    Fault(number=41, name="usage_wrong", layer="protocol", forms=_BOTH, title="Usage missing or impossible",
          symptom="no usage, sums that do not add up, zeros beside text, counts that go down or are no integers"),
    Fault(number=42, name="stream_differs", layer="parser", forms=_PAIR, title="Stream and non-stream differ",
          symptom="the same request at temperature 0 gives other calls, text or prompt tokens when it is streamed"),
    Fault(number=43, name="history_contract", layer="protocol", forms=_BOTH, title="Reasoning of earlier turns",
          symptom="a turn without its reasoning is refused where it may be missing, or taken where it must be there"),
    Fault(number=44, name="bad_framing", layer="framing", forms=_BOTH, title="Body that is not what it says",
          symptom="plain JSON for a stream, a wrong content type, no blank line at the end, lines of no known "
                  "field, a stream that was not asked for"),
)  # fmt: skip

CATALOGUE: tuple[Fault, ...] = _CALLS + _ANSWERS + _CONTRACTS
"""All kinds, by number."""

BY_NAME = {fault.name: fault for fault in CATALOGUE}

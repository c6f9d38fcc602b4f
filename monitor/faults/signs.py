"""Signs of behavioural kinds, by prompt: True where the answers to it look like the fault."""

from collections.abc import Callable, Mapping, Sequence

import orjson

from monitor.faults.bodies import cap_broken, renamed
from monitor.faults.profiles import PROFILES
from monitor.faults.seen import Seen
from monitor.faults.thought import thought
from monitor.shape import event_of
from monitor.tools.strict_json import read_object
from monitor.types import Exchange, Request

Sign = Callable[[Sequence[Exchange], Sequence[Exchange]], Mapping[str, bool]]
"""Of an endpoint's answers and the reference's; most signs need only the first."""

HOT = 1.0
"""From this temperature on, answers to one prompt are expected to differ."""

WIDE = 0.5
"""A nucleus below this makes hot answers agree."""

_LEAST_KEYS = 3


def sign_of(name: str) -> Sign:
    """Return the sign of the behavioural kind `name`. Raises KeyError for other kinds."""
    return _SIGNS[name]


def by_prompt(exchanges: Sequence[Exchange]) -> dict[str, list[Exchange]]:
    """Return the complete answers by conversation, in the order in which they came."""
    found: dict[str, list[Exchange]] = {}
    for exchange in exchanges:
        if exchange.answered and exchange.request is not None:
            key = orjson.dumps(exchange.request.messages, default=dict).decode()
            found.setdefault(key, []).append(exchange)
    return found


def by_request(exchanges: Sequence[Exchange]) -> dict[str, list[Exchange]]:
    """As `by_prompt`, but what was asked for otherwise (a stop text, a schema, more effort) stands by itself."""
    found: dict[str, list[Exchange]] = {}
    for prompt, some in by_prompt(exchanges).items():
        for one in some:
            asked = one.request
            more = asked and (asked.tools, asked.extra, asked.max_tokens, asked.top_p)
            found.setdefault(prompt + orjson.dumps(more, default=dict).decode(), []).append(one)
    return found


def _any(shows: Callable[[Exchange], bool]) -> Sign:
    """The sign of a prompt one of whose answers shows it."""

    def sign(endpoint: Sequence[Exchange], _reference: Sequence[Exchange]) -> Mapping[str, bool]:
        return {prompt: any(map(shows, some)) for prompt, some in by_prompt(endpoint).items()}

    return sign


def _looped(exchange: Exchange) -> bool:
    return bool(event_of(exchange).looped)


def _mixed(exchange: Exchange) -> bool:
    return bool(event_of(exchange).mixed)


def _over_cap(exchange: Exchange) -> bool:
    return cap_broken(Seen(exchange=exchange, profile=PROFILES["openai"])) is not None


def _past_stop(endpoint: Sequence[Exchange], reference: Sequence[Exchange]) -> Mapping[str, bool]:
    """Of prompts with a stop text: others cannot show it, and would make the power look better than it is."""
    asked = [one for one in endpoint if one.request and one.request.extra.get("stop")]
    return _any(lambda one: not {"stop_leak", "stop_ignored"}.isdisjoint(one.flags))(asked, reference)


def _sorted_keys(exchange: Exchange) -> bool:
    seen = Seen(exchange=exchange, profile=PROFILES["openai"])
    for call in exchange.choice.tool_calls:
        schema, value = seen.tools.get(call.name or ""), read_object(call.arguments).value
        declared = list(schema.get("properties", {})) if isinstance(schema, Mapping) else []
        if isinstance(value, dict):
            kept = [key for key in declared if key in value]
            said = [key for key in value if key in declared]
            if len(said) >= _LEAST_KEYS and said == sorted(said) != kept:
                return True
    return False


def _same_text(exchanges: Sequence[Exchange]) -> bool:
    return len({(one.choice.content, one.choice.tool_calls) for one in exchanges}) == 1


def _first_differs(exchanges: Sequence[Exchange]) -> bool:
    """Whether the first answer is another than all later ones, which agree: the pattern of a prefix cache."""
    return len(exchanges) > 1 and not _same_text(exchanges) and _same_text(exchanges[1:]) and _is_cold(exchanges)


def _is_cold(exchanges: Sequence[Exchange]) -> bool:
    first = exchanges[0].request
    return len(exchanges) > 2 or (first is not None and first.prompt_id.endswith("-cold"))


def _is_hot(request: Request) -> bool:
    return (request.temperature or 0) >= HOT and (request.top_p is None or request.top_p >= WIDE)


def _sampling(endpoint: Sequence[Exchange], _reference: Sequence[Exchange]) -> Mapping[str, bool]:
    found: dict[str, bool] = {}
    for prompt, some in by_request(endpoint).items():
        hot = [one for one in some if one.request and _is_hot(one.request)]
        cold = [one for one in some if one.request and one.request.temperature == 0]
        if len(hot) > 1:
            found[f"hot {prompt}"] = _same_text(hot)
        if len(cold) > 1:
            found[f"cold {prompt}"] = not _same_text(cold) and not _first_differs(cold)
    return found


def _caching(endpoint: Sequence[Exchange], _reference: Sequence[Exchange]) -> Mapping[str, bool]:
    found = {}
    for prompt, some in by_request(endpoint).items():
        cold = [one for one in some if one.request and one.request.temperature == 0]
        if len(cold) > 1:
            found[prompt] = _first_differs(cold)
    return found


def _effort(endpoint: Sequence[Exchange], _reference: Sequence[Exchange]) -> Mapping[str, bool]:
    found = {}
    for prompt, some in by_prompt(endpoint).items():
        by_effort = {one.request.extra.get("reasoning_effort"): one for one in some if one.request}
        if (low := by_effort.get("low")) and (high := by_effort.get("high")) and (told := thought([low], [high])):
            found[prompt] = told.high <= told.low
    return found


def _left(endpoint: Sequence[Exchange], reference: Sequence[Exchange]) -> Mapping[str, bool]:
    """Whether the first greedy answer is another than the reference's."""
    golden = by_prompt(reference)
    return {
        prompt: not _same_text([some[0], golden[prompt][0]])
        for prompt, some in by_prompt(endpoint).items() if prompt in golden
    }  # fmt: skip


def _renamed(endpoint: Sequence[Exchange], reference: Sequence[Exchange]) -> Mapping[str, bool]:
    other = _left(endpoint, reference)
    echoes = {
        prompt: any("model_mismatch" in one.flags or renamed(one.models) for one in some)
        for prompt, some in by_prompt(endpoint).items()
    }
    return {prompt: differs and echoes[prompt] for prompt, differs in other.items()}


_SIGNS: Mapping[str, Sign] = {
    "repetition_loop": _any(_looped), "cap_ignored": _any(_over_cap), "stop_ignored": _past_stop,
    "sampling_ignored": _sampling, "reordered_schema": _any(_sorted_keys), "effort_ignored": _effort,
    "other_model": _renamed, "quantised": _left, "cache_changes": _caching, "language_mixing": _any(_mixed),
}  # fmt: skip

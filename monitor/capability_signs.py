"""How each feature is told from answers: True it is kept, False it is ignored, None it cannot be told; and why."""

from collections.abc import Mapping, Sequence
from statistics import median_low

from monitor.faults.find import find
from monitor.faults.profiles import PROFILES
from monitor.faults.thought import thought
from monitor.plurals import plural
from monitor.tools.case import parameters_of
from monitor.tools.layers import cut_early, leaves_thought_out
from monitor.tools.markup import call_in_text
from monitor.tools.schemas import validate
from monitor.tools.strict_json import read_object
from monitor.types import Exchange
from monitor.wire.usage import read_usage

Variants = Mapping[str, Sequence[Exchange]]
Told = tuple[bool | None, str]

MORE_THOUGHT = 1.2
"""High effort must think so many times as much as low to be told from it."""

LEAST_CHARS = 40
"""Shorter answers are the same by chance at any temperature."""

_CUT = "cut by the cap"
_WORDS_PER_TOKEN = 2
"""Few tokens of any vocabulary hold two words."""

_CHARS_PER_TOKEN = 6.0
_LEAST_COUNTED = 0.7


def max_tokens(asked: Variants) -> Told:
    """A long answer ends at the cap."""
    for one in asked["cap"]:
        cap, counted = one.request.max_tokens if one.request else 0, read_usage(one.usage or {}).generated
        if counted is not None and counted > cap + 1:
            return False, f"{counted:g} tokens, {cap} asked for"
        words = len(_text(one).split())
        if words > _WORDS_PER_TOKEN * cap:
            return False, f"{words} words, {cap} tokens asked for"
        if one.choice.finish != "length":
            return None, "the answer ended by itself"
        if cut_early(one):
            return False, f"cut after {counted:g} of {cap} tokens"
        whole = f"{one.choice.reasoning} {one.choice.content}"
        # no token is less than a byte, and few hold more than a word
        fits = len(whole.split()) <= cap <= len(whole.encode())
        if (counted is None or leaves_thought_out(one)) and not fits:
            return None, "nobody counts the tokens"
    return True, "cut at the cap"


def stop(asked: Variants) -> Told:
    """The stop text, which the control holds, is not in the answer."""
    texts = asked["test"][0].request.extra["stop"] if asked["test"][0].request else []
    if not all(text in one.choice.content for one in asked["control"] for text in texts):
        return None, "the answer without `stop` does not hold the text"
    if any(text in one.choice.content for one in asked["test"] for text in texts):
        ends = all(one.choice.content.rstrip().endswith(tuple(texts)) for one in asked["test"])
        return False, "the answer ends with the stop text" if ends else "the stop text stands in the answer"
    reached = {_compact(one.choice.content.partition(text)[0]) for one in asked["control"] for text in texts}
    if not all(_compact(one.choice.content) in reached for one in asked["test"]):
        return None, "the answer does not come as far as the stop text"
    return True, "the answer ends before the stop text"


def n_choices(asked: Variants) -> Told:
    """As many choices as asked for."""
    one = asked["test"][0]
    wanted = one.request.extra["n"] if one.request else None
    return len(one.choices) == wanted, f"{len(one.choices)} choices, {wanted} asked for"


def seed(asked: Variants) -> Told:
    """One seed gives one answer, another gives another."""
    same, other = {_text(one) for one in asked["same"]}, {_text(one) for one in asked["other"]}
    if len(same) > 1:
        return False, "one seed, different answers"
    if other <= same:
        return None, "other seeds give the same answer: the sampler does not draw"
    return True, "one seed, one answer; another seed, another"


def temperature(asked: Variants) -> Told:
    """At 0 answers agree, at a high one they do not."""
    hot, cold = {_text(one) for one in asked["hot"]}, [_text(one) for one in asked["cold"]]
    if max(map(len, hot)) < LEAST_CHARS:
        return None, "answers too short to tell"
    if len(hot) == 1:
        return False, f"{len(asked['hot'])} answers at a high temperature are the same"
    if len(set(cold)) == len(cold):
        return False, "no two answers at temperature 0 are the same"
    return True, "the same at 0, different when hot"


def top_p(asked: Variants) -> Told:
    """A narrow nucleus makes hot answers agree."""
    if len({_text(one) for one in asked["control"]}) == 1:
        return None, "hot answers do not differ by themselves"
    narrow = [_text(one) for one in asked["test"]]
    if len(set(narrow)) == len(narrow):
        return False, "hot answers from a narrow nucleus all differ"
    return True, "hot answers from a narrow nucleus agree"


def logprobs(asked: Variants) -> Told:
    """Every token comes with its alternatives."""
    one = asked["test"][0]
    wanted = one.request.top_logprobs if one.request else None
    if not one.choice.logprobs:
        return False, "none came"
    most = median_low(len(entry.top) for entry in one.choice.logprobs)
    enough = 1 if "lowered:top_logprobs" in one.flags else wanted or 1
    return most >= enough, f"{most} alternatives, {wanted} asked for"


def is_json(asked: Variants) -> Told:
    """The answer is one JSON object, which it is not by itself."""
    if all(read_object(one.choice.content).fault is None for one in asked["control"]):
        return None, "the answer is JSON by itself"
    one = asked["test"][0]
    fault = read_object(one.choice.content).fault
    if fault is not None and one.choice.finish == "length":
        return None, _CUT
    return fault is None, fault or "one JSON object"


def schema(asked: Variants) -> Told:
    """The answer is what the schema wants."""
    one = asked["test"][0]
    read = read_object(one.choice.content)
    if read.fault is not None:
        return (None, _CUT) if one.choice.finish == "length" else (False, read.fault)
    wanted = one.request.extra["response_format"]["json_schema"]["schema"] if one.request else {}
    judged = validate(wanted, read.value)
    return judged.status == "valid", judged.keyword or "as the schema wants"


def effort(asked: Variants) -> Told:
    """High effort thinks more than low."""
    told = thought(asked["low"], asked["high"])
    if told is None:
        return None, "no reasoning came that could be measured"
    why = f"{told.high:g} against {told.low:g} {told.unit} of reasoning"
    return True if told.high >= MORE_THOUGHT * told.low else False if told.high <= told.low else None, why


def tool_none(asked: Variants) -> Told:
    """No call where none is allowed, neither delivered nor in the text, while the control calls."""
    calls = sum(_calls(one) for one in asked["test"])
    if calls:
        return False, plural(calls, "call")
    if not any(_calls(one) for one in asked.get("control", ())):
        return None, "no answer calls by itself"
    return True, "0 calls"


def tool_required(asked: Variants) -> Told:
    """A call although nothing calls for one."""
    calls = sum(len(one.choice.tool_calls) for one in asked["test"])
    if not calls and any(map(_half_a_call, asked["test"])):
        return None, _CUT
    return calls > 0, plural(calls, "call")


def tool_named(asked: Variants) -> Told:
    """The named function, although another one fits."""
    one = asked["test"][0]
    wanted = one.request.extra["tool_choice"]["function"]["name"] if one.request else None
    names = [call.name for call in one.choice.tool_calls]
    if not names and _half_a_call(one):
        return None, _CUT
    return bool(names) and set(names) == {wanted}, f"calls {', '.join(map(str, names)) or 'nothing'}"


def parallel(asked: Variants) -> Told:
    """At most one call where the control makes several."""
    if max(len(one.choice.tool_calls) for one in asked["control"]) < 2:
        return None, "no answer calls twice by itself"
    calls = max(len(one.choice.tool_calls) for one in asked["test"])
    return calls <= 1, plural(calls, "call")


def context(asked: Variants) -> Told:
    """A word at the head of a long prompt comes back, and the prompt is counted whole."""
    one = asked["test"][0]
    text = str(one.request.messages[0]["content"]) if one.request else ""
    least, counted = len(text) / _CHARS_PER_TOKEN, read_usage(one.usage or {}).input_total
    if counted is not None and counted < _LEAST_COUNTED * least:
        return False, f"{counted:g} prompt tokens of about {least:.0f}"
    needle = one.request.prompt_id.rpartition("/")[2] if one.request else ""
    return (True, "found at the head") if needle in one.choice.content else (None, "the word did not come back")


def model_echo(answers: Sequence[Exchange]) -> Told:
    """Answers name the model that was asked."""
    names = {name for one in answers for name in one.models}
    if not names:
        return None, "no answer names a model"
    wrong = any("model_mismatch" in one.flags for one in answers)
    return not wrong, f"{len(names)} name{'s' if len(names) > 1 else ''}, " + ("another" if wrong else "the asked one")


def usage(answers: Sequence[Exchange]) -> Told:
    """Counts come, and add up."""
    counted = [one for one in answers if one.usage is not None]
    if not counted:
        return None, "no answer counts tokens"
    wrong = [one for one in counted if any(hit.name == "usage_wrong" for hit in find(one, PROFILES["openai"]))]
    return not wrong, f"{len(counted) - len(wrong)} of {len(counted)} add up"


def _half_a_call(exchange: Exchange) -> bool:
    """Whether the cap may have cut a call: what came is no prose."""
    return exchange.choice.finish == "length" and exchange.choice.content.lstrip()[:1] in {"", "{", "[", "<"}


def _calls(exchange: Exchange) -> int:
    """How many calls came; one that stands in the text is one."""
    tools = parameters_of(exchange.request.tools) if exchange.request else {}
    return len(exchange.choice.tool_calls) or int(call_in_text(exchange.choice.content, tools) is not None)


def _compact(text: str) -> str:
    return "".join(text.split()).rstrip(",")


def _text(exchange: Exchange) -> str:
    return exchange.choice.content or exchange.choice.reasoning

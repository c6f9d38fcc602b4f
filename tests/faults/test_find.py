"""Every certain kind, in each form it has. Oracle: the catalogue's own words: exactly the named fault, nothing else."""

import pytest

from monitor.faults.catalogue import BY_NAME, CATALOGUE
from monitor.faults.find import faults, find
from monitor.faults.pairs import find_in_pair
from monitor.faults.profiles import PROFILES, profile_of
from monitor.types import Endpoint, Exchange
from tests.faults.inputs import CERTAIN, PROFILE, STREAM_ONLY, VARIANTS
from tests.faults.made import TOOLS, USAGE, call, calls_in, chunk, counts, said, streamed, whole

MINIMAL: list[tuple[str, str, Exchange]] = [
    *((name, form, one) for name, pair in CERTAIN.items() for form, one in zip(("stream", "whole"), pair, strict=True)),
    *((name, "stream", one) for name, one in STREAM_ONLY.items()),
]
IN_PAIRS = {"context_cut", "template_drift", "stream_differs"}
PROFILE_NOTES = [("minimax", "undeclared_tool"), ("minimax", "thinking_leak"), ("vllm", "mixed_delta")]


def ids(case: tuple[str, str, Exchange]) -> str:
    return "-".join(case[:2])


def test_the_catalogue_has_44_kinds_in_order() -> None:
    assert [fault.number for fault in CATALOGUE] == list(range(1, 45))
    assert len(BY_NAME) == 44


def test_every_kind_and_form_has_an_input() -> None:
    wanted = {(fault.name, form) for fault in CATALOGUE for form in fault.forms if form in {"stream", "whole"}}
    assert {(name, form) for name, form, _ in MINIMAL} == wanted
    assert {fault.name for fault in CATALOGUE if fault.forms == ("pair",)} == IN_PAIRS


@pytest.mark.parametrize("case", MINIMAL, ids=ids)
def test_minimal_input(case: tuple[str, str, Exchange]) -> None:
    name, _, exchange = case
    assert faults(exchange, PROFILES[PROFILE.get(name, "openai")]) == (name,)


@pytest.mark.parametrize(
    ("name", "face", "exchange"),
    [(name, *one) for name, some in VARIANTS.items() for one in some],
    ids=[f"{name}-{face}" for name, some in VARIANTS.items() for face, _ in some],
)
def test_further_faces(name: str, face: str, exchange: Exchange) -> None:
    assert faults(exchange, PROFILES["kimi" if face == "kimi" and name == "id_format" else "openai"]) == (name,)


@pytest.mark.parametrize(("profile", "name"), PROFILE_NOTES)
def test_a_profile_makes_a_note_of_it(profile: str, name: str) -> None:
    exchange = STREAM_ONLY[name] if name in STREAM_ONLY else CERTAIN[name][0]
    assert faults(exchange, PROFILES[profile]) == ()
    assert [(one.name, one.standing) for one in find(exchange, PROFILES[profile])] == [(name, "note")]


def test_what_profiles_want() -> None:
    kimi_id = calls_in([call(call_id="functions.get_weather:3")])[0]
    assert faults(kimi_id, PROFILES["kimi"]) == ()
    assert faults(calls_in([call(call_id="functions.snapshot:3")])[0], PROFILES["kimi"]) == ("id_format",)
    thought = streamed(chunk({"reasoning": "hm"}), chunk({"content": "One"}), chunk(finish="stop"))
    assert faults(thought, PROFILES["vllm"]) == ()
    assert faults(thought, PROFILES["deepseek"]) == ("reasoning_field",)


def test_the_profile_follows_dialect_then_family() -> None:
    made = Endpoint(name="a/b", provider="acme", base_url="http://h", model="moonshotai/Kimi-K2", dialect=None)
    assert profile_of(made).name == "kimi"
    vllm = Endpoint(name="a/b", provider="acme", base_url="http://h", model="moonshotai/Kimi-K2", dialect="vllm")
    assert profile_of(vllm).name == "vllm"
    plain = Endpoint(name="a/b", provider="acme", base_url="http://h", model="scale-1", dialect="groq")
    assert profile_of(plain).name == "openai"


@pytest.mark.parametrize(("golden", "name"), [(400, "context_cut"), (13, "template_drift"), (11, "template_drift")])
@pytest.mark.parametrize("form", ["stream", "whole"])
def test_prompt_counts_beside_golden(form: str, golden: int, name: str) -> None:
    """USAGE counts 12 prompt tokens."""
    exchange = said("One kilo.") if form == "stream" else whole({"content": "One kilo."})
    assert faults(exchange, PROFILES["openai"], golden_prompt=golden) == (name,)
    assert faults(exchange, PROFILES["openai"], golden_prompt=12) == ()


def pairs() -> list[tuple[str, Exchange, Exchange]]:
    call_stream, call_whole = calls_in([call()], text="Let me see.")
    bare_whole = whole({"tool_calls": [call()]}, "tool_calls", request=TOOLS)
    more = streamed(
        chunk({"content": "One kilo."}),
        chunk(finish="stop"),
        tail=counts({**USAGE, "prompt_tokens": 15, "total_tokens": 21}),
    )
    return [
        ("text after a call dropped without stream", call_stream, bare_whole),
        ("call missing in the stream", said("It rains.", request=TOOLS), call_whole),
        ("prompt counted otherwise", more, whole({"content": "One kilo."})),
    ]


@pytest.mark.parametrize(("about", "stream", "one"), pairs(), ids=[about for about, _, _ in pairs()])
def test_stream_and_whole_differ(about: str, stream: Exchange, one: Exchange) -> None:
    found = find_in_pair(stream, one, PROFILES["openai"])
    assert found is not None
    assert (found.name, found.standing) == ("stream_differs", "fault")
    assert faults(stream, PROFILES["openai"]) == faults(one, PROFILES["openai"]) == ()


def test_stream_and_whole_agree() -> None:
    assert find_in_pair(*calls_in([call()]), PROFILES["openai"]) is None
    assert find_in_pair(said("A kilo is one kilo."), whole({"content": "One."}), PROFILES["openai"]) is None

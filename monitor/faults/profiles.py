"""Policies: what is a fault of an endpoint of this kind, and what is only its way.

The same symptom is a fault at one kind of server and documented behaviour at another: undeclared names are what
MiniMax's own suite asks for, thinking in the content is what its API does, Kimi's parser needs ids of one format, a
DeepSeek model that calls tools wants its reasoning back.
"""

import re
from dataclasses import dataclass

from monitor.faults.kinds import Standing
from monitor.types import Endpoint


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One policy.

    ``notes`` are kinds that are no fault here. ``reasoning_in`` are the fields that reasoning may come in. ``call_id``
    is what an id of a call must look like; its group ``name`` must be that of the call. ``history`` says whether turns
    that thought must carry their reasoning back. ``named_choice`` says whether a named ``tool_choice`` is honoured.
    """

    name: str
    source: str
    notes: frozenset[str] = frozenset()
    reasoning_in: frozenset[str] = frozenset({"reasoning_content", "reasoning"})
    call_id: str = r"."
    history: bool = False
    named_choice: bool = True

    def standing(self, name: str) -> Standing:
        """What the symptom `name` is here."""
        return "note" if name in self.notes else "fault"

    def fits_id(self, call_id: str, name: str | None) -> bool:
        """Whether a call of this name may have this id."""
        found = re.match(self.call_id, call_id)
        return found is not None and found.groupdict().get("name", name) == name


PROFILES: dict[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(name="openai", source="OpenAI API reference; the fields of reasoning are those of its imitators"),
        Profile(name="vllm", notes=frozenset({"mixed_delta"}),
                source="vLLM: the delta at the end of thinking holds both; `reasoning` since 0.12"),
        Profile(name="sglang", notes=frozenset({"mixed_delta"}), reasoning_in=frozenset({"reasoning_content"}),
                source="SGLang, python/sglang/srt/entrypoints/openai"),
        Profile(name="kimi", reasoning_in=frozenset({"reasoning_content"}), named_choice=False,
                call_id=r"functions\.(?P<name>.+):\d+\Z",
                source="Kimi K2 tool-call guide; K3 takes `tool_choice` as a string only (K3 feature suite)"),
        Profile(name="minimax", notes=frozenset({"undeclared_tool", "thinking_leak"}),
                reasoning_in=frozenset({"reasoning_content", "reasoning_details"}),
                source="MiniMax M2/M3 API: thinking in the content unless `reasoning_split`; M3 format check 13_12"),
        Profile(name="deepseek", notes=frozenset({"sampling_ignored"}), reasoning_in=frozenset({"reasoning_content"}),
                history=True,
                source="api-docs.deepseek.com, thinking mode: with tool calls, and without effect of the temperature"),
    )
}  # fmt: skip

_FAMILIES = ("kimi", "minimax", "deepseek")


def profile_of(endpoint: Endpoint) -> Profile:
    """Return the policy for `endpoint`: that of its dialect, else of its provider or model family, else OpenAI's."""
    if endpoint.dialect in PROFILES:
        return PROFILES[endpoint.dialect]
    if endpoint.dialect is None:
        named = f"{endpoint.provider} {endpoint.model}".lower().replace("moonshot", "kimi")
        return next((PROFILES[family] for family in _FAMILIES if family in named), PROFILES["openai"])
    return PROFILES["openai"]

"""What one answer alone does not show: the two forms of a case, and prompts that differ in their tools only."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import orjson

from monitor.results import GoldenView
from monitor.tools.graded import Graded
from monitor.tools.layers import LAYERS, Symptom
from monitor.wire.usage import read_usage


class Pair(NamedTuple):
    """The same case asked in both forms."""

    stream: Graded
    whole: Graded

    @property
    def prompt_tokens_agree(self) -> bool | None:
        """Whether both forms count the same prompt; None where one counts none."""
        one, other = prompt_tokens(self.stream), prompt_tokens(self.whole)
        return None if one is None or other is None else one == other


def pairs(graded: Sequence[Graded]) -> list[Pair]:
    """Return the cases of which both forms arrived; of several answers in one form, those in order."""
    found: dict[str, dict[str, list[Graded]]] = defaultdict(lambda: {"stream": [], "whole": []})
    for one in graded:
        if one.arrived:
            found[one.case.case_id][one.form].append(one)
    return [Pair(s, w) for forms in found.values() for s, w in zip(forms["stream"], forms["whole"], strict=False)]


def design_of(graded: Sequence[Graded]) -> float:
    """Answers per case: they share its prompt, and an interval takes them for one, as if they all came out alike."""
    cases = len({one.case.case_id for one in graded})
    return max(1.0, len(graded) / cases) if cases else 1.0


def prompt_tokens(one: Graded) -> int | None:
    """Tokens of the prompt as the endpoint counts them, None where it does not."""
    total = read_usage(one.exchange.usage or {}).input_total
    return None if total is None or total <= 0 or total != int(total) else int(total)


def with_template(graded: Sequence[Graded], golden: Mapping[str, GoldenView]) -> tuple[Graded, ...]:
    """Return `graded` with what prompt tokens say of the template.

    ``tools_not_in_prompt`` where prompts that differ in their tools only have the same length (no reference needed, but
    not where golden's template leaves tools out too), or where an endpoint counts golden's prompt without its tools;
    ``prompt_differs`` where it counts any other length than golden's, of tools that have name, description and
    parameters.
    """
    blind = _blind(graded)
    return tuple(_with(one, _template(one, golden.get(one.exchange.exchange_id), blind)) for one in graded)


def _with(one: Graded, symptom: Symptom | None) -> Graded:
    if symptom is None:
        return one
    found = sorted((*one.symptoms, symptom), key=lambda each: LAYERS.index(each.layer))
    return replace(one, symptoms=tuple(found))


def _template(one: Graded, view: GoldenView | None, blind: frozenset[bytes]) -> Symptom | None:
    counted = prompt_tokens(one)
    if not one.arrived or counted is None or not _says_tools(one):
        return None
    golden = view.prompt_tokens if view is not None and _is_spelled_out(one) else None
    tools = view.prompt_parts.get("tools") if view is not None else None
    shown = f"{counted} prompt tokens" + (f", {golden} golden" if golden is not None else "")
    dropped = _talk(one) in blind and tools != 0  # golden's own template may have no place for tools
    if dropped or (golden is not None and tools and counted == golden - tools):
        return Symptom(layer="template", name="tools_not_in_prompt", shown=shown)
    if golden is not None and counted != golden:
        return Symptom(layer="template", name="prompt_differs", shown=shown)
    return None


def _is_spelled_out(one: Graded) -> bool:
    """Whether all servers render the same tools: some write keys that a tool lacks (llama.cpp ``parameters: {}``)."""
    functions = [tool.get("function", {}) for tool in one.case.tools]
    return all({"name", "description", "parameters"} <= function.keys() for function in functions)


def _blind(graded: Sequence[Graded]) -> frozenset[bytes]:
    """Conversations whose prompt has one length, however different the tools beside them are."""
    lengths: dict[bytes, dict[bytes, set[int]]] = defaultdict(lambda: defaultdict(set))
    for one in graded:
        counted = prompt_tokens(one)
        if one.arrived and counted is not None and _says_tools(one):
            lengths[_talk(one)][orjson.dumps(one.case.tools)].add(counted)
    return frozenset(
        talk for talk, by_tools in lengths.items()
        if len(by_tools) > 1 and len(set().union(*by_tools.values())) == 1
    )  # fmt: skip


def _says_tools(one: Graded) -> bool:
    """Whether the tools belong into the prompt; with ``tool_choice`` none, servers may leave them out."""
    return bool(one.case.tools) and one.case.tool_choice != "none"


def _talk(one: Graded) -> bytes:
    return orjson.dumps(one.case.messages, default=dict)

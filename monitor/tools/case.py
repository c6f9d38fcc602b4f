"""A case: what is asked, and what a right answer does. And the way from a case to requests and back.

The name of a request carries the case, what is expected and the form, so that answers can be graded years later from
the request alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from monitor.types import Request

Expect = Literal["call", "none", "any"]
"""Whether a right answer calls a tool; ``any``: nothing is claimed."""

Form = Literal["stream", "whole"]
FORMS: tuple[Form, ...] = ("stream", "whole")

_SEPARATOR = "|"
_NOT_BODY = frozenset({"tool_choice", "parallel_tool_calls"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that a right answer makes. ``arguments`` None: any; else those that must be there with these values."""

    name: str
    arguments: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question about tools.

    ``messages`` and ``tools`` have the OpenAI chat shape, ``tool_choice`` and ``parallel`` (``parallel_tool_calls``)
    are None where the request does not say them. ``calls`` are expected in any order. ``body`` are further fields of
    the request. ``max_tokens`` and ``temperature`` override what the probe says. ``tags`` group cases.
    """

    case_id: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | Mapping[str, Any] | None = None
    parallel: bool | None = None
    expect: Expect = "any"
    calls: tuple[ExpectedCall, ...] = ()
    body: Mapping[str, Any] = field(default_factory=dict)
    max_tokens: int | None = None
    temperature: float | None = None
    tags: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema of each declared function by its name; None for one without."""
        return parameters_of(self.tools)

    @property
    def named(self) -> str | None:
        """The function that ``tool_choice`` names, None where it names none."""
        return named_in(self.tool_choice)

    def request(self, form: Form, *, max_tokens: int, temperature: float | None, seed: int | None = None) -> Request:
        """Return the request in one form; `max_tokens` and `temperature` hold where the case says nothing."""
        said = {"tool_choice": self.tool_choice, "parallel_tool_calls": self.parallel}
        return Request(
            prompt_id=_SEPARATOR.join((self.case_id, self.expect, form)), messages=self.messages, tools=self.tools,
            max_tokens=self.max_tokens or max_tokens, stream=form == "stream", seed=seed,
            temperature=self.temperature if self.temperature is not None else temperature,
            extra={**self.body, **{key: value for key, value in said.items() if value is not None}},
        )  # fmt: skip


def case_of(request: Request) -> Case:
    """Return the case behind `request`, without the calls that were expected. Any request has one."""
    case_id, expect, _ = _named(request)
    choice, parallel = request.extra.get("tool_choice"), request.extra.get("parallel_tool_calls")
    return Case(
        case_id=case_id, expect=expect, messages=request.messages, tools=request.tools,
        tool_choice=choice if isinstance(choice, str | Mapping) else None,
        parallel=parallel if isinstance(parallel, bool) else None,
        body={key: value for key, value in request.extra.items() if key not in _NOT_BODY},
    )  # fmt: skip


def form_of(request: Request) -> Form:
    """Return the form in which `request` was asked."""
    return "stream" if request.stream else "whole"


def case_id_of(request: Request) -> str:
    """Return the name of the case behind `request`: what both forms share."""
    return _named(request)[0]


def parameters_of(tools: tuple[Mapping[str, Any], ...]) -> dict[str, Any]:
    """Return the schema of each function in `tools`, declared either way, by its name; None for one without."""
    declared = [inner if isinstance(inner := tool.get("function"), Mapping) else tool for tool in tools]
    return {
        one["name"]: one.get("parameters", one.get("input_schema")) for one in declared
        if isinstance(one.get("name"), str)
    }  # fmt: skip


def named_in(choice: Any) -> str | None:
    """Return the function that a ``tool_choice`` names; None where it names none."""
    function = choice.get("function") if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    return name if isinstance(name, str) else None


def _named(request: Request) -> tuple[str, Expect, str]:
    parts = request.prompt_id.rsplit(_SEPARATOR, 2)
    if len(parts) == 3:
        case_id, expect, form = parts
        if expect in {"call", "none", "any"} and form in FORMS:
            return case_id, expect, form  # type: ignore[return-value]  # just looked
    return request.prompt_id, "any", form_of(request)

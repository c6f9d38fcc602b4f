"""Chat templates, rendered as transformers and vLLM render them, without either."""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NoReturn, Self

from jinja2 import TemplateError
from jinja2.ext import Extension
from jinja2.nodes import Node
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from monitor.errors import GoldenError, TaskRefusedError

# What a template written by a stranger can raise besides TemplateError when a message has not the shape it expects.
_TEMPLATE_FAULTS = (TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError)


class _Generation(Extension):
    """``{% generation %}...{% endgeneration %}`` marks the assistant's part for training; here it changes nothing."""

    tags = {"generation"}  # noqa: RUF012  # jinja2 declares it so

    def parse(self, parser: Parser) -> list[Node]:
        """Return the body of the block."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class ChatTemplate:
    """The chat templates of one model.

    Parameters
    ----------
    sources : Mapping
        Template texts by name; ``default`` is used, or ``tool_use`` where it exists and tools are given.
    variables : Mapping
        What every rendering sees besides the conversation (``bos_token``, ``eos_token``, ...).
    now : Callable
        The clock behind ``strftime_now``, which some templates put into their system prompt.

    Raises
    ------
    GoldenError
        When a template cannot be parsed.
    """

    def __init__(self, sources: Mapping[str, str], variables: Mapping[str, Any], now: Callable[[], datetime]) -> None:
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
        )
        environment.filters["tojson"] = _tojson
        environment.globals["raise_exception"] = _raise_exception
        environment.globals["strftime_now"] = lambda pattern: now().strftime(pattern)
        self._variables = dict(variables)
        try:
            self._templates = {name: environment.from_string(text) for name, text in sources.items()}
        except TemplateError as error:
            raise GoldenError(f"the golden chat template cannot be parsed: {error}") from error

    @classmethod
    def of(cls, source: str) -> Self:
        """Return the template with the text `source` alone: no special tokens, and a date that stands still."""
        return cls({"default": source}, {}, lambda: datetime(2000, 1, 1, tzinfo=UTC))

    def render(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = (), *, stub: bool = True
    ) -> str:
        """Return the text that asks the model for the next answer; without its last words when `stub` is False.

        Raises
        ------
        GoldenError
            When the model has no template.
        TaskRefusedError
            When its template refuses the conversation.
        """
        name = "tool_use" if tools and "tool_use" in self._templates else "default"
        if name not in self._templates:
            raise GoldenError("the golden folder has no chat template; put chat_template.jinja into it")
        try:
            return self._templates[name].render(
                messages=[_as_templates_expect(message) for message in messages],
                tools=[dict(tool) for tool in tools] or None,
                documents=None,
                add_generation_prompt=stub,
                **self._variables,
            )
        except _TEMPLATE_FAULTS as error:
            raise TaskRefusedError(f"the golden chat template refuses this conversation: {error}") from error


def _as_templates_expect(message: Mapping[str, Any]) -> dict[str, Any]:
    """Turn text parts into text and argument strings into objects, as vLLM does before it renders."""
    plain = dict(message)
    if isinstance(plain.get("content"), list):
        plain["content"] = "\n".join(part["text"] for part in plain["content"] if part.get("type") == "text")
    if plain.get("tool_calls"):
        plain["tool_calls"] = [_with_parsed_arguments(call) for call in plain["tool_calls"]]
    return plain


def _with_parsed_arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function", {}))
    try:
        function["arguments"] = json.loads(function["arguments"])
    except (KeyError, TypeError, ValueError):
        return dict(call)  # an object already, or broken on purpose: the template gets it as it is
    return {**call, "function": function}


def _tojson(
    value: object,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON without the HTML escapes of jinja2's own filter: models were trained on plain JSON."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _raise_exception(message: str) -> NoReturn:
    raise TemplateError(message)

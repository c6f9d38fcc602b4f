"""Configurations of promptfoo: prompts x tests, with those assertions that need no model and run no code.

Supported: equals, contains and its forms, starts-with, regex, is-json with a schema, is-valid-openai-tools-call, and
``not-`` before the first four. Templates are filled in where they are plain names; of providers only their tools are
taken, where all have the same. All else is listed.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import orjson

from monitor.errors import UsageError
from monitor.suites.importers.imported import Rows, require_alone
from monitor.suites.importers.promptfoo_asserts import oracle_of
from monitor.suites.importers.texts import UnfitError, document, filled, keys_of, listing, mapping, worded
from monitor.suites.reading import MAX_CASES

MAX_COMBINATIONS = 10_000
# All else changes what is asked or how it is graded, or may do so in a later version of promptfoo.
_TOP = frozenset({
    "$schema", "description", "tags", "prompts", "providers", "targets", "tests", "defaultTest", "outputPath",
    "sharing", "writeLatestResults",
})  # fmt: skip
_TEST = frozenset({"description", "vars", "assert", "metadata", "options"})
_OPTIONS = frozenset({"rubricPrompt", "factuality"})
_FILES = (("file://", "exec:", "http"), (".txt", ".json"))


class Promptfoo:
    """Prompts x tests."""

    kind: ClassVar[str] = "promptfoo"

    def recognises(self, text: str) -> bool:
        """Whether this is a configuration of promptfoo."""
        return {"prompts", "tests"} <= keys_of(text)

    def read(self, text: str, beside: str | None) -> Rows:
        """Read the product of prompts and tests."""
        require_alone(self.kind, beside)
        config, found = document(text), Rows(notes=["of providers only tools are taken: the run names the endpoint"])
        prompts, tests = config.get("prompts"), config.get("tests")
        if not isinstance(tests, list):
            raise UsageError("`tests` is no list: files of tests are not read; write them into the configuration")
        for key in (key for key in config if key not in _TOP):
            found.leave(key, f"{key} of the configuration")
        listed = prompts if isinstance(prompts, list) else [prompts]
        if len(listed) * len(tests) > MAX_CASES:
            raise UsageError(f"more than {MAX_CASES} pairs of a prompt and a test; split the file")
        pairs = (
            (f"tests[{number}]" if len(listed) == 1 else f"prompts[{at}] x tests[{number}]", (prompt, test))
            for (at, prompt), (number, test) in itertools.product(enumerate(listed), enumerate(tests))
        )
        default, tools = config.get("defaultTest"), _tools(config.get("providers", config.get("targets")))
        found.each(pairs, lambda where, pair: _cases(found, where, pair[0], (default, pair[1]), tools))
        return found


def _tools(providers: Any) -> list[Any]:
    """The tools that the configuration gives to every provider alike; none where they differ or are a file."""
    listed = providers if isinstance(providers, list) else [providers]
    configs = [one.get("config") if isinstance(one, dict) else None for one in listed]
    first, *rest = [one.get("tools") if isinstance(one, dict) else None for one in configs] or [None]
    return first if isinstance(first, list) and all(one == first for one in rest) else []


def _cases(found: Rows, where: str, prompt: Any, tests: tuple[Any, Any], tools: list[Any]) -> None:
    """Take the cases of one prompt and one of the tests, of which the first is the default."""
    default, test = tests
    if not isinstance(test, dict):
        raise UnfitError("test that is a file or no object")
    text, both = _prompt(prompt), (_looked_at(default, "defaultTest"), _looked_at(test, "test"))
    named, tagged = worded(test.get("description") or where, "description"), _merged(both, "metadata").get("tag")
    asserts = [one for side in both for one in listing(side.get("assert"), "assert")]
    for values in _expanded(_merged(both, "vars")):
        found.add(where, {
            "id": named, "messages": _messages(filled(text, values)),
            "oracles": _oracles(found, where, asserts, values, tools), "tools": tools,
            "tags": [] if tagged is None else [worded(tagged, "tag")],
        })  # fmt: skip


def _oracles(
    found: Rows, where: str, asserts: list[Any], values: Mapping[str, Any], tools: list[Any]
) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = []

    def take(_where: str, one: Any) -> None:
        oracle = oracle_of(one, values)
        if oracle["kind"] == "tool_call" and not tools:
            raise UnfitError(f"assertion {one['type']} without `config.tools`, a list, alike in all providers")
        made.append(oracle)

    found.each(((where, one) for one in asserts), take)
    return made


def _prompt(given: Any) -> str:
    text = given.get("raw") if isinstance(given, dict) else given
    if not isinstance(text, str) or text.startswith(_FILES[0]) or text.endswith(_FILES[1]):
        raise UnfitError("prompt that is a file or a function")
    return text


def _looked_at(given: Any, what: str) -> dict[str, Any]:
    """A test, when all that it says can be taken over."""
    test = mapping(given, what)
    odd = [key for key in test if key not in _TEST]
    odd += [key for key in mapping(test.get("options"), "options") if key not in _OPTIONS]
    if odd:
        raise UnfitError(f"{what} with {odd[0]}")
    return test


def _merged(both: tuple[dict[str, Any], dict[str, Any]], key: str) -> dict[str, Any]:
    return {name: one for side in both for name, one in mapping(side.get(key), key).items()}


def _expanded(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination, where a variable is a list."""
    many = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    if not all(many.values()):
        raise UnfitError("variable that is an empty list")
    if math.prod(map(len, many.values())) > MAX_COMBINATIONS:
        raise UnfitError(f"test with more than {MAX_COMBINATIONS} combinations of variables")
    for chosen in itertools.product(*many.values()):
        made = dict(zip(many, chosen, strict=True))
        if any(isinstance(one, str) and one.startswith("file://") for one in made.values()):
            raise UnfitError("variable that is a file")
        if any(isinstance(one, str) and ("{{" in one or "{%" in one) for one in made.values()):
            raise UnfitError("variable that holds a template itself")
        yield made


def _messages(text: str) -> list[dict[str, Any]]:
    """A prompt that is a JSON list of messages is those messages."""
    if text.lstrip().startswith("["):
        try:
            parsed = orjson.loads(text)
        except orjson.JSONDecodeError:
            parsed = None
        if isinstance(parsed, list) and parsed and all(isinstance(one, dict) and "role" in one for one in parsed):
            return parsed
    return [{"role": "user", "content": text}]


IMPORTER = Promptfoo

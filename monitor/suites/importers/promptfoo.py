"""Configurations of promptfoo: prompts x tests, with those assertions that need no model and run no code.

Supported: equals, contains and its forms, starts-with, regex, is-json with a schema, is-valid-openai-tools-call, and
``not-`` before the first four. Templates are filled in where they are plain names. All else is listed.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import orjson

from monitor.errors import UsageError
from monitor.suites.importers.imported import Rows, require_alone
from monitor.suites.importers.promptfoo_asserts import oracle_of
from monitor.suites.importers.texts import TemplateError, document, filled

MAX_COMBINATIONS = 10_000
_CHANGES = (
    "transform", "transformVars", "postprocess", "threshold", "assertScoringFunction", "provider", "prefix", "suffix",
)  # fmt: skip


class Promptfoo:
    """Prompts x tests."""

    kind: ClassVar[str] = "promptfoo"

    def recognises(self, text: str) -> bool:
        """Whether this is a configuration of promptfoo."""
        return {"prompts", "tests"} <= document(text).keys()

    def read(self, text: str, beside: str | None) -> Rows:
        """Read the product of prompts and tests."""
        require_alone(self.kind, beside)
        config, found = document(text), Rows(notes=["providers are not taken over: the endpoint is named at the run"])
        prompts, tests = config.get("prompts"), config.get("tests")
        if not isinstance(tests, list):
            raise UsageError("`tests` is no list: files of tests are not read; write them into the configuration")
        default = config.get("defaultTest") if isinstance(config.get("defaultTest"), dict) else {}
        listed = prompts if isinstance(prompts, list) else [prompts]
        for (at, prompt), (number, test) in itertools.product(enumerate(listed), enumerate(tests)):
            where = f"tests[{number}]" if len(listed) == 1 else f"prompts[{at}] x tests[{number}]"
            try:
                _case(found, where, prompt, default or {}, test)
            except TemplateError as error:
                found.leave(where, str(error))
        return found


def _case(found: Rows, where: str, prompt: Any, default: Mapping[str, Any], test: Any) -> None:
    if not isinstance(test, dict):
        raise TemplateError("test that is a file or no object")
    text = prompt.get("raw") if isinstance(prompt, dict) else prompt
    if not isinstance(text, str) or text.startswith(("file://", "exec:", "http")) or text.endswith((".txt", ".json")):
        raise TemplateError("prompt that is a file or a function")
    options = {**default, **(default.get("options") or {}), **test, **(test.get("options") or {})}
    changed = next((key for key in _CHANGES if key in options), None)
    if changed is not None:
        raise TemplateError(f"test with {changed}")
    asserts = [*(default.get("assert") or []), *(test.get("assert") or [])]
    for values in _expanded({**(default.get("vars") or {}), **(test.get("vars") or {})}):
        oracles = []
        for one in asserts:
            try:
                oracles.append(oracle_of(one, values))
            except TemplateError as error:
                found.leave(where, str(error))
        found.add(where, {
            "id": str(test.get("description") or where), "messages": _messages(filled(text, values)),
            "oracles": oracles, "tags": [str(test["metadata"]["tag"])] if "tag" in (test.get("metadata") or {}) else [],
        })  # fmt: skip


def _expanded(values: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination, where a variable is a list."""
    many = {key: value if isinstance(value, list) else [value] for key, value in values.items()}
    if math.prod(map(len, many.values())) > MAX_COMBINATIONS:
        raise TemplateError(f"test with more than {MAX_COMBINATIONS} combinations of variables")
    for chosen in itertools.product(*many.values()):
        made = dict(zip(many, chosen, strict=True))
        if any(isinstance(one, str) and one.startswith("file://") for one in made.values()):
            raise TemplateError("variable that is a file")
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

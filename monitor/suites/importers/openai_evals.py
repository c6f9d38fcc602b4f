"""Samples of OpenAI evals: ``{"input": [messages], "ideal": "text" or [texts]}``, one a line.

The class of the eval stands in a registry file beside the samples (``--with``): Match (the answer begins with an
ideal; taken where there is no registry), Includes (it holds one) and FuzzyMatch (one holds the other) are supported.
"""

import re
from typing import Any, ClassVar

from monitor.suites.importers.imported import Rows
from monitor.suites.importers.texts import document, first_object, objects


class OpenAIEvals:
    """Text samples."""

    kind: ClassVar[str] = "openai_evals"

    def recognises(self, text: str) -> bool:
        """Whether the first object has `input` and `ideal`."""
        return {"input", "ideal"} <= first_object(text).keys()

    def read(self, text: str, beside: str | None) -> Rows:
        """Read samples; `beside` is the registry file."""
        found = Rows()
        grading = _class(beside) if beside is not None else "Match"
        found.notes.append(f"graded as {grading}" + ("" if beside else ", the default; give the registry with --with"))
        for where, row in objects(text):
            messages = _messages(row.get("input"))
            ideals = [row["ideal"]] if isinstance(row.get("ideal"), str) else row.get("ideal")
            if messages is None or not isinstance(ideals, list) or not all(isinstance(one, str) for one in ideals):
                found.leave(where, "sample without `input` and `ideal` as messages and texts")
                continue
            oracles = _oracles(grading, [one for one in ideals if one.strip()])
            if oracles is None:
                found.leave(where, f"eval class {grading}")
                continue
            found.add(where, {"messages": messages, "oracles": oracles})
        return found


def _class(registry: str) -> str:
    """The last part of the class that the registry names, such as Match of evals.elsuite.basic.match:Match."""
    named = [one.get("class") for one in document(registry).values() if isinstance(one, dict) and one.get("class")]
    return str(named[0]).rpartition(":")[2] if named else "unknown"


def _messages(given: Any) -> list[dict[str, Any]] | None:
    if isinstance(given, str) and given:
        return [{"role": "user", "content": given}]
    fine = isinstance(given, list) and given and all(isinstance(one, dict) and "role" in one for one in given)
    return given if fine else None


def _oracles(grading: str, ideals: list[str]) -> list[dict[str, Any]] | None:
    if not ideals:
        return []
    if grading == "Match":
        starts = "|".join(re.escape(one).replace("\\ ", " ") for one in ideals)
        return [{"kind": "regex", "pattern": rf"^\s*(?:{starts})"}]
    if grading == "Includes":
        return [{"kind": "contains", "any": ideals}]
    if grading == "FuzzyMatch":
        return [{"kind": "contains", "any": ideals, "ignore_case": True}]
    return None


IMPORTER = OpenAIEvals

"""Samples of OpenAI evals: ``{"input": [messages], "ideal": "text" or [texts]}``, one a line.

The class of the eval stands in a registry file beside the samples (``--with``): Match (the answer begins with an
ideal; taken where there is no registry), Includes (it holds one) and FuzzyMatch (one holds the other) are supported.
"""

import re
from typing import Any, ClassVar

from monitor.suites.importers.imported import Rows
from monitor.suites.importers.texts import UnfitError, document, first_object, objects


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

        def take(where: str, row: dict[str, Any]) -> None:
            messages = messages_of(row.get("input"))
            ideals = [row["ideal"]] if isinstance(row.get("ideal"), str) else row.get("ideal")
            if messages is None or not isinstance(ideals, list) or not all(isinstance(one, str) for one in ideals):
                raise UnfitError("sample without `input` and `ideal` as messages and texts")
            oracles = _oracles(grading, [one for one in ideals if one.strip()])
            found.add(where, {"messages": messages, "oracles": oracles})

        found.each(objects(text, found.leave), take)
        return found


def _class(registry: str) -> str:
    """The last part of the class that the registry names, such as Match of evals.elsuite.basic.match:Match.

    Arguments other than the samples change what is asked or how it is graded: they are part of the name then.
    """
    one = next((one for one in document(registry).values() if isinstance(one, dict) and one.get("class")), {})
    arguments = one.get("args") or {}
    odd = [key for key in arguments if key != "samples_jsonl"] if isinstance(arguments, dict) else ["odd arguments"]
    return str(one.get("class", "unknown")).rpartition(":")[2] + (f" with {', '.join(odd)}" if odd else "")


def messages_of(given: Any) -> list[dict[str, Any]] | None:
    """Return the messages that an input is: one text, or a list of objects with roles; None for anything else."""
    if isinstance(given, str) and given:
        return [{"role": "user", "content": given}]
    fine = isinstance(given, list) and given and all(isinstance(one, dict) and "role" in one for one in given)
    return given if fine else None


def _oracles(grading: str, ideals: list[str]) -> list[dict[str, Any]]:
    if not ideals:
        return []
    if grading == "Match":
        starts = "|".join(re.escape(one).replace("\\ ", " ") for one in ideals)
        return [{"kind": "regex", "pattern": rf"^\s*(?:{starts})"}]
    if grading == "Includes":
        return [{"kind": "contains", "any": ideals}]
    if grading == "FuzzyMatch":
        return [{"kind": "contains", "any": ideals, "ignore_case": True}]
    raise UnfitError(f"eval class {grading}")


IMPORTER = OpenAIEvals

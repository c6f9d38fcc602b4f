"""Datasets of Inspect: ``{"input", "target", "id", "metadata"}``, JSON lines or a JSON list.

The scorer stands in Python code, which is not run; answers are graded as its ``includes()`` does: the answer holds a
target, case not minded.
"""

from typing import Any, ClassVar

from monitor.suites.importers.imported import Rows, require_alone
from monitor.suites.importers.openai_evals import _messages
from monitor.suites.importers.texts import first_object, objects

_SETUP = ("files", "sandbox", "setup")


class Inspect:
    """Samples with a target."""

    kind: ClassVar[str] = "inspect"

    def recognises(self, text: str) -> bool:
        """Whether the first object has `input` and `target`."""
        return {"input", "target"} <= first_object(text).keys()

    def read(self, text: str, beside: str | None) -> Rows:
        """Read samples."""
        require_alone(self.kind, beside)
        found = Rows(notes=["graded as includes(): the scorer is Python code, which is not run"])
        for where, row in objects(text):
            messages, targets = _messages(row.get("input")), _targets(row.get("target"))
            odd = [key for key in (*_SETUP, "choices") if row.get(key)]
            if odd or messages is None:
                found.leave(where, f"sample with {odd[0]}" if odd else "sample without `input`")
                continue
            found.add(where, {
                **({"id": str(row["id"])} if "id" in row else {}), "messages": messages,
                "oracles": [{"kind": "contains", "any": targets, "ignore_case": True}] if targets else [],
            })  # fmt: skip
        return found


def _targets(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else [given]
    return [str(one) for one in listed if isinstance(one, str | int | float) and str(one).strip()]


IMPORTER = Inspect

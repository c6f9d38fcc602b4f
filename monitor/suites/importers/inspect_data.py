"""Datasets of Inspect: ``{"input", "target", "id", "metadata"}``, JSON lines, a JSON list, or CSV with such a head.

The scorer stands in Python code, which is not run; answers are graded as its ``includes()`` does: the answer holds a
target, case not minded.
"""

from typing import Any, ClassVar

from monitor.suites.importers.imported import Rows, require_alone
from monitor.suites.importers.openai_evals import messages_of
from monitor.suites.importers.tables import has_head, table_rows
from monitor.suites.importers.texts import UnfitError, first_object, id_of, objects, worded

_SETUP = ("files", "sandbox", "setup")


class Inspect:
    """Samples with a target."""

    kind: ClassVar[str] = "inspect"

    def recognises(self, text: str) -> bool:
        """Whether the first object, or the head of a table, has `input` and `target`."""
        return {"input", "target"} <= first_object(text).keys() or has_head(text, ("input", "target"))

    def read(self, text: str, beside: str | None) -> Rows:
        """Read samples."""
        require_alone(self.kind, beside)
        found = Rows(notes=["graded as includes(): the scorer is Python code, which is not run"])

        def take(where: str, row: dict[str, Any]) -> None:
            messages, odd = messages_of(row.get("input")), [key for key in (*_SETUP, "choices") if row.get(key)]
            if odd or messages is None:
                raise UnfitError(f"sample with {odd[0]}" if odd else "sample without `input`")
            if not all(_is_text(one.get("content")) for one in messages):
                raise UnfitError("message with more than text")
            targets = _targets(row.get("target"))
            oracles = [{"kind": "contains", "any": targets, "ignore_case": True}] if targets else []
            found.add(where, {**id_of(row, "id"), "messages": messages, "oracles": oracles})

        rows = table_rows if has_head(text, ("input",)) else objects
        found.each(rows(text, found.leave), take)
        return found


def _is_text(content: Any) -> bool:
    """Whether a content can be sent as it is; pictures and sounds are written in words of Inspect's own."""
    parts = content if isinstance(content, list) else []
    return not any(isinstance(one, dict) and one.get("type") != "text" for one in parts)


def _targets(given: Any) -> list[str]:
    listed = given if isinstance(given, list) else [] if given is None else [given]
    return [text for text in (worded(one, "target") for one in listed) if text.strip()]


IMPORTER = Inspect

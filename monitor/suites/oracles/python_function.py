"""A function of the customer's own decides; it runs only where the user says `--allow-python`.

The suite names it. Nothing here imports it: who runs the suite hands over the functions that were allowed.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from monitor.suites.grade import RIGHT, Grade, Seen, untold, wrong

_ENTRY = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonFunction:
    """The function gets the text of the answer and returns whether it is right."""

    kind: ClassVar[str] = "python"

    entry: str
    """Entry point, ``package.module:function``."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        return None if _ENTRY.fullmatch(self.entry) else "`entry` must be package.module:function"

    def grade(self, seen: Seen) -> Grade:
        """Ask the function; one that is not there or raises leaves the answer ungraded."""
        function = seen.functions.get(self.entry)
        if function is None:
            return untold("python_not_allowed")
        try:
            return RIGHT if function(seen.text) else wrong("python_says_no")
        except Exception:  # noqa: BLE001  # a customer's code may raise anything, with words of the answer in it
            return untold("python_raised")


ORACLE = PythonFunction

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
    """The function gets the text of the answer and returns True where it is right, False where it is wrong."""

    kind: ClassVar[str] = "python"

    entry: str
    """Entry point, ``package.module:function``."""

    @property
    def problem(self) -> str | None:
        """Why this cannot be used."""
        return None if _ENTRY.fullmatch(self.entry) else "`entry` must be package.module:function"

    def grade(self, seen: Seen) -> Grade:
        """Ask the function; one that is not there, raises or returns something else leaves the answer ungraded."""
        function = seen.functions.get(self.entry)
        if function is None:
            return untold("python_not_allowed")
        try:
            said: object = function(seen.text)
        except (Exception, SystemExit):  # noqa: BLE001  # a customer's code may raise anything, with words of the answer in it
            return untold("python_raised")
        if not isinstance(said, bool):  # "no" would count as right
            return untold("python_no_bool")
        return RIGHT if said else wrong("python_says_no")


ORACLE = PythonFunction

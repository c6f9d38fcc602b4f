"""Whether an answer names the model that was asked for: aliases and dates are harmless, other names are not."""

import re
from typing import Literal

Naming = Literal["same", "same_dated", "variant_dropped", "mismatch", "unknown"]

_DATE = re.compile(r"[-@]\d{4}-?\d{2}-?\d{2}$")


def compare_models(requested: str, answered: str | None) -> Naming:
    """Return how `answered` relates to `requested`.

    Vendor prefix and letter case are ignored; ``same_dated`` differs by a full date suffix only, ``variant_dropped``
    by the ``:variant`` that was asked for; ``unknown`` when the answer names no model.
    """
    if not answered:
        return "unknown"
    asked, got = _base(requested), _base(answered)
    if asked == got:
        return "same"
    if asked.partition(":")[0] == got:
        return "variant_dropped"
    return "same_dated" if _DATE.sub("", asked) == _DATE.sub("", got) else "mismatch"


def _base(name: str) -> str:
    return name.strip().lower().rstrip("/").rpartition("/")[2]

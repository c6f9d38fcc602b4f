"""What is wrong with an endpoint, in a few words for the first line of a comparison."""

from collections.abc import Sequence

from monitor.comparison import Row
from monitor.comparison_figures import amount
from monitor.comparison_weights import bits_text, is_over_quantised, is_routed, missing_part, of, prompt_fault
from monitor.plurals import plural

_TOLD = 5
_BAD = frozenset({"fail", "suspect"})


def faults_text(rows: Sequence[Row]) -> str:
    """Say of each endpoint that fails or is suspect what is wrong with it; empty where none is."""
    bad = [row for row in rows if row.status in _BAD]
    told = [f"{row.endpoint.name} {short_fault(row)}" for row in bad[:_TOLD]]
    more = [f"{plural(len(bad) - _TOLD, 'other')} fail or are suspect"] if len(bad) > _TOLD else []
    return ", ".join((*told, *more))


def short_fault(row: Row) -> str:
    """Return such as ``drops the system turn`` or ``serves Q4_0 (4 bits per weight)``; it says nothing not judged."""
    found = row.identified
    if prompt_fault(row.verdicts) is not None:
        part = missing_part(row.verdicts)
        return f"drops {part}" if part else "does not feed the model golden's prompt"
    if found is not None and (is_over_quantised(row) or is_routed(row)):
        share = "" if found.share is None or not is_routed(row) else f" for about {found.share:.0%} of requests"
        return f"serves {found.name}{bits_text(found.name)}{share}"
    rate, told = row.estimates["availability"].value, of(row.verdicts, "availability")
    below = rate is not None and told is not None and told.threshold is not None and rate < told.threshold
    if rate is not None and told is not None and told.status == "fail" and below:
        return f"fails {amount(1 - rate, 'share')} of requests"
    return f"{'fails' if row.status == 'fail' else 'is suspect'}: {', '.join(row.causes) or 'cause unknown'}"

"""The table of docs/faults.md, made from the catalogue. ``python -m jobs.faults_page`` renews it; a test checks it."""

from pathlib import Path

from monitor.faults.catalogue import CATALOGUE
from monitor.faults.kinds import Fault
from monitor.faults.paired import KINDS
from monitor.faults.profiles import PROFILES, Profile

PAGE = Path(__file__).parents[1] / "docs" / "faults.md"
_BEGIN, _END = "<!-- table: python -m jobs.faults_page -->\n", "<!-- end of table -->\n"


def table() -> str:
    """Return the kinds, and below them the policies, as Markdown tables."""
    kinds = [
        "| # | fault | layer | looks like | forms | a note for | named by |",
        "|---|---|---|---|---|---|---|",
        *(_row(fault) for fault in CATALOGUE),
    ]
    policies = [
        "| profile | reasoning may come in | id of a call | reasoning goes back | named `tool_choice` | from |",
        "|---|---|---|---|---|---|",
        *(_policy(profile) for profile in PROFILES.values()),
    ]
    return "\n".join([*kinds, "", *policies]) + "\n"


def renewed(text: str) -> str:
    """Return the page `text` with the table as the catalogue makes it now."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}{table()}{end}{after}"


def _row(fault: Fault) -> str:
    excused = [name for name, profile in PROFILES.items() if fault.name in profile.notes]
    symptom = fault.symptom.replace("|", "\\|")
    here = ("faults",) if fault.told_by is None or fault.name in KINDS else ()
    namer = ", ".join(f"`{one}`" for one in (fault.told_by, *here) if one)
    return (
        f"| {fault.number} | `{fault.name}` {fault.title} | {fault.layer} | {symptom} | {', '.join(fault.forms)} "
        f"| {_code(*excused)} | {namer} |"
    )


def _policy(profile: Profile) -> str:
    call_id = "any" if profile.call_id == "." else _code(profile.call_id)
    return (
        f"| `{profile.name}` | {_code(*sorted(profile.reasoning_in))} | {call_id} "
        f"| {'must' if profile.history else 'may'} | {'honoured' if profile.named_choice else 'ignored'} "
        f"| {profile.source} |"
    )


def _code(*names: str) -> str:
    return ", ".join(f"`{name}`" for name in names).replace("|", "\\|") or "–"


if __name__ == "__main__":
    PAGE.write_text(renewed(PAGE.read_text(encoding="utf-8")), encoding="utf-8")

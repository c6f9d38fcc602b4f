"""What to type to compute a verdict again, or to ask again where it rests on more than its own runs."""

import re
import shlex
from collections.abc import Mapping

_RESTS_ON_MORE: Mapping[str, str] = {
    "fidelity": "audit {}", "speed_shift": "probe {} --kind speed", "parameters": "probe {} --kind parameters",
    "logprob_history": "status", "shape": "status", "suite": "probe {} --kind suite",
}  # fmt: skip
"""By detector, what asks again where a verdict rests on earlier runs too (`weighmaster audit --from` refuses those)."""


def replay_command(detector: str | None, endpoint: str, verdict_id: str) -> str:
    """Return the command line for a verdict of `detector` on `endpoint`, quoted for a shell."""
    if detector is not None and detector in _RESTS_ON_MORE:
        return f"weighmaster {_RESTS_ON_MORE[detector].format(_quoted(endpoint))}"
    return f"weighmaster audit --from {_quoted(verdict_id)}"


def _quoted(word: str) -> str:
    """A word as a shell reads it; names and ids of ours need no quotes."""
    return word if re.fullmatch(r"[\w./:-]+", word, re.ASCII) else shlex.quote(word)

"""Names the faults of one exchange. Pure; the same exchange always gets the same names."""

from monitor.faults.answers import find_in_answer
from monitor.faults.bodies import find_in_body, find_in_history, find_in_usage, find_symptoms
from monitor.faults.calls import find_in_calls, find_in_pieces
from monitor.faults.kinds import Found
from monitor.faults.profiles import Profile
from monitor.faults.seen import Seen
from monitor.shape import DROPPED
from monitor.types import Exchange

_JUDGED = frozenset({"ok", "ok_length", "empty", "unconfirmed", "filtered"})
"""Outcomes of answers that came to their end: only in these are absences signs."""


def find(
    exchange: Exchange, profile: Profile, *, golden_prompt: int | None = None, context: int | None = None
) -> tuple[Found, ...]:
    """Return what `exchange` shows of the catalogue, each kind once, faults before notes.

    Parameters
    ----------
    profile
        The policy that tells faults from notes.
    golden_prompt
        Tokens of the prompt under the golden template, for kinds 32 and 33.
    context
        Declared context, tokens: an answer that fills it may end by length early.
    """
    if DROPPED in exchange.flags:
        return ()  # without the text, its absence shows nothing
    seen = Seen(exchange=exchange, profile=profile, golden_prompt=golden_prompt, context=context)
    found = [*find_in_body(seen), *find_in_history(seen)]
    if exchange.outcome in _JUDGED:
        found += [*find_in_calls(seen), *find_in_pieces(seen), *find_in_answer(seen)]
        found += [*find_in_usage(seen), *find_symptoms(seen)]
    first = {one.name: one for one in reversed(found)}
    return tuple(sorted(first.values(), key=lambda one: (one.standing, one.name)))


def faults(exchange: Exchange, profile: Profile, *, golden_prompt: int | None = None) -> tuple[str, ...]:
    """Return the names of what is a fault of `exchange` under `profile`."""
    found = find(exchange, profile, golden_prompt=golden_prompt)
    return tuple(one.name for one in found if one.standing == "fault")

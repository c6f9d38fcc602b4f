"""How much answers thought. Oracles: counts and texts as they were made; the unknown is None."""

from dataclasses import replace

import pytest

from monitor.capability_signs import effort
from monitor.faults.signs import sign_of
from monitor.faults.thought import Thought, thought
from monitor.types import Exchange
from tests.faults.made import HELLO, whole


def answer(text: str = "", tokens: int | None = None, level: str = "low") -> Exchange:
    said = {"content": "One.", **({"reasoning_content": text} if text else {})}
    usage = {"prompt_tokens": 5, "completion_tokens": 60, "total_tokens": 65}
    details = {} if tokens is None else {"completion_tokens_details": {"reasoning_tokens": tokens}}
    return whole(said, request=replace(HELLO, extra={"reasoning_effort": level}), usage={**usage, **details})


HIDDEN, PLAIN = answer(tokens=30), answer("Hm, so it is.")


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [
        (answer(tokens=10), answer(tokens=30), Thought(10, 30, "tokens")),
        (answer("Hm.", 10), answer("Hm, hm.", 30), Thought(10, 30, "tokens")),
        (answer("Hm."), answer("Hm, hm."), Thought(3, 7, "characters")),
        (answer("Hm.", 10), answer("Hm, hm."), Thought(3, 7, "characters")),
        (answer(), answer("Hm."), Thought(0, 3, "characters")),
        (answer(), answer(), None),
        (answer(tokens=0), answer(tokens=0), None),
        (HIDDEN, PLAIN, None),
        (answer(), HIDDEN, None),
    ],
)  # fmt: skip
def test_like_is_held_against_like(low: Exchange, high: Exchange, wanted: Thought | None) -> None:
    """Tokens where both count, characters where one does not; nothing where one counts what it does not show."""
    assert thought([low], [high]) == wanted


def test_no_thought_at_all_is_no_ignored_effort() -> None:
    both = [answer(), answer(level="high")]
    assert sign_of("effort_ignored")(both, ()) == {}
    assert effort({"low": both[:1], "high": both[1:]})[0] is None


def test_characters_are_called_so() -> None:
    told = effort({"low": [answer("Hm.")], "high": [answer("Hm, hm.")]})
    assert told == (True, "7 against 3 characters of reasoning")

"""Picks the one word of a list that is of a kind, after three lists of which it is picked."""

import random
from typing import ClassVar

from monitor.suites.families.made import THINGS, Made, distinct, of_level, shown
from monitor.suites.oracles.contains import Contains

_SHOWN = 3


class Choosing:
    """More words to choose from are harder."""

    kind: ClassVar[str] = "choosing"
    levels: ClassVar[int] = 5

    def make(self, rng: random.Random, level: int) -> Made:
        """Make one list with one word of the kind that is asked for."""
        made = [_one(rng, of_level(level, 2, 3, 5, 8, 12)) for _ in range(_SHOWN + 1)]
        question, right, listed = made[-1]
        others = tuple(one for one in listed if one != right)
        return Made(
            messages=shown([(one, answer) for one, answer, _ in made[:_SHOWN]], question),
            oracles=(Contains(all=(right,), none=others, ignore_case=True),), max_tokens=12,
        )  # fmt: skip


def _one(rng: random.Random, n: int) -> tuple[str, str, list[str]]:
    wanted = rng.choice(sorted(THINGS))
    right = rng.choice(THINGS[wanted])
    others = sorted(one for kind, some in THINGS.items() if kind != wanted for one in some)
    # No other word may be part of the right one, or hold it: the oracle looks for texts.
    rest = [one for one in others if one not in right and right not in one]
    listed = [right, *distinct(rng, n - 1, rest)]
    rng.shuffle(listed)
    return f"Which of these is a {wanted}: {', '.join(listed)}?", right, listed


FAMILY = Choosing

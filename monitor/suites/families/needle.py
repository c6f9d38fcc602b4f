"""Finds one sentence in a long text that does not matter."""

import random
from typing import ClassVar

from monitor.suites.families.made import NAMES, THINGS, Made, asked, of_level, word
from monitor.suites.oracles.contains import Contains

_FILLERS = (
    "{name} walked to the market and bought a {fruit}.", "The {animal} slept near the {colour} door all day.",
    "{name} repaired the {vehicle} with a {tool}.", "Nobody had seen the {colour} {vehicle} before.",
    "{name} gave the {animal} a {fruit} and went home.",
)  # fmt: skip


class Needle:
    """Longer texts are harder: 4 to 240 sentences."""

    kind: ClassVar[str] = "needle"
    levels: ClassVar[int] = 5

    def make(self, rng: random.Random, level: int) -> Made:
        """Make a text with one secret number in it, and ask for the number."""
        n = of_level(level, 4, 12, 40, 110, 240)
        sentences = [_filler(rng) for _ in range(n)]
        place, number = word(rng), str(rng.randint(10_000, 99_999))
        sentences.insert(rng.randint(0, n), f"The secret number of {place} is {number}.")
        return Made(
            messages=asked(f"{' '.join(sentences)}\n\nWhat is the secret number of {place}?"),
            oracles=(Contains(all=(number,)),), max_tokens=32,
        )  # fmt: skip


def _filler(rng: random.Random) -> str:
    things = {kind: rng.choice(some) for kind, some in sorted(THINGS.items())}
    return rng.choice(_FILLERS).format(name=rng.choice(NAMES), **things)


FAMILY = Needle

"""Copies a text that no model has seen: 2 to 16 made-up words with a number at the end, after two that are copied."""

import random
from typing import ClassVar

from monitor.suites.families.made import Made, distinct, of_level, shown
from monitor.suites.oracles.exact import Exact


class Copying:
    """More words are harder."""

    kind: ClassVar[str] = "copying"
    levels: ClassVar[int] = 5

    def make(self, rng: random.Random, level: int) -> Made:
        """Make one text to copy."""
        n = of_level(level, 2, 4, 7, 11, 16)
        texts = [" ".join([*distinct(rng, n), str(rng.randint(100, 999))]) for _ in range(3)]
        pairs = [(f"Repeat: {text}", text) for text in texts[:2]]
        return Made(
            messages=shown(pairs, f"Repeat: {texts[-1]}"), oracles=(Exact(value=texts[-1], ignore_case=True),),
            max_tokens=16 + 6 * n,
        )  # fmt: skip


FAMILY = Copying

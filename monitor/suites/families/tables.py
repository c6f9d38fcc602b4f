"""Reads one cell of a table, after another that is read."""

import random
from typing import ClassVar

from monitor.suites.families.made import NAMES, Made, distinct, of_level, shown
from monitor.suites.oracles.contains import Contains


class Tables:
    """More rows are harder."""

    kind: ClassVar[str] = "tables"
    levels: ClassVar[int] = 5

    def make(self, rng: random.Random, level: int) -> Made:
        """Make a table of people with a room and a code, and ask for the code of one."""
        names = distinct(rng, of_level(level, 2, 4, 8, 14, 22), NAMES)
        codes = rng.sample(range(1000, 9999), len(names))
        rooms = rng.sample(range(100, 999), len(names))
        lines = [f"| {name} | {room} | {code} |" for name, room, code in zip(names, rooms, codes, strict=True)]
        table = "\n".join(["| name | room | code |", "|---|---|---|", *lines])
        first, chosen = rng.sample(range(len(names)), 2)
        others = tuple(str(code) for at, code in enumerate(codes) if at != chosen)
        solved = (f"{table}\n\nWhat is the code of {names[first]}?", str(codes[first]))
        return Made(
            messages=shown([solved], f"What is the code of {names[chosen]}?"),
            oracles=(Contains(all=(str(codes[chosen]),), none=others),), max_tokens=24,
        )  # fmt: skip


FAMILY = Tables

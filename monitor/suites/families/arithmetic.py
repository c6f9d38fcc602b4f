"""Adds, subtracts and multiplies, after four sums that are solved."""

import random
from typing import ClassVar

from monitor.suites.families.made import Made, of_level, shown
from monitor.suites.oracles.numeric import Numeric

_SHOWN = 4


class Arithmetic:
    """Single digits, two digits, a difference, three digits, a product of two-digit numbers."""

    kind: ClassVar[str] = "arithmetic"
    levels: ClassVar[int] = 5

    def make(self, rng: random.Random, level: int) -> Made:
        """Make one sum."""
        top = of_level(level, 9, 49, 99, 999, 99)
        sums = [_sum(rng.randint(2, top), rng.randint(2, top), level) for _ in range(_SHOWN + 1)]
        question, right = sums[-1]
        return Made(
            messages=shown([(one, str(result)) for one, result in sums[:_SHOWN]], question),
            oracles=(Numeric(value=float(right)),), max_tokens=16,
        )  # fmt: skip


def _sum(a: int, b: int, level: int) -> tuple[str, int]:
    if level == 3:
        return f"{a + b} - {b} =", a
    return (f"{a} * {b} =", a * b) if level == 5 else (f"{a} + {b} =", a + b)


FAMILY = Arithmetic

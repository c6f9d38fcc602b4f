"""Goes on with a pattern that it is shown: doubling, capitals, endings, first letters, turning round."""

import random
from collections.abc import Callable
from typing import ClassVar

from monitor.suites.families.made import Made, distinct, shown
from monitor.suites.oracles.exact import Exact

_RULES: tuple[Callable[[str], str], ...] = (
    lambda text: f"{text} {text}", lambda text: f"{text}ing", lambda text: text.upper(),
    lambda text: text[0], lambda text: text[::-1],
)  # fmt: skip
_SHOWN = 5


class Patterns:
    """Doubling is easy, turning a word round is hard."""

    kind: ClassVar[str] = "patterns"
    levels: ClassVar[int] = len(_RULES)

    def make(self, rng: random.Random, level: int) -> Made:
        """Make five words that a rule was applied to, and one that it has to be."""
        rule, words = _RULES[level - 1], distinct(rng, _SHOWN + 1)
        return Made(
            messages=shown([(one, rule(one)) for one in words[:_SHOWN]], words[-1]),
            oracles=(Exact(value=rule(words[-1])),), max_tokens=20,
        )  # fmt: skip


FAMILY = Patterns

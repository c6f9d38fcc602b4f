"""Changes a text as told, after three that are: the first word, the last, the second, sorted, turned round."""

import random
from collections.abc import Callable, Sequence
from typing import ClassVar

from monitor.suites.families.made import Made, distinct, shown
from monitor.suites.oracles.exact import Exact

_TASKS: tuple[tuple[str, Callable[[Sequence[str]], str]], ...] = (
    ("The first word of", lambda words: words[0]), ("The last word of", lambda words: words[-1]),
    ("The second word of", lambda words: words[1]),
    ("In alphabetical order", lambda words: " ".join(sorted(words))),
    ("In the opposite order", lambda words: " ".join(reversed(words))),
)  # fmt: skip
_SHOWN, _WORDS = 3, 4


class Strings:
    """The levels are other tasks, the hardest last."""

    kind: ClassVar[str] = "strings"
    levels: ClassVar[int] = len(_TASKS)

    def make(self, rng: random.Random, level: int) -> Made:
        """Make one task on four words."""
        task, rule = _TASKS[level - 1]
        made = [distinct(rng, _WORDS) for _ in range(_SHOWN + 1)]
        pairs = [(f"{task}: {' '.join(words)}", rule(words)) for words in made]
        question, right = pairs[-1]
        return Made(
            messages=shown(pairs[:_SHOWN], question), oracles=(Exact(value=right, ignore_case=True),), max_tokens=40
        )


FAMILY = Strings

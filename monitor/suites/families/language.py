"""Answers in the language that it is told to."""

import random
from typing import ClassVar

from monitor.suites.families.made import Made, asked
from monitor.suites.oracles.regex import Regex

_BY_WORDS = {
    "Spanish": r"(?i)\b(el|la|los|las|una?|es|de|y|en)\b.*\b(el|la|los|las|una?|es|de|y|en)\b",
    "French": r"(?i)\b(le|la|les|une?|est|de|des|et|dans)\b.*\b(le|la|les|une?|est|de|des|et|dans)\b",
    "German": r"(?i)\b(der|die|das|ein|eine|ist|und|in|den)\b.*\b(der|die|das|ein|eine|ist|und|in|den)\b",
}
_BY_SCRIPT = {
    "Russian": r"\p{Cyrillic}{3,}", "Greek": r"\p{Greek}{3,}", "Chinese": r"\p{Han}{2,}", "Arabic": r"\p{Arabic}{3,}",
}
_ABOUT = ("the sea", "a small dog", "the moon", "an old house", "winter", "bread", "a road", "my friend", "trees")
_ENGLISH = r"(?i)(\b(the|is|are|and|with|was|you)\b.*){3}"


class Language:
    """Level 1: languages of Latin script, told by their small words; level 2: others, told by their script."""

    kind: ClassVar[str] = "language"
    levels: ClassVar[int] = 2

    def make(self, rng: random.Random, level: int) -> Made:
        """Make one request for a sentence."""
        tongues = _BY_WORDS if level == 1 else _BY_SCRIPT
        tongue = rng.choice(sorted(tongues))
        oracles = (Regex(pattern=f"(?s){tongues[tongue]}"), Regex(pattern=f"(?s){_ENGLISH}", absent=True))
        return Made(
            messages=asked(f"Write one short sentence in {tongue} about {rng.choice(_ABOUT)}. Write only in {tongue}."),
            oracles=oracles, max_tokens=48,
        )  # fmt: skip


FAMILY = Language

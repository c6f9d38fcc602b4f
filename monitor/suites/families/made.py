"""What a family makes, and the words that it makes it of."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from monitor.suites.grade import Oracle


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One instance: what is asked, and what a right answer is."""

    messages: tuple[Mapping[str, Any], ...]
    oracles: tuple[Oracle, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    max_tokens: int = 32


class Family(Protocol):
    """Makes instances. ``levels`` is how many levels of difficulty there are, from 1."""

    kind: ClassVar[str]
    levels: ClassVar[int]

    def make(self, rng: random.Random, level: int) -> Made:
        """Make an instance of `level`; all that is random in it follows from `rng`."""
        ...


_HEADS = ("b", "br", "d", "f", "g", "gl", "k", "l", "m", "n", "p", "pr", "r", "s", "st", "t", "tr", "v", "z")
_HEARTS = ("a", "e", "i", "o", "u")
_TAILS = ("", "l", "m", "n", "r", "s", "x")

NAMES = (
    "Ada", "Amir", "Berta", "Carlos", "Dina", "Emil", "Fatima", "Greta", "Hugo", "Ines", "Jonas", "Kira", "Leon",
    "Mona", "Nils", "Olga", "Pedro", "Rosa", "Sven", "Tara", "Uwe", "Vera", "Wanda", "Yusuf", "Zoe",
)  # fmt: skip
THINGS: Mapping[str, tuple[str, ...]] = {
    "animal": ("cat", "dog", "horse", "cow", "sheep", "lion", "tiger", "bear", "rabbit", "mouse", "duck", "goat"),
    "fruit": ("apple", "banana", "cherry", "grape", "lemon", "mango", "orange", "peach", "pear", "plum", "melon"),
    "colour": ("red", "blue", "green", "yellow", "purple", "brown", "black", "white", "pink", "grey"),
    "vehicle": ("car", "bus", "train", "bicycle", "truck", "boat", "plane", "tram", "ship", "scooter"),
    "tool": ("hammer", "saw", "drill", "wrench", "pliers", "screwdriver", "chisel", "axe", "shovel", "rake"),
}


def asked(text: str) -> tuple[Mapping[str, Any], ...]:
    """Return `text` as the only message."""
    return ({"role": "user", "content": text},)


def shown(pairs: Sequence[tuple[str, str]], question: str) -> tuple[Mapping[str, Any], ...]:
    """Return a talk in which `pairs` of question and answer show what is wanted, and `question` comes last."""
    turns = [({"role": "user", "content": one}, {"role": "assistant", "content": other}) for one, other in pairs]
    return (*(turn for pair in turns for turn in pair), *asked(question))


def word(rng: random.Random, syllables: int = 2) -> str:
    """Return a word that can be said and means nothing."""
    return "".join(rng.choice(_HEADS) + rng.choice(_HEARTS) + rng.choice(_TAILS) for _ in range(syllables))


def distinct(rng: random.Random, n: int, pool: Sequence[str] | None = None) -> list[str]:
    """Return `n` different words, from `pool` or made up."""
    if pool is not None:
        return rng.sample(list(pool), n)
    found: dict[str, None] = {}
    while len(found) < n:
        found[word(rng)] = None
    return list(found)


def of_level(level: int, *values: int) -> int:
    """Return the value of `level`, of which the first is 1."""
    return values[level - 1]

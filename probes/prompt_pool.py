"""Many different prompts: 24 things to do with each of 40 subjects, 960 in all, none with a system message.

A probe that asks the same prompts for ever can be answered from a cache, or tuned to. So probes of text take other
prompts with every seed. All want plain English prose of some length: answers of one word say little.
"""

import random
from collections.abc import Iterable, Sequence

from probes.prompts import Conversation

SUBJECTS = (
    "a lighthouse", "photosynthesis", "the Roman aqueducts", "a bicycle gear", "sourdough bread", "the water cycle",
    "a chess opening", "the moons of Jupiter", "a library card", "honey bees", "a wooden bridge", "glaciers",
    "the printing press", "a violin", "compound interest", "coral reefs", "a train timetable", "volcanoes",
    "a vegetable garden", "the human heart", "paper folding", "a desert caravan", "tides", "a kite", "the Silk Road",
    "a compass", "migrating birds", "soap bubbles", "a town market", "earthquakes", "a telescope", "winter coats",
    "the alphabet", "a ferry crossing", "mushrooms", "a pocket watch", "rainbows", "a mountain hut", "salt",
    "a school orchestra",
)  # fmt: skip
TASKS = (
    "Explain {} to a curious ten-year-old.", "Write a short story that begins with {}.",
    "List five facts about {}, one sentence each.", "Describe {} without using any adjectives.",
    "Write a letter to a friend about {}.", "What could go wrong with {}? Give three examples.",
    "Compare {} with something from everyday life.", "Write a dialogue between two people about {}.",
    "Give a brief history of {}.", "Why do people care about {}? Answer in a paragraph.",
    "Write a news report about {}.", "Imagine a world without {}. What changes?",
    "Suggest a lesson plan about {}.", "Write four lines of verse about {}.",
    "What question about {} is hard to answer, and why?", "Describe the sounds and smells of {}.",
    "Write instructions for somebody who meets {} for the first time.", "Tell a joke about {} and explain it.",
    "Summarise what is known about {} in three sentences.", "Write a diary entry that mentions {}.",
    "Argue for and against spending money on {}.", "How would you photograph {}?",
    "Invent a museum room about {} and describe it.", "What does {} have to do with time?",
)  # fmt: skip


N_PROMPTS = len(SUBJECTS) * len(TASKS)
"""Prompts in the pool."""


def pool_prompts(n: int, seed: int, *, skip: int = 0) -> dict[str, Conversation]:
    """Return `n` prompts by name, without repetition, behind the first `skip` of the order that `seed` gives.

    The order does not depend on how many are taken: what is skipped is what was asked before.
    """
    if n < 1 or skip < 0 or skip + n > N_PROMPTS:
        raise ValueError(f"the pool has {N_PROMPTS} prompts, not {n} behind the first {skip}")
    rng = random.Random(seed)  # noqa: S311  # a choice, not a secret
    order: dict[int, None] = {}
    while len(order) < skip + n:
        order.setdefault(rng.randrange(N_PROMPTS))
    return {f"pool-{at}": _prompt(at) for at in list(order)[skip:]}


def named_prompts(names: Iterable[str]) -> dict[str, Conversation]:
    """Return prompts of the pool by the names that `pool_prompts` gives. Raises ValueError where there is none."""
    places = {name: name.removeprefix("pool-") for name in names}
    wrong = [name for name, at in places.items() if not at.isdecimal() or int(at) >= N_PROMPTS or name == at]
    if wrong:
        raise ValueError(f"the pool has no prompt {wrong[0]!r}, only pool-0 to pool-{N_PROMPTS - 1}")
    return {name: _prompt(int(at)) for name, at in places.items()}


def prompts_of(chosen: Sequence[str], n: int, seed: int, *, skip: int = 0) -> dict[str, Conversation]:
    """Return `n` prompts behind the first `skip` of `chosen`, in that order; of `pool_prompts` where none are chosen.

    Raises ValueError where there are not as many, or no prompt of such a name.
    """
    if not chosen:
        return pool_prompts(n, seed, skip=skip)
    if n < 1 or skip < 0 or skip + n > len(chosen):
        raise ValueError(f"`chosen` has {len(chosen)} prompts, not {n} behind the first {skip}")
    return named_prompts(chosen[skip : skip + n])


def _prompt(at: int) -> Conversation:
    task, subject = TASKS[at // len(SUBJECTS)], SUBJECTS[at % len(SUBJECTS)]
    return ({"role": "user", "content": task.format(subject)},)

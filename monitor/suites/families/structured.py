"""Writes what a sentence says as JSON of a shape that two others show."""

import json
import random
from typing import ClassVar

from monitor.suites.families.made import NAMES, THINGS, Made, distinct, of_level, shown
from monitor.suites.oracles.json_schema import JsonSchema

_SHOWN = 2


class Structured:
    """More keys are harder."""

    kind: ClassVar[str] = "structured"
    levels: ClassVar[int] = 4

    def make(self, rng: random.Random, level: int) -> Made:
        """Make one sentence to put into an object; all three have the same keys."""
        n = of_level(level, 1, 2, 3, 5)
        kinds = sorted(distinct(rng, n - 1, sorted(THINGS)))
        made = [_one(rng, kinds) for _ in range(_SHOWN + 1)]
        question, right = made[-1]
        schema = {
            "type": "object", "properties": {key: {"const": value} for key, value in right.items()},
            "required": list(right), "additionalProperties": False,
        }  # fmt: skip
        return Made(
            messages=shown([(one, json.dumps(value)) for one, value in made[:_SHOWN]], question),
            oracles=(JsonSchema(schema=schema, fenced=True),), max_tokens=20 + 16 * n,
        )  # fmt: skip


def _one(rng: random.Random, kinds: list[str]) -> tuple[str, dict[str, str]]:
    said = {"name": rng.choice(NAMES), **{kind: rng.choice(THINGS[kind]) for kind in kinds}}
    with_them = "".join(f", with the {kind} {said[kind]}" for kind in kinds)
    return f"{said['name']} is here{with_them}.", said


FAMILY = Structured

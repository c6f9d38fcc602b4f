"""All families, and the instances of one run."""

import hashlib
import hmac
import random
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import monitor.suites.families
from monitor.catalogue import scan
from monitor.suites.case import Generated, SuiteCase


@lru_cache(maxsize=1)
def families() -> dict[str, Any]:
    """Return the families by kind, ready to make."""
    return {kind: family() for kind, family in scan(monitor.suites.families, "FAMILY").items()}


def instances(generated: Sequence[Generated], secret: bytes, run: str) -> tuple[SuiteCase, ...]:
    """Return the fresh cases of one run.

    Parameters
    ----------
    secret
        What nobody else knows. Without it the instances of a run cannot be foretold, though this code is public.
    run
        Name of the run: another run has other instances, the same run always the same.
    """
    made = []
    for place, one in enumerate(generated):
        family = families()[one.family]
        seed = hmac.new(secret, f"{run}\0{place}\0{one.family}\0{one.level}".encode(), hashlib.sha256).digest()
        rng = random.Random(seed)  # noqa: S311  # what is secret is the seed
        for number in range(one.n):
            instance = family.make(rng, one.level)
            made.append(SuiteCase(
                case_id=f"{one.family}-{one.level}-{place + 1}.{number + 1}", messages=instance.messages,
                tools=instance.tools, oracles=instance.oracles, repeats=one.repeats, weight=one.weight,
                privacy=one.privacy, family=one.family, tags=(one.family,),
                parameters={"max_tokens": instance.max_tokens, "temperature": 0.0, **one.parameters},
            ))  # fmt: skip
    return tuple(made)

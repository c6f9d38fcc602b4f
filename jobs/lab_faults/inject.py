"""All injectors by the name of their fault, and the few that must remember earlier answers."""

import hashlib
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import orjson

from jobs.lab_faults.answer import Answer
from jobs.lab_faults.into_answers import INTO_ANSWERS
from jobs.lab_faults.into_calls import INTO_CALLS, Inject
from monitor.errors import UsageError
from monitor.faults.catalogue import BY_NAME


class Remembering:
    """Answers the first time as it is, and from then on as it was: whatever else was asked changes nothing."""

    def __init__(self) -> None:
        self._first: dict[bytes, Answer] = {}

    def __call__(self, answer: Answer) -> bool:
        """Take an answer; replace it when the conversation was answered before."""
        key = conversation(answer)
        known = self._first.setdefault(key, deepcopy(answer))
        answer.frames, answer.value = deepcopy(known.frames), deepcopy(known.value)
        return True


class WarmDiffers:
    """Answers a conversation that it has seen in other words."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()

    def __call__(self, answer: Answer) -> bool:
        """Take an answer; change it when the conversation was answered before."""
        key = conversation(answer)
        if key in self._seen:
            answer.say(answer.content + " indeed")
        self._seen.add(key)
        return True


def conversation(answer: Answer) -> bytes:
    """What makes two requests the same conversation in the same form."""
    kept: Mapping[str, Any] = {key: answer.asked.get(key) for key in ("model", "messages", "tools", "stream")}
    return hashlib.sha256(orjson.dumps(kept, option=orjson.OPT_SORT_KEYS)).digest()


_MADE: Mapping[str, Callable[[], Inject]] = {
    "sampling_ignored": Remembering, "effort_ignored": Remembering, "cache_changes": WarmDiffers,
}  # fmt: skip


def injector(name: str) -> Inject:
    """Return a fresh injector of the fault `name`.

    Raises
    ------
    UsageError
        When the catalogue has no such fault; names those that there are.
    """
    if name in _MADE:
        return _MADE[name]()
    found = INTO_CALLS.get(name) or INTO_ANSWERS.get(name)
    if found is None:
        raise UsageError(f"no fault {name!r}; there are: {', '.join(sorted(BY_NAME))}")
    return found

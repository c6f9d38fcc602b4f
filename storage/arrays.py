"""Token arrays apart from their records: they are most of the bytes, and not kept as long. Pure.

The record that stays says how many entries it had (``lp_count``, ``n_positions``), so that a reader can tell "there
were none" from "they are no longer kept".
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from monitor.codec import encode, plain
from monitor.results import JudgedRun
from monitor.types import Choice, Exchange

Json = dict[str, Any]

GONE = "logprobs_gone"
"""Flag of an exchange whose logprobs are no longer kept."""
POSITIONS_GONE = "the golden positions are no longer kept"
"""Problem of a golden view whose positions are no longer kept."""
NOT_KEPT = "its capture is no longer kept, or never was (store.retention)"
"""What is said of an exchange without a capture."""


def split_exchange(noun: Exchange) -> tuple[str, str | None]:
    """Return the record without token arrays, and the arrays of its choices (None when it has none)."""
    count = sum(len(choice.logprobs or ()) + len(choice.prompt_logprobs or ()) for choice in noun.choices)
    if not count:
        return encode(noun).decode(), None
    bare = tuple(replace(choice, logprobs=None, prompt_logprobs=None) for choice in noun.choices)
    record = plain(replace(noun, choices=bare)) | {"lp_count": count}
    return orjson.dumps(record).decode(), encode([_arrays(choice) for choice in noun.choices]).decode()


def _arrays(choice: Choice) -> Json:
    return {"logprobs": choice.logprobs, "prompt_logprobs": choice.prompt_logprobs}


def split_judged(noun: JudgedRun) -> tuple[str, dict[str, str]]:
    """Return the record without golden positions, and the positions by exchange id where there are any."""
    arrays = {view.exchange_id: encode(view.positions).decode() for view in noun.views if view.positions}
    record = plain(replace(noun, views=tuple(replace(view, positions=()) for view in noun.views)))
    for view, whole in zip(record["views"], noun.views, strict=True):
        if whole.positions:
            view["n_positions"] = len(whole.positions)
    return orjson.dumps(record).decode(), arrays


def join_exchange(record: Json, arrays: Mapping[str, str]) -> Json:
    """Return the record with its token arrays back in place; flagged where they are no longer kept."""
    if not record.pop("lp_count", 0):
        return record
    kept = arrays.get(record["exchange_id"])
    if kept is None:
        record["flags"] = [*record["flags"], GONE]
        return record
    for choice, columns in zip(record["choices"], orjson.loads(kept), strict=True):
        choice.update(columns)
    return record


def join_judged(record: Json, arrays: Mapping[str, str]) -> Json:
    """Return the record with the golden positions back in place; a view says so where they are no longer kept."""
    for view in record["views"]:
        if not view.pop("n_positions", 0):
            continue
        kept = arrays.get(view["exchange_id"])
        view["positions"] = [] if kept is None else orjson.loads(kept)
        if kept is None:
            view["problem"] = "; ".join(filter(None, (view["problem"], POSITIONS_GONE)))
    return record


def opened_capture(row: Mapping[str, Any] | None) -> Json:
    """The capture in a row as a document; without a row, why there is none."""
    if row is None:
        return {"capture": None, "reason": NOT_KEPT}
    return {"capture": orjson.loads(row["capture"]), "reason": None}

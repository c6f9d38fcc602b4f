"""What became of the slots, and what was spent, counted in memory. Same answer as the SQL of `storage.queries`."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from monitor.codec import plain
from monitor.types import ANSWERED
from storage.rows import Row

_Key = tuple[str, str, str, str | None]


def coverage_of(slots: Iterable[Row], exchanges: Iterable[Row], since: datetime | None) -> dict[str, list[Row]]:
    """Return ``{"slots", "spent"}`` of rows since an instant; see `ReadStore.coverage`."""
    return {
        "slots": plain(_slots([row for row in slots if since is None or row["slot_at"] >= since])),
        "spent": _spent([row for row in exchanges if since is None or row["at"] >= since]),
    }


def _slots(rows: list[Row]) -> list[Row]:
    n: Counter[_Key] = Counter()
    last: dict[_Key, datetime] = {}
    for row in rows:
        reason = None if row["reason"] is None else row["reason"].partition(":")[0]
        key = row["endpoint"], row["probe"], row["state"], reason
        n[key] += 1
        last[key] = max(last.get(key, row["slot_at"]), row["slot_at"])
    order = sorted(n, key=lambda key: (*key[:3], key[3] is not None, key[3] or ""))
    names = ("endpoint", "probe", "state", "reason")
    return [dict(zip(names, key, strict=True)) | {"n": n[key], "last_at": last[key]} for key in order]


def _spent(rows: list[Row]) -> list[Row]:
    found: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: str(row["endpoint"])):
        one = found.setdefault(
            row["endpoint"], {"endpoint": row["endpoint"], "tokens_in": 0, "tokens_out": 0, "n_uncounted": 0}
        )
        tokens = row["prompt_tokens"], row["completion_tokens"]
        one["tokens_in"] += tokens[0] or 0
        one["tokens_out"] += tokens[1] or 0
        one["n_uncounted"] += row["outcome"] in ANSWERED and None in tokens
    return list(found.values())

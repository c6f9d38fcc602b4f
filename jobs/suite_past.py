"""Earlier runs of a customer: what they came to, and which of them a new one is compared with."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jobs.suite_asking import mark_of
from jobs.suite_files import of_hash
from jobs.suite_shown import Line, Shown
from jobs.suite_store import Record, SuiteStore
from monitor.codec import decode, encode, plain
from monitor.suites.case import Suite, SuiteCase
from monitor.suites.groups import Group, grouped
from monitor.suites.outcome import Before, Outcome
from monitor.suites.rate import pass_rate
from monitor.suites.tally import Tally

FAILED = frozenset({"fail", "suspect"})
"""Verdicts after which a run is not what the next is compared with: else a loss that stays would be found once only."""
_SHORT = 8


def done_record(
    run: Record, found: Outcome, own: Sequence[Tally], golden: Sequence[Tally], digest: str | None
) -> Record:
    """Return what is kept of a run that is finished."""
    return {
        "kind": "done", "run": run["run"], "key": run["key"], "outcome": plain(found), "own": plain(list(own)),
        "golden": plain(list(golden)), "digest": digest,
    }  # fmt: skip


def before(store: SuiteStore, run: Record) -> dict[str, Before]:
    """Return the pinned baseline and the last run that did not fail, of the same suite, endpoint and parameters.

    The endpoint may have had another address then. Runs that were kept before that was noted are found by all of it.
    A run that failed is compared with only where its owner pinned it; then it takes the place of those before it.
    """
    alike = {
        one["run"] for one in store.of("run")
        if one["run"] != run["run"] and (one["key"] == run["key"] or one.get("like", "") == run.get("like"))
    }  # fmt: skip
    same = [one for one in store.of("done") if one["run"] in alike]
    pinned = next((one["run"] for one in reversed(store.of("pin")) if one["run"] in {*alike, run["run"]}), None)
    sound = [one for one in same if one["run"] == pinned or is_sound(one["outcome"]["status"], one["outcome"]["cause"])]
    found = {"last": sound[-1]} if sound else {}
    baseline = next((one for one in same if one["run"] == pinned), None)
    found |= {"baseline": baseline} if baseline else {}
    return {
        name: Before(run=one["run"], own=_tallies(one["own"]), golden=_tallies(one["golden"]))
        for name, one in found.items()
    }


def is_sound(status: str, cause: str | None) -> bool:
    """Whether a run did not fail, and was answered: of one that was not, nothing could be told."""
    return status not in FAILED and cause != "no_answers"


def results_of(
    store: SuiteStore, run: Record, done: Record, *, reveal: bool = False, with_groups: bool = True
) -> Shown:
    """Return a finished run as reports show it; `reveal` names cases and shows kept answers, for their owner."""
    answers: dict[str, list[Record]] = {}
    for one in store.of("answer"):
        if one["run"] == run["run"]:
            answers.setdefault(one["case"], []).append(one)
    suite = of_hash(store, run["sha256"]) if reveal or with_groups else None
    names = {mark_of(store, one): one.case_id for one in suite.cases} if suite and reveal else {}
    golden = {one.case: one for one in _tallies(done["golden"])}
    lines = tuple(
        Line(
            name=names.get(one.case) or _shown(answers.get(one.case, []), one.case), k=one.k, n=one.n,
            golden_k=golden[one.case].k if one.case in golden else None,
            golden_n=golden[one.case].n if one.case in golden else None,
            why=tuple(sorted({str(answer["why"]) for answer in answers.get(one.case, []) if answer["why"]})),
            texts=tuple(answer["text"] for answer in answers.get(one.case, []) if reveal and "text" in answer),
        )
        for one in _tallies(done["own"]) if one.n or answers.get(one.case)
    )  # fmt: skip
    return Shown(
        suite=run["suite"], mark=run["sha256"][:12], endpoint=run["endpoint"], run=run["run"],
        started_at=run["started_at"], reference=done["digest"], lines=lines, outcome=_outcome(done),
        groups=_groups(store, suite, done, reveal=reveal) if with_groups else (),
    )  # fmt: skip


def _outcome(done: Record) -> Outcome:
    """What a run came to. Rates are made of the answers anew: earlier versions kept them in another shape."""
    kept, golden = done["outcome"], pass_rate(_tallies(done["golden"]))
    rates = {"rate": pass_rate(_tallies(done["own"])), "golden": golden if kept["golden"] else None}
    return decode(Outcome, encode(kept | rates))


def runs(store: SuiteStore, suite: str | None, endpoint: str | None, run: str | None) -> list[tuple[Record, Record]]:
    """Return the finished runs that are asked for, oldest first: each with what it came to."""
    done = {one["run"]: one for one in store.of("done")}
    return [
        (one, done[one["run"]]) for one in store.of("run")
        if one["run"] in done and suite in {None, one["suite"]} and endpoint in {None, one["endpoint"]}
        and (run is None or one["run"].startswith(run))
    ]  # fmt: skip


def _groups(store: SuiteStore, suite: Suite | None, done: Record, *, reveal: bool) -> tuple[Group, ...]:
    """How the cases of each tag and family did. Tags are the customer's words: of private cases a mark is shown."""
    own, golden = _tallies(done["own"]), _tallies(done["golden"])
    members: dict[str, list[str]] = {}
    for one in own:
        if one.family is not None:
            members.setdefault(f"family {one.family}", []).append(one.case)
    for tag, cases in _tagged(suite).items():
        open_ = reveal or all(one.privacy == "keep" for one in cases)
        name = f"tag {tag}" if open_ else f"tag {store.mark('tag', tag)[:_SHORT]}"
        members[name] = [mark_of(store, one) for one in cases]
    seed = int.from_bytes(done["run"].encode()[:8])
    return grouped(own, golden, members, rng=np.random.default_rng(seed))


def _tagged(suite: Suite | None) -> dict[str, list[SuiteCase]]:
    found: dict[str, list[SuiteCase]] = {}
    for case in suite.cases if suite else ():
        for tag in sorted(set(case.tags)):
            found.setdefault(tag, []).append(case)
    return found


def _shown(answers: Sequence[Record], mark: str) -> str:
    """The id of a case that is not private, else the beginning of its mark."""
    known = next((one["id"] for one in answers if "id" in one), None)
    return str(known) if known is not None else mark if "-" in mark else f"case {mark[:_SHORT]}"


def _tallies(rows: Any) -> tuple[Tally, ...]:
    return tuple(decode(Tally, encode(one)) for one in rows)

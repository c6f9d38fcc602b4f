"""What real endpoints are identified as, and how often that is right: the bars of issue 6.

Every endpoint is a real llama.cpp server on the small real model, asked for one token with 20 logprobs by 160 prompts
once (`benchmarks/identify_records.py`). Identifications draw their prompts from the record.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.identify_records import OWN_LATTICE, Recorded, recorded
from benchmarks.report import Report
from jobs.alignment import align
from jobs.golden import default_home, ensure_golden
from monitor.ports import Tokenizer
from monitor.stats.hypotheses import FAITHFUL, GOLDEN, UNEXPLAINED
from monitor.stats.matched import Match, match
from reference.prediction_store import PredictionStore
from reference.predictions import Predictions, is_predictable
from reference.variants.bank import bank, find

NAME = "identify"
DRAWS = 200
BARS = {"F16": FAITHFUL, "BF16": "bf16", "Q8_0": "Q8_0", "Q5_0": "Q5_0", "Q4_0": "Q4_0"}
OTHERS = ("int4-g64", "fp8-channel", "fp8-block", "nf4", "int8-g64", "Q4_0+emb-Q8_0", "Q2_K", "kv-4", "kv-8",
          "rope-x0.1", "layers-2", "no-system", "other-template", "other-system")  # fmt: skip
SURE = 0.99
_ROUND, _MOST = 8, 40
Rows = list[np.ndarray[Any, np.dtype[np.float64]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """One endpoint's answers to all prompts: logprobs of the listed tokens by the endpoint, golden and each variant."""

    name: str
    endpoint: Rows
    golden: Rows
    predicted: Mapping[str, Rows]
    prompts: Sequence[str]

    def drawn(self, rng: np.random.Generator, n: int, k: int = 20) -> "Served":
        """The answers to `n` prompts, with `k` logprobs."""
        return self.at(rng.permutation(len(self.prompts))[:n], k)

    def at(self, rows: Sequence[int] | np.ndarray[Any, Any], k: int = 20) -> "Served":
        """Only these prompts, and `k` logprobs of each."""

        def cut(values: Rows) -> Rows:
            return [values[at][:k] for at in rows]

        return replace(
            self, endpoint=cut(self.endpoint), golden=cut(self.golden), prompts=[self.prompts[at] for at in rows],
            predicted={name: cut(values) for name, values in self.predicted.items()},
        )  # fmt: skip

    def without(self, names: Sequence[str]) -> "Served":
        """With these variants out of the bank."""
        return replace(self, predicted={key: value for key, value in self.predicted.items() if key not in names})

    def rounded(self, decimals: int) -> "Served":
        """With logprobs of the endpoint rounded."""
        return replace(self, endpoint=[np.round(row, decimals) for row in self.endpoint])

    def match(self) -> Match:
        """Identify it."""
        return match(self.endpoint, self.golden, self.predicted, _families(), self.prompts)


@cache
def _families() -> dict[str, str]:
    return {name: variant.family for name, variant in bank().items()}


def served(one: Recorded, predictor: Predictions, tokenizer: Tokenizer) -> Served:
    """Predict what every variant would have said where `one` answered."""
    aligned = [(exchange, align(exchange, tokenizer)) for exchange in one.record.exchanges]
    kept = [(exchange, item.task, one.views[exchange.exchange_id].positions[0]) for exchange, item in aligned
            if item.task is not None and one.views[exchange.exchange_id].positions]  # fmt: skip
    tasks = [replace(task, completion_ids=task.completion_ids[:1], gather=task.gather[:1]) for _, task, _ in kept]
    names = [name for name, variant in bank().items() if is_predictable(variant)]
    found = predictor.predict(
        tasks, names, conversations=[exchange.request.messages for exchange, _, _ in kept if exchange.request]
    )  # fmt: skip
    return Served(
        name=one.name, endpoint=[np.array(at.endpoint_top) for _, _, at in kept],
        golden=[np.array(at.golden_top) for _, _, at in kept], prompts=[e.exchange_id for e, _, _ in kept],
        predicted={name: [rows[0] for rows in answers] for name, answers in found.items()},
    )  # fmt: skip


def run(report: Report) -> None:
    """Record and predict what is missing, then draw."""
    home = default_home(os.environ)
    by_name = endpoints(home, report.note, [*BARS, OWN_LATTICE, *OTHERS])
    bars = {name: by_name[name] for name in BARS}
    for title, draw in _SETTINGS.items():
        report.table(f"Who is who, {DRAWS} draws each: {title}", _COLUMNS, [_row(one, draw) for one in bars.values()])
    rest = [one for name, one in by_name.items() if name not in BARS]
    report.table(
        f"Other endpoints, {DRAWS} draws each: 20 requests, 20 logprobs", _COLUMNS,
        [_row(one, _SETTINGS["20 requests, 20 logprobs"]) for one in rest],
    )  # fmt: skip
    report.table(
        f"Its own family, and those of its twins, left out of the bank, 20 requests, 20 logprobs, {DRAWS} draws",
        ("endpoint", "unexplained", "another family at 0.99", "nearest"),
        [_left_out(one) for one in by_name.values() if one.name not in {"F16", "BF16", OWN_LATTICE}],
    )  # fmt: skip
    report.table(
        f"A share of 100 requests goes to Q4_0, the rest to F16, {DRAWS} draws",
        ("share", "Q4_0 named", "share within 10 points", "true share in the interval", "mean share"),
        [_routed(share, by_name) for share in (0.1, 0.3, 0.5)],
    )  # fmt: skip
    report.table(
        f"Declared as bf16, a look after every 8 requests, at most 40; {DRAWS} draws",
        ("endpoint", "fails", "median requests"),
        [_declared(by_name[name]) for name in ("F16", "BF16", OWN_LATTICE, "Q8_0", "Q5_0", "Q4_0")],
    )  # fmt: skip
    report.table(
        "Reliability: posterior of the first scheme, over 1 to 8 requests to the endpoints of the first table",
        ("claimed", "draws", "mean claimed", "right"), _reliability(list(bars.values())),
    )  # fmt: skip


def endpoints(home: Path, note: Callable[[str], None], names: Sequence[str]) -> dict[str, Served]:
    """Return the endpoints `names`, recorded and predicted where that is missing."""
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    golden = ensure_golden(home, note)
    load = partial(TorchEngine.load, device="cpu", threads=1)
    scorer = load(golden)
    digest = scorer.fingerprint.digest[:12]
    predictor = Predictions(
        golden=golden, load=load, report=note,
        store=PredictionStore(home / "predictions" / f"{digest}.sqlite"),
    )  # fmt: skip
    try:
        records = {name: recorded(name, home / "identify" / digest, home, scorer, note) for name in names}
    finally:
        scorer.close()
    return {name: served(one, predictor, scorer.tokenizer) for name, one in records.items()}


_COLUMNS = ("endpoint", "family right", "scheme right", "claimed", "wrong family at 0.99", "named")
_Draw = Callable[[Served, np.random.Generator], Served]
_SETTINGS: dict[str, _Draw] = {
    "20 requests, 20 logprobs": lambda one, rng: one.drawn(rng, 20),
    "10 requests, 20 logprobs": lambda one, rng: one.drawn(rng, 10),
    "40 requests, 5 logprobs": lambda one, rng: one.drawn(rng, 40, 5),
    "100 requests, 1 logprob": lambda one, rng: one.drawn(rng, 100, 1),
    "20 requests, 20 logprobs rounded to 2 decimals": lambda one, rng: one.drawn(rng, 20).rounded(2),
}


def _matches(one: Served, draw: _Draw, seed: int = 0, draws: int = 0) -> list[Match]:
    rng = np.random.default_rng(seed)
    return [draw(one, rng).match() for _ in range(draws or DRAWS)]


def _row(one: Served, draw: _Draw) -> list[object]:
    found = _matches(one, draw)
    scheme = BARS.get(one.name, one.name)
    family = FAITHFUL if scheme == FAITHFUL else _family(scheme)
    named = Counter(each.schemes[0].name for each in found)
    return [
        one.name, _share(next(iter(each.families)) == family for each in found),
        _share(_is(each, scheme) for each in found),
        float(np.mean([each.families.get(family, 0.0) for each in found])),
        _share(_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in named.most_common(3)),
    ]  # fmt: skip


def _left_out(one: Served) -> list[object]:
    family = _family(one.name)
    whole = one.match()
    twins = {name for each in whole.schemes if each.family == family for name in (each.name, *each.twins)}
    families = {family, *(find(name).family for name in twins)}
    out = [name for name in one.predicted if find(name).family in families]
    found = [one.without(out).drawn(np.random.default_rng(seed), 20).match() for seed in range(DRAWS)]
    near = Counter(each.nearest.name for each in found if each.nearest)
    return [
        one.name, _share(next(iter(each.families)) == UNEXPLAINED for each in found),
        _share(_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in near.most_common(2)),
    ]  # fmt: skip


def _routed(share: float, by_name: Mapping[str, Served]) -> list[object]:
    good, bad = by_name["F16"], by_name["Q4_0"]
    named, close, covered, shares = [], [], [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(min(len(good.prompts), len(bad.prompts)))[:100]
        goes = rng.random(len(rows)) < share
        found = _mixed(good.at(rows), bad.at(rows), goes).match()
        named.append(found.schemes[0].name == "Q4_0")
        if found.share is not None and found.share_low is not None and found.share_high is not None:
            shares.append(found.share)
            close.append(abs(found.share - share) <= 0.1)
            covered.append(found.share_low <= share <= found.share_high)
    return [f"{share:.0%}", _share(named), f"{sum(close)} of {DRAWS}", f"{sum(covered)} of {DRAWS}",
            float(np.mean(shares)) if shares else None]  # fmt: skip


def _declared(one: Served) -> list[object]:
    """How often a variant coarser than 16 bit is found for sure, and after how many requests."""
    needed = []
    for seed in range(DRAWS):
        drawn = one.drawn(np.random.default_rng(seed), _MOST)
        for n in range(_ROUND, _MOST + 1, _ROUND):
            found = drawn.at(range(n)).match()
            if 1 - found.families.get(FAITHFUL, 0.0) - found.families.get(UNEXPLAINED, 0.0) >= SURE:
                needed.append(n)
                break
    return [one.name, f"{len(needed)} of {DRAWS}", int(np.median(needed)) if needed else None]


def _mixed(good: Served, bad: Served, goes: np.ndarray[Any, np.dtype[np.bool_]]) -> Served:
    def of(one: Rows, other: Rows) -> Rows:
        return [b if gone else a for a, b, gone in zip(one, other, goes, strict=True)]

    return replace(
        good, endpoint=of(good.endpoint, bad.endpoint), golden=of(good.golden, bad.golden),
        predicted={name: of(rows, bad.predicted[name]) for name, rows in good.predicted.items()},
    )  # fmt: skip


def _reliability(bars: Sequence[Served]) -> list[list[object]]:
    claimed, right = [], []
    for one in bars:
        for n in (1, 2, 3, 5, 8):
            for found in _matches(one, partial(_few, n), seed=n, draws=60):
                claimed.append(found.schemes[0].posterior)
                right.append(_is(found, BARS[one.name]))
    edges = (0.0, 0.5, 0.7, 0.9, 0.99, 1.0 + 1e-9)
    p, ok = np.array(claimed), np.array(right)
    bins = [(low, high, (p >= low) & (p < high)) for low, high in pairwise(edges)]
    return [
        [f"{low:g} to {min(high, 1):g}", int(chosen.sum()), float(p[chosen].mean()), float(ok[chosen].mean())]
        for low, high, chosen in bins if chosen.any()
    ]  # fmt: skip


def _few(n: int, one: Served, rng: np.random.Generator) -> Served:
    return one.drawn(rng, n)


def _is(found: Match, scheme: str) -> bool:
    first = found.schemes[0]
    if scheme == FAITHFUL:
        return first.name in {GOLDEN, "fp16"}
    return scheme in (first.name, *first.twins)


def _wrong(found: Match, family: str) -> bool:
    """Whether a family is named for sure that it is not, and that is no confession either."""
    first, posterior = next(iter(found.families.items()))
    return posterior >= SURE and first not in {family, UNEXPLAINED}


def _family(name: str) -> str:
    return FAITHFUL if name == OWN_LATTICE else find(name).family


def _share(hits: Any) -> str:
    values = list(hits)
    return f"{sum(values)} of {len(values)}"

"""What real endpoints are identified as, and how often that is right: the bars of issue 6.

Every endpoint is a real llama.cpp server on the small real model, asked for one token with 20 logprobs by 160 prompts
once (`benchmarks/identify_records.py`). Identifications draw their prompts from the record.
"""

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.identify_decoys import decoys
from benchmarks.identify_draws import report_draws
from benchmarks.identify_records import OWN_LATTICE
from benchmarks.identify_served import SURE, Golden, Served, families, family_of, is_named, is_wrong, mixed, share_of
from benchmarks.identify_text import Told, told
from benchmarks.report import Report
from jobs.golden import default_home
from jobs.identify_order import HARDEST
from monitor.stats.design import design
from monitor.stats.hypotheses import FAITHFUL, PRIORS, UNEXPLAINED
from monitor.stats.matched import Match
from reference.variants.bank import find

NAME = "identify"
DRAWS = 200
BARS = {"F16": FAITHFUL, "BF16": "bf16", "Q8_0": "Q8_0", "Q5_0": "Q5_0", "Q4_0": "Q4_0"}
OTHERS = ("int4-g64", "fp8-channel", "fp8-block", "nf4", "int8-g64", "Q4_0+emb-Q8_0", "Q2_K", "kv-4", "kv-8",
          "rope-x0.1", "layers-2", "no-system", "other-template", "other-system")  # fmt: skip
CACHES = ("kv-4", "kv-8")
"""Endpoints whose engine rounds its cache otherwise than the variant does: that they are unexplained is no mistake."""
TEXT = ("F16", "Q8_0", "Q4_0", "rope-x0.1")
_ROUND, _MOST = 8, 40


def run(report: Report) -> None:
    """Record and predict what is missing, then draw."""
    golden = Golden.of(default_home(os.environ), report.note)
    by_name = golden.endpoints([*BARS, OWN_LATTICE, *OTHERS])
    bars = {name: by_name[name] for name in BARS}
    for title, draw in _SETTINGS.items():
        report.table(f"Who is who, {DRAWS} draws each: {title}", _COLUMNS, [_row(one, draw) for one in bars.values()])
    order = design_of(by_name["F16"])
    _chosen([*bars.values(), by_name[OWN_LATTICE]], order, report)
    usual = _SETTINGS["20 requests, 20 logprobs"]
    rest = [one for name, one in by_name.items() if name not in BARS]
    report.table(f"Other endpoints, {DRAWS} draws each: 20 requests, 20 logprobs", _COLUMNS,
                 [_row(one, usual) for one in rest])  # fmt: skip
    unknown = decoys(golden)
    report.table(
        f"Decoys, which no variant predicts, {DRAWS} draws each: 20 requests, 20 logprobs",
        ("endpoint", "unexplained", "any family at 0.99", "nearest"), [_unknown(one, "") for one in unknown],
    )  # fmt: skip
    report.table(
        f"Its own family, and those of its twins, left out of the bank, 20 requests, 20 logprobs, {DRAWS} draws",
        ("endpoint", "unexplained", "another family at 0.99", "nearest"),
        [_left_out(one) for one in by_name.values() if one.name not in {"F16", "BF16", OWN_LATTICE}],
    )  # fmt: skip
    _text(golden, report)
    _routes(by_name, report)
    _declarations(by_name, order, report)
    report.table(
        "Reliability: posterior of the first scheme, over 1 to 8 requests to all endpoints that are predicted, to "
        "golden's own Q4_1 file and the decoys (right when unexplained), weighted by the priors of their families",
        ("claimed", "draws", "mean claimed", "right", "first is unexplained"),
        _reliability([one for name, one in by_name.items() if name not in CACHES], unknown),
    )  # fmt: skip


def _chosen(endpoints: Sequence[Served], order: Sequence[str], report: Report) -> None:
    """The bars with prompts that the command chooses: it asks the first 40, in this order."""
    for n, of, k in ((10, 20, 20), (20, 40, 20), (40, 60, 5)):
        report.table(
            f"Who is who, {DRAWS} draws each: {n} of the {of} prompts that are best to ask, {k} logprobs", _COLUMNS,
            [_row(one.named(order[:of]), partial(_some, n, k)) for one in endpoints],
        )  # fmt: skip


def _some(n: int, k: int, one: Served, rng: np.random.Generator) -> Served:
    return one.drawn(rng, n, k)


def _routes(by_name: Mapping[str, Served], report: Report) -> None:
    report.table(
        f"A share of 100 requests goes to the first, the rest to the second, {DRAWS} draws",
        ("endpoints", "share", "both named", "share within 10 points", "true share in the interval", "mean share"),
        [_routed(share, by_name, bad, good) for good, bad, share in (
            ("F16", "Q4_0", 0.1), ("F16", "Q4_0", 0.3), ("F16", "Q4_0", 0.5), ("Q5_0", "Q4_0", 0.3),
            ("rope-x0.1", "Q4_0", 0.5),
        )],
    )  # fmt: skip


def _declarations(by_name: Mapping[str, Served], order: Sequence[str], report: Report) -> None:
    names = ("F16", "BF16", OWN_LATTICE, "Q8_0", "Q5_0", "Q4_0")
    report.table(
        f"Declared as bf16, a look after every 8 requests, at most 40; {DRAWS} draws of prompts",
        ("endpoint", "any prompts: fails", "median requests", "chosen prompts, shuffled: fails", "median requests"),
        [[name, *_declared(by_name[name]), *_declared(by_name[name].named(order[:_MOST]))] for name in names],
    )  # fmt: skip


def _text(golden: Golden, report: Report) -> None:
    endpoints = [told(golden, name) for name in TEXT]
    report.table(
        f"Text only, {DRAWS} draws: 4 and 16 greedy answers of 12 tokens",
        ("endpoint", "answers", "family right", "claimed", "wrong family at 0.99", "named"),
        [_text_row(one, n) for one in endpoints for n in (4, 16)],
    )  # fmt: skip
    report.table(
        f"Text only, its own family left out of the bank, {DRAWS} draws: 16 answers",
        ("endpoint", "unexplained", "another family at 0.99", "nearest"),
        [_unknown_text(one) for one in endpoints if one.name != "F16"],
    )  # fmt: skip
    report_draws(golden, report, DRAWS)


def design_of(one: Served) -> list[str]:
    """The prompts in the order in which `weighmaster identify` asks them, best first."""
    rows = {
        name: [row - gold for row, gold in zip(one.predicted[name], one.golden, strict=True)] for name in HARDEST
    }
    return [one.prompts[at] for at in design(rows, families())]


def _text_row(one: Told, n: int) -> list[object]:
    found = [one.drawn(np.random.default_rng(seed), n).match() for seed in range(DRAWS)]
    family = FAITHFUL if one.name == "F16" else family_of(one.name)
    named = Counter(each.schemes[0].name for each in found)
    return [
        one.name, n, share_of(next(iter(each.families)) == family for each in found),
        float(np.mean([each.families.get(family, 0.0) for each in found])),
        share_of(is_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in named.most_common(3)),
    ]  # fmt: skip


def _unknown_text(one: Told) -> list[object]:
    out = [name for name in one.predicted if families()[name] == family_of(one.name)]
    found = [one.without(out).drawn(np.random.default_rng(seed), 16).match() for seed in range(DRAWS)]
    return [one.name, *_nothing_named(found, family_of(one.name))]


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
    family = FAITHFUL if scheme == FAITHFUL else family_of(scheme)
    named = Counter(each.schemes[0].name for each in found)
    return [
        one.name, share_of(next(iter(each.families)) == family for each in found),
        share_of(is_named(each, scheme) for each in found),
        float(np.mean([each.families.get(family, 0.0) for each in found])),
        share_of(is_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in named.most_common(3)),
    ]  # fmt: skip


def _left_out(one: Served) -> list[object]:
    family = family_of(one.name)
    whole = one.match()
    twins = {name for each in whole.schemes if each.family == family for name in (each.name, *each.twins)}
    families = {family, *(find(name).family for name in twins)}
    out = [name for name in one.predicted if find(name).family in families]
    return _unknown(one.without(out), family)


def _unknown(one: Served, family: str) -> list[object]:
    found = [one.drawn(np.random.default_rng(seed), 20).match() for seed in range(DRAWS)]
    return [one.name, *_nothing_named(found, family)]


def _nothing_named(found: Sequence[Match], family: str) -> list[object]:
    near = Counter(each.nearest.name for each in found if each.nearest)
    return [
        share_of(next(iter(each.families)) == UNEXPLAINED for each in found),
        share_of(is_wrong(each, family) for each in found),
        ", ".join(f"{count} {name}" for name, count in near.most_common(2)),
    ]  # fmt: skip


def _routed(share: float, by_name: Mapping[str, Served], one: str, other: str) -> list[object]:
    """`one` at a share of the prompts; `other` is faithful, or a second scheme."""
    good, bad = by_name[other], by_name[one]
    both = {one} if other == "F16" else {one, other}
    named, close, covered, shares = [], [], [], []
    for seed in range(DRAWS):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(min(len(good.prompts), len(bad.prompts)))[:100]
        goes = rng.random(len(rows)) < share
        found = mixed(good.at(rows), bad.at(rows), goes).match()
        first = found.schemes[0]
        named.append(set(first.pair or (first.name,)) == both)
        if named[-1] and found.share is not None and found.share_low is not None and found.share_high is not None:
            true = share if not first.pair or first.pair[0] == one else 1 - share
            shares.append(found.share if true == share else 1 - found.share)
            close.append(abs(found.share - true) <= 0.1)
            covered.append(found.share_low <= true <= found.share_high)
    return [f"{one}, {other}", f"{share:.0%}", share_of(named), f"{sum(close)} of {DRAWS}",
            f"{sum(covered)} of {DRAWS}", float(np.mean(shares)) if shares else None]  # fmt: skip


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
    return [f"{len(needed)} of {DRAWS}", int(np.median(needed)) if needed else None]


def _reliability(endpoints: Sequence[Served], unknown: Sequence[Served]) -> list[list[object]]:
    """A posterior is honest about endpoints that come as often as its priors say: so often they count here."""
    of = {one.name: family_of(one.name) for one in endpoints if one.name != OWN_LATTICE}
    named: list[tuple[float, float, bool, bool]] = []
    for one in (*endpoints, *unknown):
        weight = _expected(of.get(one.name, UNEXPLAINED), list(of.values()), len(unknown) + 1)
        scheme = BARS.get(one.name, one.name) if one.name in of else UNEXPLAINED
        for n in (1, 2, 3, 5, 8):
            for found in _matches(one, partial(_few, n), seed=n, draws=60):
                first = found.schemes[0]
                named.append((weight, first.posterior, is_named(found, scheme), first.name == UNEXPLAINED))
    weights, claimed, right, unexplained = (np.array(column) for column in zip(*named, strict=True))
    edges = (0.0, 0.5, 0.7, 0.9, 0.99, 1.0 + 1e-9)
    bins = [(low, high, (claimed >= low) & (claimed < high)) for low, high in pairwise(edges)]
    return [
        [f"{low:g} to {min(high, 1):g}", int(chosen.sum()),
         *(float(np.average(values[chosen], weights=weights[chosen])) for values in (claimed, right, unexplained))]
        for low, high, chosen in bins if chosen.any()
    ]  # fmt: skip


def _expected(family: str, known: Sequence[str], n_unknown: int) -> float:
    """How often an endpoint of `family` comes, by the priors of `monitor.stats.hypotheses`; `known` has one each."""
    if family == UNEXPLAINED:
        return PRIORS["unexplained"] / n_unknown
    if family == FAITHFUL:
        return PRIORS["faithful"] / known.count(FAITHFUL)
    return PRIORS["bank"] / len(set(known) - {FAITHFUL}) / known.count(family)


def _few(n: int, one: Served, rng: np.random.Generator) -> Served:
    return one.drawn(rng, n)

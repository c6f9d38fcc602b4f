"""What real endpoints are identified as, and how often that is right: the bars of issue 6.

Every endpoint is a real llama.cpp server on the small real model, asked for one token with 20 logprobs by 160 prompts
once (`benchmarks/identify_records.py`). Identifications draw their prompts from the record.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from benchmarks.identify_decoys import decoys
from benchmarks.identify_draws import report_draws
from benchmarks.identify_records import OWN_LATTICE
from benchmarks.identify_rows import (
    COLUMNS,
    DRAWS,
    MOST,
    ROUTED_COLUMNS,
    Draw,
    declared,
    design_of,
    left_out_row,
    matches,
    named_row,
    nothing_named,
    routed_row,
    some,
    unknown_row,
)
from benchmarks.identify_served import Golden, Served, families, family_of, is_named, is_wrong, share_of
from benchmarks.identify_text import Told, told
from benchmarks.report import Report
from jobs.golden import default_home
from monitor.stats.hypotheses import FAITHFUL, PRIORS, UNEXPLAINED

NAME = "identify"
BARS = {"F16": FAITHFUL, "BF16": "bf16", "Q8_0": "Q8_0", "Q5_0": "Q5_0", "Q4_0": "Q4_0"}
OTHERS = ("int4-g64", "fp8-channel", "fp8-block", "nf4", "int8-g64", "Q4_0+emb-Q8_0", "Q2_K", "kv-4", "kv-8",
          "rope-x0.1", "layers-2", "no-system", "other-template", "other-system")  # fmt: skip
CACHES = ("kv-4", "kv-8")
"""Endpoints whose engine rounds its cache otherwise than the variant does: that they are unexplained is no mistake."""
TEXT = ("F16", "Q8_0", "Q4_0", "rope-x0.1")


def run(report: Report) -> None:
    """Record and predict what is missing, then draw."""
    golden = Golden.of(default_home(os.environ), report.note)
    by_name = golden.endpoints([*BARS, OWN_LATTICE, *OTHERS])
    bars = {name: by_name[name] for name in BARS}
    for title, draw in _SETTINGS.items():
        report.table(f"Who is who, {DRAWS} draws each: {title}", COLUMNS, _rows(bars.values(), draw))
    order = design_of(by_name["F16"])
    _chosen([*bars.values(), by_name[OWN_LATTICE]], order, report)
    usual = _SETTINGS["20 requests, 20 logprobs"]
    rest = [one for name, one in by_name.items() if name not in BARS]
    report.table(f"Other endpoints, {DRAWS} draws each: 20 requests, 20 logprobs", COLUMNS, _rows(rest, usual))
    unknown = decoys(golden)
    report.table(
        f"Decoys, which no variant predicts, {DRAWS} draws each: 20 requests, 20 logprobs",
        ("endpoint", "unexplained", "any family at 0.99", "nearest"), [unknown_row(one, "") for one in unknown],
    )  # fmt: skip
    report.table(
        f"Its own family, and those of its twins, left out of the bank, 20 requests, 20 logprobs, {DRAWS} draws",
        ("endpoint", "unexplained", "another family at 0.99", "nearest"),
        [left_out_row(one, one.name) for one in by_name.values() if one.name not in {"F16", "BF16", OWN_LATTICE}],
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


def _rows(endpoints: Iterable[Served], draw: Draw) -> list[list[object]]:
    return [named_row(one, draw, BARS.get(one.name, one.name)) for one in endpoints]


def _chosen(endpoints: Sequence[Served], order: Sequence[str], report: Report) -> None:
    """The bars with prompts that the command chooses: it asks the first 40, in this order."""
    for n, of, k in ((10, 20, 20), (20, 40, 20), (40, 60, 5)):
        report.table(
            f"Who is who, {DRAWS} draws each: {n} of the {of} prompts that are best to ask, {k} logprobs", COLUMNS,
            _rows([one.named(order[:of]) for one in endpoints], partial(some, n, k)),
        )  # fmt: skip


def _routes(by_name: Mapping[str, Served], report: Report) -> None:
    cases = (("F16", "Q4_0", 0.1), ("F16", "Q4_0", 0.3), ("F16", "Q4_0", 0.5), ("F16", "Q5_0", 0.3),
             ("F16", "Q8_0", 0.3), ("Q5_0", "Q4_0", 0.3), ("rope-x0.1", "Q4_0", 0.5))  # fmt: skip
    schemes = {name: BARS.get(name, name) for name in by_name}
    report.table(
        f"A share of 100 requests goes to the first, the rest to the second, {DRAWS} draws", ROUTED_COLUMNS,
        [routed_row(share, by_name[bad], by_name[good], schemes) for good, bad, share in cases],
    )  # fmt: skip


def _declarations(by_name: Mapping[str, Served], order: Sequence[str], report: Report) -> None:
    names = ("F16", "BF16", OWN_LATTICE, "Q8_0", "Q5_0", "Q4_0")
    report.table(
        f"Declared as bf16, a look after every 8 requests, at most 40; {DRAWS} draws of prompts",
        ("endpoint", "any prompts: fails", "median requests", "chosen prompts, shuffled: fails", "median requests"),
        [[name, *declared(by_name[name]), *declared(by_name[name].named(order[:MOST]))] for name in names],
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
    return [one.name, *nothing_named(found, family_of(one.name))]


_SETTINGS: dict[str, Draw] = {
    "20 requests, 20 logprobs": lambda one, rng: one.drawn(rng, 20),
    "10 requests, 20 logprobs": lambda one, rng: one.drawn(rng, 10),
    "40 requests, 5 logprobs": lambda one, rng: one.drawn(rng, 40, 5),
    "100 requests, 1 logprob": lambda one, rng: one.drawn(rng, 100, 1),
    "20 requests, 20 logprobs rounded to 2 decimals": lambda one, rng: one.drawn(rng, 20).rounded(2),
}


def _reliability(endpoints: Sequence[Served], unknown: Sequence[Served]) -> list[list[object]]:
    """A posterior is honest about endpoints that come as often as its priors say: so often they count here."""
    of = {one.name: family_of(one.name) for one in endpoints if one.name != OWN_LATTICE}
    named: list[tuple[float, float, bool, bool]] = []
    for one in (*endpoints, *unknown):
        weight = _expected(of.get(one.name, UNEXPLAINED), list(of.values()), len(unknown) + 1)
        scheme = BARS.get(one.name, one.name) if one.name in of else UNEXPLAINED
        for n in (1, 2, 3, 5, 8):
            for found in matches(one, partial(_few, n), seed=n, draws=60):
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

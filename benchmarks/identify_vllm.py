"""What endpoints of a real vLLM are identified as: the bars of issue 6 on a second engine.

vLLM runs on the CPU, from a venv of its own (`tests/engines/install_vllm.sh`); where there is none, nothing is done.
Every endpoint is asked for one token with 20 logprobs by the same 160 prompts as those of `benchmarks/identify.py`.
"""

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from benchmarks.identify_records import recorded
from benchmarks.identify_rows import (
    COLUMNS,
    DRAWS,
    MOST,
    ROUTED_COLUMNS,
    declared,
    design_of,
    left_out_row,
    named_row,
    routed_row,
    some,
)
from benchmarks.identify_served import Golden, Served, served
from benchmarks.identify_vllm_records import SETTINGS
from benchmarks.report import Report
from jobs.golden import default_home
from monitor.stats.hypotheses import FAITHFUL

NAME = "identify-vllm"
_FULL, _BAD = "vLLM bf16", "vLLM bf16, Q4_0"


def run(report: Report) -> None:
    """Record and predict what is missing, then draw."""
    home = default_home(os.environ)
    python = home / "vllm" / "bin" / "python"
    if not python.exists():
        report.note(f"Skipped: {python} is not there; tests/engines/install_vllm.sh installs vLLM.")
        return
    by_name = _endpoints(Golden.of(home, report.note), python)
    order = design_of(by_name[_FULL])
    report.table("How far they deviate, all prompts", ("endpoint", "deviation, nats", "slope of its own prediction",
                 "first", "posterior"), [_size(one) for one in by_name.values()])  # fmt: skip
    for n, k in ((20, 20), (10, 20), (40, 5)):
        report.table(f"Who is who, {DRAWS} draws each: {n} requests, {k} logprobs, any prompts", COLUMNS,
                     _rows([*by_name.values()], n, k))  # fmt: skip
    for n, of, k in ((10, 20, 20), (20, 40, 20), (40, 60, 5)):
        report.table(f"Who is who, {DRAWS} draws each: {n} of the {of} prompts that are best to ask, {k} logprobs",
                     COLUMNS, _rows([one.named(order[:of]) for one in by_name.values()], n, k))  # fmt: skip
    report.table(
        f"Declared as bf16, a look after every 8 requests, at most 40; {DRAWS} draws of prompts",
        ("endpoint", "any prompts: fails", "median requests", "chosen prompts, shuffled: fails", "median requests"),
        [[one.name, *declared(one), *declared(one.named(order[:MOST]))] for one in by_name.values()],
    )  # fmt: skip
    _unknown(by_name, report)


def _endpoints(golden: Golden, python: Path) -> dict[str, Served]:
    place = golden.home / "identify" / golden.digest
    found = {}
    for name, setting in SETTINGS.items():
        record = recorded(name, place, golden.home, golden.scorer, golden.note,
                          serve=partial(setting.record, name, python))  # fmt: skip
        found[name] = served(record, golden.predictor, golden.scorer.tokenizer)
    return found


def _rows(endpoints: Sequence[Served], n: int, k: int) -> list[list[object]]:
    return [named_row(one, partial(some, n, k), SETTINGS[one.name].scheme) for one in endpoints]


def _size(one: Served) -> list[object]:
    found = one.match()
    slope = None if found.slope is None else f"{found.slope:.2f} ({found.slope_low:.2f} to {found.slope_high:.2f})"
    return [one.name, found.rms_nats, slope, found.schemes[0].name, found.schemes[0].posterior]


def _unknown(by_name: Mapping[str, Served], report: Report) -> None:
    """What the bank does not know, and two backends behind one name."""
    coarse = [one for name, one in by_name.items() if SETTINGS[name].scheme != FAITHFUL and name != _FULL]
    report.table(
        f"Its own family, and those of its twins, left out of the bank, 20 requests, 20 logprobs, {DRAWS} draws",
        ("endpoint", "unexplained", "another family at 0.99", "nearest"),
        [left_out_row(one, SETTINGS[one.name].scheme) for one in coarse],
    )  # fmt: skip
    schemes = {name: FAITHFUL if name == _FULL else setting.scheme for name, setting in SETTINGS.items()}
    report.table(
        f"A share of 100 requests goes to the first, the rest to the second, {DRAWS} draws", ROUTED_COLUMNS,
        [routed_row(share, by_name[_BAD], by_name[_FULL], schemes) for share in (0.1, 0.3, 0.5)],
    )  # fmt: skip

"""A suite of generated cases on real endpoints: is a faithful one left alone, and is a degraded one found?

Every endpoint is a real llama.cpp server on the small real model. Its answers are recorded once; runs of 60 cases are
then drawn from the record. Golden answers in this process.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import orjson

from benchmarks.report import Report
from jobs.clock import SystemClock
from jobs.ensemble import Bench
from jobs.golden import default_home, ensure_gguf, ensure_golden
from jobs.out_file import replace_file
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric
from monitor.suites.case import Generated, SuiteCase
from monitor.suites.families.catalogue import instances
from monitor.suites.grade import Seen, joined
from monitor.suites.outcome import Terms, outcome, settled
from monitor.suites.rate import pass_rate
from monitor.suites.tally import Tally
from monitor.types import Request
from probes.ask import measured
from reference.variants.bank import find

NAME = "suites"
SERVED = ("F16", "Q8_0", "Q4_0", "Q2_K")
SAMPLED, TEMPERATURE, REPEATS = ("F16", "Q4_0", "Q2_K"), 0.7, 2
LEVELS = {"copying": 3, "choosing": 1, "patterns": 1, "structured": 3, "tables": 1, "language": 1}
PER_FAMILY, RUN_CASES, RUNS = 17, 60, 100
_SECRET = b"benchmark, so that a record can be used again"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """The cases as a probe."""

    kind: ClassVar[str] = "suite_cases"
    version: ClassVar[int] = 1
    metrics: ClassVar[tuple[Metric, ...]] = ()
    cases: tuple[SuiteCase, ...]

    def requests(self, _seed: int) -> tuple[Request, ...]:
        return tuple(
            case.request(f"{case.case_id}#{attempt}", at * 100 + attempt)
            for at, case in enumerate(self.cases) for attempt in range(case.repeats)
        )

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        return await measured(client, self.requests(context.seed), context, lambda _: ())


def run(report: Report) -> None:
    """Record what is missing, then draw runs."""
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed

    home = default_home(os.environ)
    scorer = TorchEngine.load(ensure_golden(home, report.note), device="cpu", threads=1)
    folder = home / "suites" / scorer.fingerprint.digest[:12]
    bench = Bench(home=home, golden=ensure_golden(home, report.note), probe=_Asked(cases=()), scorer=scorer,
                  clock=SystemClock(), report=report.note, parallel=4)  # fmt: skip
    greedy, sampled = _cases(0.0, 1), _cases(TEMPERATURE, REPEATS)
    golden, served = _recorded(folder, greedy, SERVED, bench)
    report.table(
        "Right answers by family, at temperature 0", ("family", "level", "cases", "golden", *SERVED),
        [_family_row(family, greedy, golden, served) for family in LEVELS],
    )  # fmt: skip
    columns = ("endpoint", "right", "golden", "mean difference, points", "fail", "suspect", "pass", "inconclusive",
               "MDE, points", "sequential: fail", "cases until then, median")  # fmt: skip
    report.table(f"{RUNS} runs of {RUN_CASES} cases, drawn without replacement from {len(greedy)}", columns,
                 [_row(name, right, golden, 1) for name, right in served.items()])  # fmt: skip
    golden, served = _recorded(folder, sampled, SAMPLED, bench)
    report.table(f"The same at temperature {TEMPERATURE}, {REPEATS} answers to each case, of both sides", columns,
                 [_row(name, right, golden, REPEATS) for name, right in served.items()])  # fmt: skip


def _cases(temperature: float, repeats: int) -> tuple[SuiteCase, ...]:
    families = [
        Generated(family=name, n=PER_FAMILY, level=level, repeats=repeats, parameters={"temperature": temperature})
        for name, level in LEVELS.items()
    ]
    return instances(families, _SECRET, "benchmark")


def _recorded(
    folder: Path, cases: tuple[SuiteCase, ...], names: Sequence[str], bench: Bench
) -> tuple[list[int], dict[str, list[int]]]:
    """Right answers to each case: golden's, and by endpoint."""
    at = "" if cases[0].repeats == 1 else f"-T{TEMPERATURE}x{REPEATS}"
    golden = _kept(folder / f"golden{at}.json", cases, lambda: _golden(bench.scorer, cases))
    return golden, {
        name: _kept(folder / f"{name}{at}.json", cases, lambda name=name: _served(name, cases, bench)) for name in names
    }


def _kept(path: Path, cases: Sequence[SuiteCase], record: Any) -> list[int]:
    """Right answers by case, recorded once for these very cases."""
    mark = [[case.case_id, case.messages[-1]["content"]] for case in cases]
    if path.exists():
        found = orjson.loads(path.read_bytes())
        if found["cases"] == mark:
            return [int(one) for one in found["right"]]
    right = record()
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, orjson.dumps({"cases": mark, "right": right}))
    return list(right)


def _golden(scorer: Any, cases: Sequence[SuiteCase]) -> list[int]:
    prompts = [scorer.tokenizer.prompt_ids(case.messages) for case in cases]
    temperature, repeats, right = cases[0].parameters["temperature"], cases[0].repeats, {}
    for length in sorted({int(case.parameters["max_tokens"]) for case in cases}):
        places = [at for at, case in enumerate(cases) if case.parameters["max_tokens"] == length]
        drawn = scorer.sample(
            [prompts[at] for at in places], n=repeats, max_tokens=length, seed=0, temperature=temperature
        )
        for at, answers in zip(places, drawn, strict=True):
            texts = [scorer.tokenizer.visible_text([step.token_id for step in one.steps]) for one in answers]
            grades = [joined([one.grade(Seen(text=text)) for one in cases[at].oracles]) for text in texts]
            right[at] = sum(one.passed is True for one in grades)
    return [right[at] for at in range(len(cases))]


def _served(name: str, cases: tuple[SuiteCase, ...], bench: Bench) -> list[int]:
    bench.report(f"recording {name}")
    own = replace(bench, probe=_Asked(cases=cases))
    if name == "Q2_K":
        record = asyncio.run(own.variant(find(name)))
    else:
        record = asyncio.run(own.llama_cpp(name, ensure_gguf(own.home, name, own.report)))
    answers = iter(record.exchanges)
    return [sum(case.grade(next(answers)).passed is True for _ in range(case.repeats)) for case in cases]


def _family_row(
    family: str, cases: Sequence[SuiteCase], golden: Sequence[int], served: Mapping[str, Sequence[int]]
) -> list[object]:
    places = [at for at, case in enumerate(cases) if case.family == family]
    shares = [sum(right[at] for at in places) / len(places) for right in (golden, *served.values())]
    return [family, LEVELS[family], len(places), *(f"{share:.0%}" for share in shares)]


def _row(name: str, right: Sequence[int], golden: Sequence[int], n: int) -> list[object]:
    rng, terms = np.random.default_rng(20261130), Terms()
    found, until = [], []
    for _ in range(RUNS):
        places = rng.permutation(len(right))[:RUN_CASES]
        own, other = ([Tally(case=str(at), k=side[at], n=n) for at in places] for side in (right, golden))
        found.append(outcome(own, other, terms, rng=rng))
        until.append(_until(own, other, terms))
    statuses = [one.status for one in found]
    stopped = [n for n in until if n is not None]
    return [
        name, _share(right, n), _share(golden, n),
        100 * float(np.mean([one.difference.value for one in found if one.difference])),
        *(statuses.count(status) for status in ("fail", "suspect", "pass", "inconclusive")),
        100 * float(np.median([one.difference.mde or 1.0 for one in found if one.difference])),
        len(stopped), float(np.median(stopped)) if stopped else None,
    ]  # fmt: skip


def _until(own: Sequence[Tally], golden: Sequence[Tally], terms: Terms) -> int | None:
    """After how many cases a run that looks after every ten finds a loss; None where it does not."""
    looks = Terms(alpha=terms.alpha, tolerance=terms.tolerance, margin=terms.margin, looks=True)
    for n in range(10, len(own) + 1, 10):
        if settled(own[:n], golden[:n], looks):
            status = outcome(own[:n], golden[:n], looks, rng=np.random.default_rng(0)).status
            return n if status == "fail" else None
    return None


def _share(right: Sequence[int], n: int) -> str:
    rate = pass_rate([Tally(case=str(at), k=one, n=n) for at, one in enumerate(right)])
    return f"{rate.value or 0:.0%} [{rate.low or 0:.0%}, {rate.high or 0:.0%}]"

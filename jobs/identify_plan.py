"""``weighmaster reference order``: which prompts tell variants apart soonest, as configuration of the probe `identify`.

The command ``identify`` finds them by itself. An agent has no golden weights, so it has to be told.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from jobs.golden import ensure_golden
from jobs.identify_order import CANDIDATES, ordered
from jobs.out_file import require_writable
from jobs.predicting import bank_names, kept_at
from jobs.still_working import telling
from jobs.terminal import show, show_document
from monitor.errors import GoldenError
from probes.identify import Identify


def run(home: Path, folder: Path | None, *, n: int, device: str, out: Path, as_json: bool) -> int:
    """Choose `n` prompts for the golden `folder` (None: the packaged one), print them and write `out` (YAML).

    Raises
    ------
    UsageError
        When `out` cannot be written.
    GoldenError
        When the golden weights cannot be used, or none of the variants that deviate least can be made of them.
    """
    require_writable(out)
    console = Console(stderr=True, highlight=False)
    with telling(lambda line: console.print(line, markup=False, soft_wrap=True)) as report:
        golden = folder or ensure_golden(home, report)
        names, digest = _chosen(golden, device, report)
    if not names:
        raise GoldenError(f"{golden}: none of the 8-bit variants can be made of these weights, so no order is better")
    chosen = names[:n]
    out.write_text(_yaml(chosen, digest), "utf-8")
    console.print(f"written: {out}", markup=False, soft_wrap=True)
    if as_json:
        show_document({"golden": digest, "candidates": CANDIDATES, "chosen": list(chosen)})
    else:
        show(_table(chosen))
    return 0


def _chosen(golden: Path, device: str, report: Any) -> tuple[tuple[str, ...], str]:
    from reference.engine import TorchEngine  # noqa: PLC0415  # torch is imported only when it is needed
    from reference.prediction_store import PredictionStore  # noqa: PLC0415
    from reference.predictions import Predictions  # noqa: PLC0415

    load = partial(TorchEngine.load, device=device, threads=1)
    scorer = load(golden)
    try:
        store = PredictionStore(kept_at(scorer, ".sqlite"))
        predictor = Predictions(golden=golden, store=store, load=load, report=report)
        order = kept_at(scorer, "-order.json")
        names = ordered(scorer, predictor, bank_names(predictor), order, order=Identify().order, report=report)
        return names, scorer.fingerprint.digest
    finally:
        scorer.close()


def _yaml(chosen: Sequence[str], digest: str) -> str:
    lines = [
        f"# The {len(chosen)} prompts that tell variants of golden weights {digest} apart soonest, the best first;",
        "# put this into weighmaster.yaml.",
        "probes:",
        "  - kind: identify",
        "    every: 1d",
        f"    prompts: {len(chosen)}",
        f"    chosen: [{', '.join(chosen)}]",
    ]
    return "\n".join(lines) + "\n"


def _table(chosen: Sequence[str]) -> Table:
    from probes.prompt_pool import named_prompts  # noqa: PLC0415

    table = Table(title=f"{len(chosen)} prompts, the best first", title_justify="left")
    table.add_column("prompt")
    table.add_column("text")
    for name, messages in named_prompts(chosen).items():
        table.add_row(name, str(messages[0]["content"]))
    return table

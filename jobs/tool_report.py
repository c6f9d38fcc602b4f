"""``weighmaster tools FOLDER``: what an evidence folder says of tool calls, as a K2VV-shaped summary and by layer."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table

from jobs.evidence_folder import Kept, read
from jobs.terminal import show, show_document
from monitor.errors import UsageError
from monitor.tools.bfcl import error_of
from monitor.tools.case import Case, case_id_of
from monitor.tools.forms import pairs, with_template
from monitor.tools.graded import Graded, grade
from monitor.tools.layers import was_cut
from monitor.tools.shown import bytes_of
from monitor.tools.summary import summary
from monitor.types import Capture, Exchange
from probes.tool_suite import built_in

PROBE = "tools"


def run(folder: Path, *, as_json: bool) -> int:
    """Print the summary of every endpoint in `folder`; return 1 when an answer has a fault, 3 when there is none.

    Raises
    ------
    UsageError
        When the folder holds no evidence of the probe `tools`.
    """
    documents = [document for kept in read(folder) if (document := report(kept)) is not None]
    if not documents:
        raise UsageError(f"{folder}: no run of `tools` here; `weighmaster probe ENDPOINT --kind tools --out` makes one")
    if as_json:
        show_document({"endpoints": documents})
    else:
        for document in documents:
            show(_table(document))
    if not any(document["success_count"] for document in documents):
        return 3
    return int(any(failure["fault"] for document in documents for failure in document["failures"]))


def report(kept: Kept) -> dict[str, Any] | None:
    """Return the summary of an endpoint's runs of `tools` with all failures and their bytes; None without a run."""
    captures: dict[str, Capture] = {}
    graded: list[Graded] = []
    known = {case.case_id: case for case in built_in()}
    for record, taken in zip(kept.probed.records, kept.probed.captures, strict=True):
        if record.run.probe == PROBE:
            captures |= {one.exchange_id: raw for one, raw in zip(record.exchanges, taken, strict=True)}
            graded += [made for one in record.exchanges if (made := grade(one, _case(one, known))) is not None]
    if not graded:
        return None
    told = with_template(graded, {})
    endpoint = kept.probed.endpoint
    return {
        "endpoint": endpoint.name, **summary(told, model=endpoint.model),
        "failures": list(_failures(told, captures)), "arguments": list(_arguments(told)), "forms": _forms(told),
    }  # fmt: skip


def _case(exchange: Exchange, known: Mapping[str, Case]) -> Case | None:
    """The case of the built-in suite, with the calls that it expects; of other suites only the request is known."""
    return known.get(case_id_of(exchange.request)) if exchange.request else None


def _failures(graded: Sequence[Graded], captures: dict[str, Capture]) -> Iterator[dict[str, Any]]:
    for one in graded:
        for symptom in one.symptoms:
            raw = bytes_of(captures[one.exchange.exchange_id], symptom)
            yield {
                "exchange": one.exchange.exchange_id, "case": one.case.case_id, "form": one.form,
                "layer": symptom.layer, "name": symptom.name, "fault": symptom.is_fault,
                "bytes": raw.decode("utf-8", "backslashreplace"),
            }  # fmt: skip


def _arguments(graded: Sequence[Graded]) -> Iterator[dict[str, Any]]:
    """Answers whose calls are others than the case expects, with the name that BFCL has for it."""
    for one in graded:
        if one.arrived and not was_cut(one.exchange) and (error := error_of(one)) is not None:
            yield {"exchange": one.exchange.exchange_id, "case": one.case.case_id, "form": one.form, "bfcl": error}


def _forms(graded: Sequence[Graded]) -> dict[str, int]:
    marks = [(bool(pair.stream.faults), bool(pair.whole.faults)) for pair in pairs(graded)]
    return {"pairs": len(marks), "stream_only": marks.count((True, False)), "whole_only": marks.count((False, True))}


def _table(document: dict[str, Any]) -> Table:
    answers = f"{document['success_count']} answers, {document['failure_count']} failed"
    table = Table(title=f"{document['endpoint']}: {answers}", title_justify="left")
    for column in ("metric", "k of n", "value", "95% interval"):
        table.add_column(column)
    for row in document["metrics"]:
        if row["n"]:
            counted = f"{row['k']} of {row['n']}" if row["k"] is not None else f"n {row['n']}"
            between = f"{row['low']:.1%} to {row['high']:.1%}" if row["low"] is not None else "–"
            table.add_row(row["metric"], counted, f"{row['value']:.4g}", between)
    for one in document["presets"]:
        if one["met"] is not None:
            table.add_row(f"{one['preset']}: {one['says']}", "", one["met"], "")
    named: dict[str, int] = {}
    for failure in document["failures"]:
        name = f"{failure['layer']}: {failure['name']}"
        named[name] = named.get(name, 0) + 1
    for name, count in named.items():
        table.add_row(name, str(count), "", "")
    return table

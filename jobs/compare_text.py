"""The comparison on a terminal: the same numbers, good without colour and when piped."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from jobs.verdict_table import SYMBOLS
from monitor import comparison_cells as cells
from monitor.comparison import Comparison, ModelComparison, Row
from monitor.comparison_figures import DASH, estimate_text, one_line, place_text, span_text
from monitor.comparison_weights import served
from monitor.comparison_words import advice, scope, sections


def view(comparison: Comparison) -> Group:
    """Return what is printed."""
    if not comparison.models:
        return Group(Text("There is nothing to compare: no endpoint was measured in these data."))
    return Group(*(part for model in comparison.models for part in _model(model)), *_end(comparison))


def _model(model: ModelComparison) -> Iterator[RenderableType]:
    yield _plain(model.model, "bold")
    yield _plain(advice(model), "bold")
    yield _plain(scope(model))
    yield Text()
    yield _served(model)
    yield Text()
    for section in sections(model):
        yield _plain(f"{section.title}:", "bold")
        for sentence in section.sentences:
            yield _plain(f"- {sentence}")
    yield Text()
    # One table per measure: numbers with their intervals do not fit beside each other on 80 columns.
    for measure in cells.measures(model):
        unit = f", {measure.unit}" if measure.unit and measure.unit != "share" else ""
        table = _table(f"{measure.title}{unit}", ("", "endpoint", "value", "place"))
        for row in model.rows:
            mark, colour = SYMBOLS[row.status]
            place = row.places.get(measure.name)
            table.add_row(
                Text(mark, colour), _plain(row.endpoint.name),
                Text(estimate_text(measure, row.estimates[measure.name])), Text(place_text(place)),
            )  # fmt: skip
        yield table
        yield Text()
    for row in model.rows:
        for limit in row.limits:
            yield _plain(f"{row.endpoint.name}: {limit}", "dim")
    yield Text()


def _served(model: ModelComparison) -> Table:
    """Who serves what, as the page opens. A line for each cell: side by side they do not fit on 80 columns."""
    table = _table("What is served", ("", "", ""))
    table.show_header = False
    for row in model.rows:
        (mark, colour), declared = SYMBOLS[row.status], served(row).declared
        name = Text("\n").join((_plain(row.endpoint.name), _plain(f"{row.status}, declares {declared}")))
        told = Table.grid(padding=(0, 2, 0, 0))
        for cells_ in _told(model, row):
            told.add_row(*cells_)
        table.add_row(Text(mark, colour), name, told)
    return table


def _told(model: ModelComparison, row: Row) -> Iterator[tuple[Text, Text]]:
    one = served(row)
    sure = "" if one.posterior == DASH else f"posterior {one.posterior}"
    share = "" if one.share == DASH else one.share
    cells_ = {
        "identified": "; ".join(filter(None, (one.served, sure, share, one.named_at))), "remark": one.remark,
        "from golden": cells.far(row), "wrong since": cells.wrong_since(row), "to switch": cells.way_out(model, row),
        "judged": one.judged,
    }  # fmt: skip
    # Where nothing is wrong there is no since when, and nowhere to go: that is no number that nobody measured.
    none = {"remark": "", "wrong since": DASH, "to switch": DASH}
    for name, text in cells_.items():
        if text != none.get(name):
            yield Text(f"{name:<11}", "dim"), _plain(text)


def _table(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    for name in heads:
        table.add_column(name, overflow="fold")
    return table


def _end(comparison: Comparison) -> Iterator[RenderableType]:
    yield Text(f"{span_text(comparison.first_at, comparison.last_at)}; 95% intervals in brackets; "
               f"configuration {comparison.config_sha256[:12]}", "dim")  # fmt: skip


def _plain(text: str, style: str = "") -> Text:
    return Text(one_line(text), style)

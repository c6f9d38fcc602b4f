"""The report in its five forms. Oracle: the same bytes again, one set of numbers, and what hostile text must not do."""

import csv
import io
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import orjson
import pytest
from rich.console import Console

from jobs.compare_documents import as_csv, as_json
from jobs.compare_page import html, markdown, status_page
from jobs.compare_text import view
from jobs.publish import SHOWN
from jobs.verdict_table import SYMBOLS
from monitor import comparison_cells as cells
from monitor.comparison import Comparison
from monitor.comparison_figures import bare, estimate_text, interval_text
from monitor.comparison_measures import MEASURES
from monitor.comparison_rows import compare
from monitor.comparison_weights import served
from storage.comparison_reads import facts_in, facts_of_snapshot
from tests.report.made import HOSTILE, LADDER, facts, filled
from tests.storage.factories import incident, minutes

GOLDEN = Path(__file__).parents[1] / "golden" / "report"
MOST_BYTES = 2 * 10**6


def world(said: str = "fine") -> Comparison:
    return compare(facts(said), ladders={"smollm2": LADDER}, source="from a test")


def text_of(comparison: Comparison, width: int = 200) -> str:
    console = Console(width=width, file=io.StringIO(), no_color=True)
    console.print(view(comparison))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


class Tags(HTMLParser):
    """Every element with its attributes, and the text between them."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(("name", "made"), [("html", html), ("md", markdown), ("json", as_json), ("csv", as_csv)])
def test_the_report_is_the_kept_one_byte_for_byte(name: str, made: object) -> None:
    """`python -m tests.report.write_golden` renews the kept files; look at the difference before you keep it."""
    assert callable(made)
    assert made(world()) == (GOLDEN / f"comparison.{name}").read_text(encoding="utf-8")


def test_a_store_its_snapshot_and_plain_records_give_the_same_report(tmp_path: Path) -> None:
    store = filled(tmp_path / "w.duckdb")
    over_api = compare(facts_in(store), ladders={"smollm2": LADDER}, source="from a test")
    snapshot = store.snapshot(minutes(600), "asked")
    store.close()
    from_copy = compare(facts_of_snapshot(snapshot.folder), ladders={"smollm2": LADDER}, source="from a test")
    assert html(over_api) == html(from_copy) == html(world())
    assert as_json(over_api) == as_json(from_copy) == as_json(world())


def test_the_terminal_opens_as_the_page_does_and_fits_80_columns() -> None:
    """Oracle: the cells of the page's first table; nothing is cut, and nothing that does not apply is told."""
    (model,) = world().models
    lines = text_of(world(), 80).splitlines()
    assert max(map(len, lines)) <= 80
    start = lines.index(next(line for line in lines if line.startswith("What is served")))
    opening = " ".join(" ".join(lines[start : lines.index("Failing:")]).split())
    for row in model.rows:
        assert f"{SYMBOLS[row.status][0]} {row.endpoint.name} " in opening
        assert f"{row.status}, declares " in opening
    row = next(one for one in model.rows if one.endpoint.name == "bargain/m")
    one = served(row)
    assert f"identified {one.served}" in opening
    assert one.remark == "over-quantised"
    for said in (cells.far(row), cells.wrong_since(row), cells.way_out(model, row), one.share, one.judged):
        assert all(word in opening for word in said.split())
    passing = opening[opening.index("acme/m") : opening.index("bargain/m")]
    assert "wrong since" not in passing
    assert "to switch" not in passing


def test_all_forms_agree_on_the_numbers() -> None:
    found = world()
    page, marks, text = html(found), markdown(found), text_of(found)
    lines = {(one["endpoint"], one["measure"]): one for one in csv.DictReader(io.StringIO(as_csv(found)))}
    rows = orjson.loads(as_json(found))["models"][0]["rows"]
    assert len(lines) == len(rows) * len(MEASURES)
    for row, told in zip(rows, found.models[0].rows, strict=True):
        for measure in MEASURES:
            one, line = row["estimates"][measure.name], lines[row["endpoint"]["name"], measure.name]
            assert [line[key] for key in ("value", "low", "high")] == [
                "" if one[key] is None else str(one[key]) for key in ("value", "low", "high")
            ]  # fmt: skip
            own = told.estimates[measure.name]
            if own.value is not None:
                shown = estimate_text(measure, own)
                assert shown in marks
                assert shown in text
                assert f"<b>{bare(own.value, measure.unit)}</b>" in page
                assert interval_text(own, measure.unit) in page


def test_the_page_loads_nothing_and_is_small() -> None:
    document = html(world(HOSTILE * 50))
    assert len(document.encode()) < MOST_BYTES
    found = Tags(document)
    loading = {"script", "img", "link", "iframe", "object", "embed", "video", "audio", "image", "use", "base", "form"}
    assert not loading & {tag for tag, _ in found.tags}
    names = {name for _, attributes in found.tags for name in attributes}
    assert not names & {"src", "href", "xlink:href", "action", "srcset", "style", "onload", "onerror"}
    assert "url(" not in document
    assert "@import" not in document
    policy = next(given["content"] for tag, given in found.tags if "http-equiv" in given)
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"


def test_sixty_endpoints_with_much_to_say_stay_under_the_limit() -> None:
    """As many as a fleet has, each with long answers, and every pair a switch."""
    many = [
        replace(one, endpoint=replace(one.endpoint, name=f"{one.endpoint.name}-{number:02}"))
        for number in range(15) for one in facts(HOSTILE * 100)
    ]  # fmt: skip
    found = compare(many, ladders={"smollm2": LADDER})
    assert len(found.models[0].switches) == 30 * 15
    for form in (html(found), markdown(found), as_json(found)):
        assert len(form.encode()) < MOST_BYTES


def test_hostile_text_is_text_everywhere() -> None:
    found = world(HOSTILE)
    page = html(found)
    shown = Tags(page)
    assert "<script>alert(1)</script>" in shown.text  # as text, not as an element
    assert not {"script", "img", "a"} & {tag for tag, _ in shown.tags}
    for form in (page, markdown(found), text_of(found, 400)):
        assert "\x1b" not in form
        assert "\u202e" not in form
    assert "\\x1b[31mred" in shown.text
    assert "\\u202egnp.exe" in shown.text


def test_hostile_text_cannot_leave_its_fence_in_markdown() -> None:
    marks = markdown(world(f"{HOSTILE}\n```\n# heading"))
    fences = re.findall(r"^(`{3,})text\n<script>", marks, re.MULTILINE)
    assert {len(fence) for fence in fences} == {5}  # longer than the four in it
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", marks, flags=re.MULTILINE | re.DOTALL)
    assert "<script>" not in outside
    assert "# heading" not in outside


def test_hostile_names_and_reasons_are_literal_in_markdown_and_no_formulas_in_csv() -> None:
    first, *_ = facts()
    changed = compare(
        [*facts()[1:], type(first)(endpoint=type(first.endpoint)(
            name="=cmd|x/<b>![i](http://evil.example)", provider="p", base_url="http://secret.example", model="m",
            reference="smollm2"))]
    )  # fmt: skip
    marks = markdown(changed)
    assert "<b>" not in marks
    assert "![i](http" not in marks
    assert "http://evil" not in marks  # a joiner takes the bare address apart
    assert ",'=cmd|x" in as_csv(changed)
    page = Tags(html(changed))
    assert "<b>![i](http://evil.example)" in page.text
    assert "img" not in {tag for tag, _ in page.tags}


def test_a_line_of_a_megabyte_is_cut_and_its_length_told() -> None:
    found = world("x" * 2**20)
    for form in (html(found), markdown(found), as_json(found)):
        assert "(cut here; 1,048,576 characters in all)" in form
        assert len(form) < 300_000


def test_an_empty_comparison_says_so() -> None:
    nothing = compare([])
    for form in (html(nothing), markdown(nothing), text_of(nothing)):
        assert "There is nothing to compare" in form
    assert as_csv(nothing).count("\n") == 1


def test_incidents_are_told_with_their_ends(tmp_path: Path) -> None:
    over = incident("i1", endpoint="bargain/m", at=minutes(60), closed_at=minutes(120), cause="weights")
    still = incident("i2", endpoint="bargain/m", at=minutes(180), cause="template")
    gone = incident("i3", endpoint="bargain/m", at=minutes(-900), closed_at=minutes(-800), cause="long_gone")
    store = filled(tmp_path / "w.duckdb", "fine", over, still, gone)
    found = compare(facts_in(store, since=minutes(-60)))
    store.close()
    page = Tags(html(found)).text
    assert "2026-03-01 13:00 UTC" in page
    assert "2026-03-01 14:00 UTC" in page
    assert "still open" in page
    assert "long_gone" not in page


def test_the_public_page_keeps_addresses_errors_and_places_inside() -> None:
    page = status_page(world("the key is sk-secret"), title="Ours", shown=SHOWN)
    for hidden in ("127.0.0.1", "sk-secret", "bargain-m-kl", "8 of 16 exchanges", "asked from", "vantage"):
        assert hidden not in page
    for shown in ("Ours", "bargain/m", "weights: Q4_0", "[0.19, 0.3]", "34 of 34"):
        assert shown in page


def test_text_fits_eighty_columns_with_every_number_in_one_piece() -> None:
    found = world()
    text = text_of(found, 80)
    assert max(map(len, text.splitlines())) <= 80
    for row in found.models[0].rows:
        for measure in MEASURES:
            if row.estimates[measure.name].value is not None:
                assert estimate_text(measure, row.estimates[measure.name]) in text

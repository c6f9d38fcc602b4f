"""Oracles: the HTML parser of the standard library, and what the HTML specification calls special."""

import base64
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.markup import MOST_CHARS, data, figures, joined, link, picture, table, tag


class Read(HTMLParser):
    """All elements with their attributes, and all text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@given(st.text())
def test_any_text_stays_text_and_is_readable_again(text: str) -> None:
    read = Read(tag("p", text, title=text).text)
    assert [name for name, _ in read.elements] == ["p"]
    seen = text.translate({code: 0x2400 + code for code in range(32) if code not in {9, 10}} | {127: 0x2421})
    assert read.text == seen.encode("utf-8", "replace").decode()
    assert read.elements[0][1]["title"] == read.text


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "</td></table><img src=x onerror=alert(1)>",
        '" onmouseover="x',
        "<!-- -->",
        "&lt;b&gt;",
    ],
)
def test_markup_in_a_cell_makes_no_element(text: str) -> None:
    read = Read(table(("a", "b"), [[text, tag("td", data(text), title=text)]], label=text).text)
    assert {name for name, _ in read.elements} == {"div", "table", "thead", "tbody", "tr", "th", "td", "bdi"}
    assert read.text.count(text) == 2
    assert not any(name.startswith("on") for _, attributes in read.elements for name in attributes)


def test_controls_and_escapes_of_a_terminal_are_shown_as_pictures() -> None:
    assert Read(data("\x1b[31mred\x00\x7f").text).text == "␛[31mred␀␡"


def test_a_text_that_turns_direction_cannot_turn_its_neighbours() -> None:
    elements = Read(data("\u202egnirts").text).elements
    assert elements == [("bdi", {"dir": "auto"})]


def test_a_line_of_a_megabyte_is_cut_and_the_rest_is_counted() -> None:
    text = Read(data("x" * 2**20).text).text
    assert len(text) < MOST_CHARS + 60
    assert text.endswith(f"and {2**20 - MOST_CHARS:,} more characters")


def test_links_carry_their_parameters_whatever_is_in_them() -> None:
    read = Read(link("endpoint", data("a&b"), name="a&b=c #d/é").text)
    assert read.elements[0] == ("a", {"href": "endpoint?name=a%26b%3Dc+%23d%2F%C3%A9"})


def test_a_picture_carries_its_drawing_and_what_it_shows() -> None:
    read = Read(picture(tag("svg", tag("rect", x=1)), alt="a <b>").text)
    name, attributes = read.elements[0]
    packed = str(attributes["src"]).removeprefix("data:image/svg+xml;base64,")
    assert name == "img"
    assert attributes["alt"] == "a <b>"
    assert base64.b64decode(packed) == b'<svg xmlns="http://www.w3.org/2000/svg"><rect x="1"/></svg>'


def test_columns_of_numbers_stand_on_the_right_with_their_heads() -> None:
    read = Read(table(("name", "n"), [["a", *figures("1")]], label="t").text)
    heads = [attributes.get("class") for name, attributes in read.elements if name == "th"]
    assert heads == [None, "num"]


def test_pieces_that_are_none_leave_nothing() -> None:
    assert joined([None, "a", None]).text == "a"
    assert tag("p", None, title=None).text == "<p></p>"


def test_cards_keep_the_roles_of_a_table_and_no_text_gets_one() -> None:
    """ARIA: laid out as blocks, a table is one only where each element says so."""
    hostile = '<td> <tr role="x"> scope="row"'
    drawn = table(("a", hostile), [(tag("th", hostile, scope="row"), data(hostile))], label="x", cards=True).text
    roles = {"table": 1, "rowgroup": 2, "row": 2, "columnheader": 2, "rowheader": 1, "cell": 1}
    assert {role: drawn.count(f' role="{role}"') for role in roles} == roles
    assert "&lt;td&gt;" in drawn
    assert 'role="row"' not in table(("a",), [("b",)], label="x").text

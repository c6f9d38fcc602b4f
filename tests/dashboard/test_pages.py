"""Every state of every page, run by Streamlit's own test runner against the real read API. Cases OP-10 to OP-12."""

import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from dashboard.app import settings
from dashboard.screen import screens
from dashboard.session import Settings
from tests.dashboard import scenes
from tests.dashboard.opening import opened_page
from tests.dashboard.scenes import DEGRADED, FAITHFUL, FAULTY, exchange
from tests.dashboard.store import Record, stored

NAMES = [name for name, _ in screens()]
ABOUT_ONE = {"endpoint": "name", "speed": "endpoint", "tools": "endpoint", "capabilities": "endpoint"}
"""Pages about one endpoint, and what the address calls it."""
Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _fresh_caches() -> None:
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a page of the dashboard on the store at a URL, with parameters in its address."""

    def opened(url: str | None, name: str = "overview", /, **parameters: str | list[str]) -> AppTest:
        return opened_page(monkeypatch, url, name, parameters)

    return opened


@pytest.fixture(scope="module")
def full() -> Iterator[str]:
    with stored(scenes.full(datetime.now(UTC))) as url:
        yield url


@pytest.fixture(scope="module")
def empty() -> Iterator[str]:
    with stored([]) as url:
        yield url


@pytest.fixture(scope="module")
def one_point() -> Iterator[str]:
    with stored(scenes.one_point(datetime.now(UTC))) as url:
        yield url


def drawn(shown: AppTest) -> str:
    """The HTML that the product made."""
    return "\n".join(element.proto.body for element in shown.get("html"))


def texts(shown: AppTest) -> str:
    """All words on the page, without Markdown's escapes and without elements."""
    blocks = [*shown.title, *shown.subheader, *shown.markdown, *shown.caption, *shown.text, *shown.code]
    tables = [str(value) for table in shown.table for value in table.value.to_numpy().ravel()]
    words = "\n".join([*(block.value for block in blocks), *tables]).replace("\\", "")
    return words + "\n" + unescape(re.sub(r"<[^>]+>", " ", drawn(shown)))


def charts(shown: AppTest) -> int:
    return len(shown.get("vega_lite_chart"))


def test_the_overview_says_who_is_faithful_and_shows_every_status_as_a_word(page: Open, full: str) -> None:
    shown = texts(page(full))
    assert "1 of 5 endpoints is faithful: lab/faithful. 2 are not faithful: lab/degraded (weights)" in shown
    for symbol, word in (
        ("✓", "pass"),
        ("✗", "fail"),
        ("?", "suspect"),
        ("–", "inconclusive"),
        ("–", "not judged yet"),
    ):
        assert re.search(rf"{re.escape(symbol)}\s+{word}", shown)
    for words in ("0.312 nats [0.251, 0.382]", "weights", "weights since 52 min", "last run never"):
        assert words in shown


def test_the_overview_links_cells_to_evidence_and_endpoints_to_their_page(page: Open, full: str) -> None:
    found = drawn(page(full))
    for name in ("degraded", "faithful", "faulty", "misconfigured", "new"):
        assert f'href="endpoint?name=lab%2F{name}"' in found
    assert f'href="verdict?id=v-{DEGRADED.replace("/", "%2F")}-logprob_fidelity"' in found
    assert 'href="incidents?id=i-1"' in found


def test_the_overview_can_be_narrowed_and_the_address_says_so(page: Open, full: str) -> None:
    shown = page(full, status="fail")
    assert "3 of 5 endpoints" in texts(shown)
    assert "lab%2Ffaithful" not in drawn(shown)


def test_the_endpoint_page_shows_verdicts_with_their_numbers_charts_and_exchanges(page: Open, full: str) -> None:
    shown = page(full, "endpoint", name=DEGRADED)
    words = texts(shown)
    for number in ("lab/degraded", "0.312 nats", "[0.251, 0.382]", "0.012 nats", "240", "120,000"):
        assert number in words
    assert charts(shown) == 4
    assert len(shown.dataframe[0].value) == 50


def test_the_window_can_be_changed_and_an_empty_one_says_so(page: Open, full: str) -> None:
    shown = page(full, "endpoint", name=FAULTY)  # its last run is two hours old
    assert charts(shown) == 4
    shown.segmented_control[0].set_value("1 h").run()
    assert charts(shown) == 1
    assert texts(shown).count("No data yet in this window") == 3


def test_an_endpoint_that_never_ran_says_what_to_do(page: Open, full: str) -> None:
    shown = page(full, "endpoint", name=scenes.NEW)
    assert charts(shown) == 0
    assert "No verdict yet" in texts(shown)
    assert "weighmaster probe" in texts(shown)


@pytest.mark.parametrize("name", NAMES)
def test_one_point_is_drawn_on_every_page(page: Open, one_point: str, name: str) -> None:
    shown = page(one_point, name, **({ABOUT_ONE[name]: FAITHFUL} if name in ABOUT_ONE else {}))
    assert "lab/faithful" in texts(shown) or name in {"incidents", "instrument", "compare"}
    if name == "endpoint":
        assert charts(shown) == 4
        assert len(shown.dataframe[0].value) == 1


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_store_says_what_to_do_or_that_nothing_happened(page: Open, empty: str, name: str) -> None:
    words = texts(page(empty, name))
    if name == "incidents":
        assert "Nothing happened" in words
    elif name == "instrument":
        assert "No agent was heard of" in words
    else:
        assert "No endpoints yet" in words
        assert "weighmaster demo" in words


@pytest.mark.parametrize("name", NAMES)
def test_a_dead_store_is_named_and_asked_again(page: Open, name: str) -> None:
    with socket.socket() as unheard:  # bound, so that nobody else gets the port, but not listening
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        words = texts(page(url, name))
    assert "No answer from the store" in words
    assert f"does not answer at {url}" in words
    assert "asks again every" in words


@pytest.mark.parametrize("name", ABOUT_ONE)
@pytest.mark.parametrize(
    "asked", ["removed-ep", "ep-1' OR '1'='1", "<script>alert(1)</script>", "![x](http://127.0.0.1:1/x)"]
)
def test_an_unknown_name_is_said_to_be_unknown_and_shows_no_other_endpoint(
    page: Open, full: str, name: str, asked: str
) -> None:
    shown = page(full, name, **{ABOUT_ONE[name]: asked})
    assert shown.title[0].value == "Unknown endpoint"
    assert repr(asked) in shown.text[0].value
    assert drawn(shown).count("<li>") == 5
    assert charts(shown) == 0
    assert not shown.table


@pytest.mark.parametrize("name", ABOUT_ONE)
def test_several_names_are_no_choice(page: Open, full: str, name: str) -> None:
    shown = page(full, name, **{ABOUT_ONE[name]: [FAITHFUL, DEGRADED]})
    assert shown.title[0].value == "Choose an endpoint"
    assert drawn(shown).count("<li>") == 5


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("verdict", {"id": "gone"}, "The store has no verdict 'gone'"),
        ("verdict", {}, "Choose a verdict"),
        ("compare", {"model": "gone"}, "no model or reference called 'gone'"),
        ("incidents", {"id": "gone"}, "No incident 'gone' was open in this window"),
    ],
)
def test_a_link_to_what_is_gone_says_so(
    page: Open, full: str, name: str, parameters: dict[str, str], words: str
) -> None:
    assert words in texts(page(full, name, **parameters))


def test_a_verdict_without_runs_in_the_store_still_shows_its_numbers(page: Open, full: str) -> None:
    shown = page(full, "verdict", id=f"v-{DEGRADED}-logprob_fidelity")
    words = texts(shown)
    numbers = ("lab/degraded", "0.312 nats [0.251, 0.382]", "9f86d081884c7d65", "r-0007")
    for piece in (*numbers, "No calibration is configured", "no longer kept", "weighmaster audit --from"):
        assert piece in words
    assert charts(shown) == 3  # ladder of limits, effects, evidence


def test_the_comparison_shows_the_numbers_of_the_report(page: Open, full: str) -> None:
    words = texts(page(full, "compare", model="smollm2-135m", sort="KL to golden"))
    assert "lab/degraded does not serve the weights that it declares" in words
    assert "0.31" in words
    assert "[0.25, 0.38]" in words
    assert "KL to golden, nats ↓" in words


def test_a_store_that_comes_back_is_shown_on_the_next_run(page: Open) -> None:
    with stored(scenes.full(datetime.now(UTC)), token="t") as url:
        shown = page(url)
        assert "WEIGHMASTER_TOKEN" in shown.text[0].value
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("WEIGHMASTER_TOKEN", "t")
            st.cache_resource.clear()
            shown.run()
    assert "endpoints is faithful" in texts(shown)


def test_without_a_store_url_the_page_says_how_to_give_one(page: Open) -> None:
    assert "--store-url" in page(None).text[0].value


def test_text_of_the_model_is_only_ever_shown_as_text(page: Open) -> None:
    hostile = "![x](http://127.0.0.1:1/beacon.png)<script>alert(1)</script>"
    now = datetime.now(UTC)
    spoken = exchange(0, content=hostile, error=hostile)
    wrong = scenes.verdict(FAITHFUL, "accounting", "fail", at=now, cause=hostile, reason=hostile, run_ids=("r",))
    records: list[Record] = [
        ("endpoint", replace(scenes.endpoint(FAITHFUL), model=hostile)),
        ("run", scenes.run(FAITHFUL, "r", now, scenes.observations(0, 0.1), spoken)),
        ("verdict", wrong), ("incident", replace(scenes.incident(now), endpoint=FAITHFUL, reason=hostile)),
    ]  # fmt: skip
    with stored(records) as url:
        shown = {
            name: page(url, name, **({ABOUT_ONE[name]: FAITHFUL} if name in ABOUT_ONE else {"id": wrong.verdict_id}))
            for name in NAMES
        }
    assert [block.value for block in shown["endpoint"].code].count(hostile) == 2
    for one in shown.values():
        markup = [*one.title, *one.subheader, *one.markdown, *one.caption]
        assert not any("![x](" in block.value or "<script>" in block.value for block in markup)
        assert "<script>" not in drawn(one)


def test_200_endpoints_are_one_table(page: Open) -> None:
    many: list[Record] = [("endpoint", scenes.endpoint(f"p/{index}")) for index in range(200)]
    with stored(many) as url:
        shown = page(url)
    assert drawn(shown).count("<tr ") == 201
    assert len(shown.get("html")) < 5


def test_every_page_asks_one_question_and_is_one_file() -> None:
    assert NAMES[0] == "overview"
    assert len({screen.question for _, screen in screens()}) == len(NAMES) == 9
    assert len({screen.order for _, screen in screens()}) == len(NAMES)


def test_settings_prefer_the_argument_and_take_the_token_from_the_environment() -> None:
    environment = {"WEIGHMASTER_STORE_URL": "http://b", "WEIGHMASTER_TOKEN": "t"}
    assert settings(["--store-url", "http://a"], environment) == Settings(store_url="http://a", token="t")
    assert settings(["--unknown", "x"], environment) == Settings(store_url="http://b", token="t")
    assert settings([], {}) == Settings(store_url=None)

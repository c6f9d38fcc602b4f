"""Every state of both pages, run by Streamlit's own test runner against the real read API. Cases OP-10 to OP-12."""

import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import dashboard
from dashboard.app import settings
from dashboard.session import Settings
from tests.dashboard import scenes
from tests.dashboard.scenes import DEGRADED, FAITHFUL, FAULTY, exchange
from tests.dashboard.store import Record, stored

APP = Path(dashboard.__file__).with_name("app.py")
Open = Callable[..., AppTest]


@pytest.fixture(autouse=True)
def _fresh_caches() -> None:
    st.cache_data.clear()
    st.cache_resource.clear()


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open a page of the dashboard on the store at a URL: the overview, or the endpoint page with `names`."""

    def opened(url: str | None, *names: str, endpoint: bool = False) -> AppTest:
        monkeypatch.setattr("sys.argv", [str(APP), *(["--store-url", url] if url else [])])
        monkeypatch.delenv("WEIGHMASTER_STORE_URL", raising=False)
        shown = AppTest.from_file(APP, default_timeout=30).run()
        if names or endpoint:
            shown.switch_page("screens/endpoint.py")
            shown.query_params["name"] = list(names)
            shown.run()
        assert not shown.exception
        return shown

    return opened


@pytest.fixture
def full() -> Iterator[str]:
    with stored(scenes.full(datetime.now(UTC))) as url:
        yield url


def texts(shown: AppTest) -> str:
    """All words on the page, without Markdown's escapes."""
    blocks = [*shown.title, *shown.subheader, *shown.markdown, *shown.caption, *shown.text, *shown.code]
    tables = [str(value) for table in shown.table for value in table.value.to_numpy().ravel()]
    return "\n".join([*(block.value for block in blocks), *tables]).replace("\\", "")


def charts(shown: AppTest) -> int:
    return len(shown.get("vega_lite_chart"))


def test_the_overview_says_who_is_faithful_and_shows_every_status_as_a_word(page: Open, full: str) -> None:
    shown = texts(page(full))
    assert "1 of 5 endpoints is faithful: lab/faithful. 2 are not faithful: lab/degraded (weights)" in shown
    for word in ("✓ pass", "✗ fail", "? suspect", "– inconclusive", "– not judged yet"):
        assert word in shown
    assert "0.312 nats [0.251, 0.382]" in shown
    assert "Cause: **weights**" in shown
    assert "Open incident, logprob fidelity, since 52 min ago" in shown
    assert "Last run never" in shown


def test_the_overview_links_every_endpoint_to_its_page(page: Open, full: str) -> None:
    links = [element.proto.query_string for element in page(full).get("page_link")]
    assert sorted(links) == [
        f"name=lab%2F{name}" for name in ("degraded", "faithful", "faulty", "misconfigured", "new")
    ]


def test_the_endpoint_page_shows_verdicts_with_their_numbers_charts_and_exchanges(page: Open, full: str) -> None:
    shown = page(full, DEGRADED)
    words = texts(shown)
    assert shown.title[0].value == "lab\\/degraded"
    for number in ("0.312 nats", "[0.251, 0.382]", "0.012 nats", "240", "120,000", "9f86d081884c7d65", "r-0007"):
        assert number in words
    assert charts(shown) == 4
    assert len(shown.dataframe[0].value) == 50


def test_the_window_can_be_changed_and_an_empty_one_says_so(page: Open, full: str) -> None:
    shown = page(full, FAULTY)  # its last run is two hours old
    assert charts(shown) == 4
    shown.segmented_control[0].set_value("1 h").run()
    assert charts(shown) == 1
    assert texts(shown).count("No data yet in this window") == 3


def test_an_endpoint_that_never_ran_says_what_to_do(page: Open, full: str) -> None:
    shown = page(full, scenes.NEW)
    assert charts(shown) == 0
    assert "No verdict yet" in texts(shown)
    assert "weighmaster probe" in texts(shown)


def test_one_point_is_drawn(page: Open) -> None:
    with stored(scenes.one_point(datetime.now(UTC))) as url:
        assert "could not be decided" in texts(page(url))
        shown = page(url, FAITHFUL)
    assert charts(shown) == 4
    assert len(shown.dataframe[0].value) == 1


@pytest.mark.parametrize("endpoint", [False, True])
def test_an_empty_store_says_how_to_start(page: Open, endpoint: bool) -> None:
    with stored([]) as url:
        shown = page(url, endpoint=endpoint)
    assert "No endpoints yet" in texts(shown)
    assert "weighmaster demo" in shown.code[0].value


@pytest.mark.parametrize(
    "name",
    ["removed-ep", "ep-1' OR '1'='1", "<script>alert(1)</script>", "![x](http://127.0.0.1:1/x)", "lab/degraded "],
)
def test_an_unknown_name_is_said_to_be_unknown_and_shows_no_other_endpoint(page: Open, full: str, name: str) -> None:
    shown = page(full, name)
    assert shown.title[0].value == "Unknown endpoint"
    assert repr(name) in shown.text[0].value
    assert len(shown.get("page_link")) == 5
    assert charts(shown) == 0
    assert not shown.table


@pytest.mark.parametrize("names", [(), ("",), (FAITHFUL, DEGRADED)])
def test_no_name_or_several_names_offer_the_list(page: Open, full: str, names: tuple[str, ...]) -> None:
    shown = page(full, *names, endpoint=True)
    assert shown.title[0].value == "Choose an endpoint"
    assert len(shown.get("page_link")) == 5


@pytest.mark.parametrize("endpoint", [False, True])
def test_a_dead_store_is_named_and_asked_again(page: Open, endpoint: bool) -> None:
    with socket.socket() as unheard:  # bound, so that nobody else gets the port, but not listening
        unheard.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unheard.getsockname()[1]}"
        shown = page(url, endpoint=endpoint)
    assert "No answer from the store" in texts(shown)
    assert f"does not answer at {url}" in shown.text[0].value
    assert "asks again every 5 seconds" in texts(shown)


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


def test_text_of_the_model_is_only_ever_shown_as_code(page: Open) -> None:
    hostile = "![x](http://127.0.0.1:1/beacon.png)<script>alert(1)</script>"
    now = datetime.now(UTC)
    spoken = exchange(0, content=hostile, error=hostile)
    records: list[Record] = [
        ("endpoint", scenes.endpoint(FAITHFUL)),
        ("run", scenes.run(FAITHFUL, "r", now, scenes.observations(0, 0.1), spoken)),
        ("verdict", scenes.verdict(FAITHFUL, "accounting", "fail", at=now, cause=hostile, reason=hostile)),
    ]
    with stored(records) as url:
        pages = [page(url), page(url, FAITHFUL)]
    assert [block.value for block in pages[1].code].count(hostile) == 2
    for shown in pages:
        markup = [*shown.title, *shown.subheader, *shown.markdown, *shown.caption]
        assert not any("![x](" in block.value or "<script>" in block.value for block in markup)


def test_settings_prefer_the_argument_and_take_the_token_from_the_environment() -> None:
    environment = {"WEIGHMASTER_STORE_URL": "http://b", "WEIGHMASTER_TOKEN": "t"}
    assert settings(["--store-url", "http://a"], environment) == Settings(store_url="http://a", token="t")
    assert settings(["--unknown", "x"], environment) == Settings(store_url="http://b", token="t")
    assert settings([], {}) == Settings(store_url=None)

"""Every page in a real browser, on 90 days of 60 endpoints with planted incidents: what a reader sees, in both themes
and on a phone; and that hostile text reaches nobody. One browser and one process serve all tests of this file.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import BrowserContext, expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from monitor.budget import Budget
from monitor.codec import encode
from monitor.ports import Entry
from monitor.results import RunRecord
from storage.store import DuckStore
from tests.dashboard import rich_others, scenes
from tests.dashboard.browsing import PHONE, Watched, dashboard, one_window, overflow, settled, violations, watched
from tests.dashboard.fleet import MODELS, QUANTISED, TOOLS, fleet
from tests.dashboard.store import LADDER, Record, entries_of, served, serving

pytestmark = pytest.mark.browser

HOSTILE = "evil/<img src=x onerror=alert(1)>"
CEDAR = "cedar%2Fllama-3.3-70b"


def hostile(beacon: str, now: datetime) -> list[Record]:
    """An endpoint with markup, terminal escapes, right-to-left overrides and a long line wherever its words reach."""
    text = (
        f"![x]({beacon}/a.png) <img src='{beacon}/b.png'> <script>fetch('{beacon}/c')</script> [l]({beacon}/d) "
        f"\x1b[31mred \u202egnirts {'long ' * 200_000}"
    )
    spoken = scenes.exchange(0, exchange_id="x-hostile", content=text, error=text, flags=(text[:200],))
    verdict = scenes.verdict(
        HOSTILE,
        "logprob_fidelity",
        "fail",
        cause=text[:300],
        reason=text,
        details={text[:200]: text[:200]},
        band=text[:200],
        at=now,
        run_ids=("r-hostile",),
    )
    kept = rich_others.tools(HOSTILE, text[:200], now)
    return [
        ("endpoint", replace(scenes.endpoint(HOSTILE), model=text[:300])),
        ("run", scenes.run(HOSTILE, "r-hostile", now, (), spoken)),
        ("verdict", replace(verdict, verdict_id="v-hostile")),
        ("incident", replace(scenes.incident(now), endpoint=HOSTILE, incident_id="i-hostile", reason=text)),
        *[(kind, _moved(noun)) for kind, noun in kept if kind == "run"],
    ]


def _moved(noun: object) -> object:
    """The run under another id: the fleet has it already."""
    assert isinstance(noun, RunRecord)
    exchanges = tuple(replace(one, run_id="r-tools", exchange_id=f"h{one.exchange_id}") for one in noun.exchanges)
    return replace(noun, run=replace(noun.run, run_id="r-tools"), exchanges=exchanges)


@pytest.fixture(scope="module")
def hits() -> list[str]:
    """What the beacon server was asked."""
    return []


@pytest.fixture(scope="module")
def beacon(hits: list[str]) -> Iterator[str]:
    def hit(request: Request) -> Response:
        hits.append(request.url.path)
        return Response(headers={"access-control-allow-origin": "*"})

    with served(Starlette(routes=[Route("/{path:path}", hit)])) as url:
        yield url


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory, beacon: str) -> Iterator[DuckStore]:
    now = datetime.now(UTC)
    made = fleet(Path(tmp_path_factory.mktemp("fleet")) / "w.duckdb", now)
    made.ingest("hostile", entries_of(hostile(beacon, now)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def url(store: DuckStore) -> Iterator[str]:
    budgets = {QUANTISED: Budget(tokens=500, usd=0.01)}
    with (
        serving(store, budgets=budgets, ladders=dict.fromkeys(MODELS, LADDER)) as store_url,
        dashboard(store_url) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """One for all: a new one would fetch and compile the pages' scripts anew."""
    with one_window(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture
def seen(context: BrowserContext) -> Iterator[Watched]:
    found = watched(context)
    yield found
    found.page.close()  # an open one would renew itself for ever


GRID, EVIDENCE, SPEED = "?status=fail", "verdict?id=rich-fidelity", f"speed?endpoint={CEDAR}&window=30+d"
"""Those from which a reader goes on."""
PAGES = {
    GRID: ("Is it all right?", "of 61 endpoints are faithful", "cedar/llama-3.3-70b", "0 charts"),
    "compare?model=llama-3.3-70b": ("cedar/llama-3.3-70b is over-quantised", "place 1 to", "What it costs", "4 charts"),
    "incidents?window=90+d&id=incident-3": ("What happened?", "before", "during", "provider elm", "3 charts"),
    EVIDENCE: (
        "How do you know?",
        "KL ladder",
        "golden prefers",
        "weighmaster audit --from rich-fidelity",
        "5 charts",
    ),
    "verdict?id=rich-identify": (
        "what is served is Q4_0",
        "Posterior of each scheme",
        "Observed against predicted",
        "Position by position",
        "6 charts",
    ),
    SPEED: ("How fast?", "eu-1", "us-1", "95 % interval", "6 charts"),
    "tools?endpoint=rowan%2Fmistral-small": (
        "Do tool calls work?",
        "markup_leak",
        "<tool_call>",
        "62.3 % to 98.4 %",
        "1 charts",
    ),
    f"capabilities?endpoint={CEDAR}": ("was kept until", "History", "0 charts"),
    "instrument": ("Is the instrument all right?", "over budget", "clock off", "no budget", "2 charts"),
    f"endpoint?name={CEDAR}": ("What is known of one endpoint?", "Identification", "How do you know?", "6 charts"),
}
"""Address -> words that a reader sees there, and how many charts."""


def opened(seen: Watched, url: str, address: str) -> None:
    """Go to the page and see its words and charts, with nothing that axe-core finds serious."""
    seen.page.goto(f"{url}/{address}")
    shown(seen, address)


def shown(seen: Watched, address: str) -> None:
    *words, charts = PAGES[address]
    for word in words:
        expect(seen.page.get_by_text(word).filter(visible=True).first).to_be_visible(timeout=60_000)
    settled(seen.page)
    expect(seen.page.locator("[data-testid=stVegaLiteChart]")).to_have_count(int(charts.split()[0]))
    assert violations(seen.page) == []
    hidden = "[...document.querySelectorAll('.wm-upright')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert seen.page.evaluate(hidden) == 0  # a matrix is seen whole


def shown_small_and_dark(seen: Watched, url: str) -> None:
    """The page that is open fits a phone, can be read in the dark, and asked nobody else."""
    page = seen.page
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    settled(page)
    assert overflow(page) == 0
    assert violations(page, "color-contrast", "scrollable-region-focusable") == []
    assert seen.troubles == []
    assert seen.hosts() == {url.split("/")[2]}


@pytest.mark.parametrize("address", [one for one in PAGES if one not in {GRID, EVIDENCE, SPEED}])
def test_every_page_works_in_both_themes_and_on_a_phone(address: str, url: str, seen: Watched) -> None:
    opened(seen, url, address)
    shown_small_and_dark(seen, url)


def test_a_reader_gets_from_the_grid_to_the_evidence_and_the_address_can_be_passed_on(url: str, seen: Watched) -> None:
    page = seen.page
    opened(seen, url, GRID)
    page.get_by_role("row").filter(has_text="cedar/llama-3.3-70b").get_by_role("link", name="fail").first.click()
    expect(page).to_have_url(re.compile(rf"/{re.escape(EVIDENCE)}$"))
    shown(seen, EVIDENCE)
    shown_small_and_dark(seen, url)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_contain_text("of 61 endpoints are faithful", timeout=60_000)
    page.get_by_role("link", name="cedar/llama-3.3-70b").first.click()
    expect(page).to_have_url(re.compile(r"/endpoint\?name=cedar"))


def test_the_overview_follows_the_store_without_a_reload(url: str, seen: Watched, store: DuckStore) -> None:
    page = seen.page
    page.goto(f"{url}/{GRID}")
    expect(page.get_by_text("rowan/mistral-small").first).to_be_visible(timeout=60_000)
    shown_small_and_dark(seen, url)
    assert page.get_by_text("made up just now").count() == 0
    fresh = scenes.verdict(TOOLS, "accounting", "fail", cause="made_up_just_now", at=datetime.now(UTC))
    store.ingest("fresh", [Entry(1, "verdict", encode(replace(fresh, verdict_id="v-fresh")))])
    expect(page.get_by_text("made up just now").first).to_be_visible(timeout=60_000)
    page.get_by_role("link", name="cedar/llama-3.3-70b").first.click()
    expect(page).to_have_url(re.compile(r"/endpoint\?name=cedar"))


def test_a_choice_is_in_the_address(url: str, seen: Watched) -> None:
    opened(seen, url, SPEED)
    seen.page.get_by_text("24 h", exact=True).click()
    expect(seen.page).to_have_url(re.compile(r"window=24"))
    shown_small_and_dark(seen, url)


@pytest.mark.parametrize("address", ["verdict?id=v-hostile", "endpoint?name={}", "tools?endpoint={}"])
def test_hostile_text_is_shown_and_causes_no_request(
    address: str, url: str, seen: Watched, beacon: str, hits: list[str]
) -> None:
    page = seen.page
    page.goto(f"{url}/{address.format(quote(HOSTILE, safe=''))}")
    expect(page.get_by_text(HOSTILE).first).to_be_visible(timeout=60_000)
    settled(page)
    assert page.locator(f"a[href^='{beacon}'], img[src^='{beacon}'], img[src=x]").count() == 0
    assert seen.troubles == []
    assert hits == []
    httpx.get(f"{beacon}/control", trust_env=False)
    assert hits == ["/control"], "the beacon server counts, so silence was silence"
    hits.clear()
    assert seen.hosts() == {url.split("/")[2]}

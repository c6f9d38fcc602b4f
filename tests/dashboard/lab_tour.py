"""Every page on what real endpoints did: ``python -m tests.dashboard.lab_tour DATA FOLDER``.

DATA is a folder that `tests.report.lab_report` has filled: endpoints of the lab that are faithful, degraded,
misconfigured, faulty and mixed. Each page is drawn into FOLDER at 1280 pixels in both themes and on a phone; verdicts:
one of each detector and status. What is wrong is told, and the exit code is then 1: an error on a console, a request
that leaves loopback, a serious finding of axe-core, anything wider than its window, a word of Python's in a text.
"""

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import quote_plus

from playwright.sync_api import BrowserContext, Page

from dashboard.store_reader import EndpointNow, StoreReader
from jobs.compare_ladder import ladders_of
from jobs.settings import load_config
from storage.store import DuckStore
from tests.dashboard.browsing import PHONE, WIDE, chromium, dashboard, overflow, settled, violations, watched
from tests.dashboard.store import serving
from tests.dashboard.tour import grow

FIRST_CALM_MS, CALM_MS = 2500, 700
"""A page that has not grown for so long is complete: at first, and in another look."""
HIGHEST = 9000
"""Pixels of the highest picture: here all of a page is looked at."""
LOOKS: Mapping[str, tuple[Literal["light", "dark"], dict[str, int]]] = {
    "light": ("light", WIDE), "dark": ("dark", WIDE), "phone": ("light", PHONE),
}  # fmt: skip
"""Theme and window by the end of a picture's name."""
ABOUT_ONE = {"endpoint": "name", "speed": "endpoint", "tools": "endpoint", "capabilities": "endpoint"}
CHANGING = ("color-contrast", "scrollable-region-focusable")
"""Rules of axe-core that another theme or width can break."""
NO_WORDS = re.compile(r"\b(None|nan|NaN|undefined|\[object Object\]|Traceback)\b")
"""What stands in a text only where somebody forgot that there may be nothing."""
_SAID = "[data-testid=stMainBlockContainer]"
_QUOTED = "pre, code, .wm-code, bdi"
"""Where endpoints speak: their words are their own."""


def addresses(endpoints: Sequence[EndpointNow]) -> Iterator[tuple[str, str]]:
    """(name of a picture, address) of every page of the dashboard, those about one endpoint for each."""
    yield from (("overview", ""), ("instrument", "instrument"), ("incidents", "incidents?window=7+d"))
    yield from (("capabilities", "capabilities"), ("verdict", "verdict"))
    for model in sorted({one.reference or one.model for one in endpoints}):
        yield f"compare-{model}", f"compare?model={quote_plus(model)}"
    for one in endpoints:
        for page, parameter in ABOUT_ONE.items():
            yield f"{page}-{one.provider}", f"{page}?{parameter}={quote_plus(one.endpoint)}"
        for incident in one.incidents[:1]:
            yield f"incident-{one.provider}", f"incidents?window=7+d&id={quote_plus(incident.incident_id)}"
    told = {(verdict.detector, verdict.status): verdict for one in endpoints for verdict in one.verdicts}
    for (detector, status), verdict in sorted(told.items()):
        yield f"verdict-{detector}-{status}", f"verdict?id={quote_plus(verdict.verdict_id)}"


def drawn(context: BrowserContext, url: str, name: str, address: str, folder: Path) -> Iterator[str]:
    """Draw one page in all looks; yield what is wrong with it."""
    seen = watched(context)
    page = seen.page
    page.goto(f"{url}/{address}")
    page.get_by_role("heading", level=1).wait_for()
    for place, (look, (theme, window)) in enumerate(LOOKS.items()):
        page.emulate_media(color_scheme=theme)
        page.set_viewport_size(window)  # type: ignore[arg-type]
        grow(page, window["width"], calm_ms=CALM_MS if place else FIRST_CALM_MS, highest=HIGHEST)
        page.screenshot(path=folder / f"{name}-{look}.png")
        found = [*_serious(page, *(CHANGING if place else ())), *_words(page)]
        if wider := overflow(page):
            found.append(f"{wider} pixels wider than the window")
        yield from (f"{name} ({look}): {one}" for one in found)
    yield from (f"{name}: {one}" for one in seen.troubles)
    if seen.hosts() != {url.split("/")[2]}:
        yield f"{name}: asked {seen.hosts()}"
    page.close()


def _serious(page: Page, *rules: str) -> list[str]:
    """What axe-core finds twice: what is just renewed is faint for a moment."""
    first = violations(page, *rules)
    if not first:
        return []
    page.wait_for_timeout(FIRST_CALM_MS)
    settled(page)
    again = violations(page, *rules)
    return [one for one in first if one in again]


def _words(page: Page) -> Iterator[str]:
    text: str = page.locator(_SAID).evaluate(
        "(main, quoted) => { const copy = main.cloneNode(true);"
        " copy.querySelectorAll(quoted).forEach(one => one.remove()); return copy.textContent }", _QUOTED
    )  # fmt: skip
    for found in NO_WORDS.finditer(text):
        yield f"says {found[0]}: …{text[max(0, found.start() - 60) : found.end() + 40]}…"


def main(data: Path, folder: Path) -> int:
    """Draw all pages; return the number of things that are wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    config = load_config(data / "weighmaster.yaml", {}, detectors=False)
    store, n = DuckStore(data / "w.duckdb"), 0
    try:
        served = serving(store, ladders=ladders_of(config))
        with served as store_url, dashboard(store_url) as url, chromium() as browser:
            with StoreReader(store_url) as reader:
                endpoints = reader.overview()
            with browser.new_context() as context:
                for name, address in addresses(endpoints):
                    for trouble in drawn(context, url, name, address, folder):
                        n += 1
                        sys.stdout.write(f"{trouble}\n")
    finally:
        store.close()
    sys.stdout.write(f"{len(list(folder.glob('*.png')))} pictures in {folder}, {n} troubles\n")
    return n


if __name__ == "__main__":
    raise SystemExit(bool(main(*map(Path, sys.argv[1:3]))))

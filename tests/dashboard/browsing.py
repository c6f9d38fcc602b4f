"""The real process in a real browser, and what a page must never do there."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Response, sync_playwright

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
PATIENCE_MS = 60_000
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

_PROBING = re.compile(r"/\w+/_stcore/(health|host-config)$")
"""What Streamlit asks below a deep link before it finds its own root: no file is there, and it goes on."""


@contextmanager
def dashboard(store_url: str) -> Iterator[str]:
    """Serve the dashboard on the store at `store_url`; yield its URL."""
    arguments = [sys.executable, "-m", "jobs.dashboard_process", "--store-url", store_url, "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Debian's Chromium, without a head."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def one_window(profile: Path) -> Iterator[BrowserContext]:
    """The browser with a profile of its own, which keeps what it compiled of the pages' scripts from page to page."""
    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path="/usr/bin/chromium", args=FLAGS, viewport=WIDE, color_scheme="light",  # type: ignore[arg-type]
        )  # fmt: skip
        try:
            yield context
        finally:
            context.close()


@dataclass
class Watched:
    """A page with all that went wrong on it and every address that it asked."""

    page: Page
    troubles: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def hosts(self) -> set[str]:
        """Hosts that were asked over the network."""
        return {url.split("/")[2] for url in self.asked if url.startswith(("http", "ws"))}


def watched(context: BrowserContext) -> Watched:
    """A new page of `context` that is watched."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE_MS)
    seen = Watched(page=page)

    def said(message: ConsoleMessage) -> None:
        # Failed loads are told by the response itself, with their address.
        if message.type == "error" and "Failed to load resource" not in message.text:
            seen.troubles.append(message.text)

    def answered(response: Response) -> None:
        if response.status >= 400 and not _PROBING.search(response.url):
            seen.troubles.append(f"{response.status} {response.url}")

    page.on("console", said)
    page.on("pageerror", lambda error: seen.troubles.append(str(error)))
    page.on("response", answered)
    page.on("request", lambda request: seen.asked.append(request.url))
    return seen


def settled(page: Page) -> None:
    """Return once a page has run and its charts are drawn, after a change of the window in its new width."""
    page.locator("[data-testid=stAppViewContainer]").wait_for()
    page.wait_for_function(
        """() => !document.querySelector('[data-testid=stStatusWidget]')
            && document.querySelectorAll('[data-testid=stMainBlockContainer] [data-testid=stElementContainer]').length
            && [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]
                .every(one => one.querySelector('canvas, svg')?.getBoundingClientRect().width <= innerWidth)
            && !document.querySelector('[data-stale=true]')"""
    )


def violations(page: Page, *rules: str) -> list[str]:
    """Serious and critical findings of axe-core in a page, as rule and element; of all its rules when none is named."""
    options: dict[str, object] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = list(rules)
    found = Axe().run(page, context=OURS, options=options).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['html'][:160]}"
        for one in found if one["impact"] in {"serious", "critical"} for node in one["nodes"][:2]
    ]  # fmt: skip


OURS = {"include": [["[data-testid=stMain]"]]}
"""All of a page; the frame around it, with its menu, is Streamlit's."""


def overflow(page: Page) -> int:
    """By how many pixels the page is wider than its window; tables scroll within themselves."""
    found: int = page.evaluate(
        "(() => { const main = document.querySelector('[data-testid=stMain]');"
        " return main.scrollWidth - main.clientWidth; })()"
    )
    return found

"""The real process in a real browser: what a reader sees, and that hostile text reaches nobody."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.dashboard import scenes
from tests.dashboard.scenes import DEGRADED
from tests.dashboard.store import Record, served, stored

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
]  # fmt: skip
PATIENCE_MS = 60_000


@contextmanager
def dashboard(store_url: str) -> Iterator[str]:
    arguments = [sys.executable, "-m", "jobs.dashboard_process", "--store-url", store_url, "--port", "0"]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.terminate()


@contextmanager
def browser(profile: Path) -> Iterator[BrowserContext]:
    with sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            profile, executable_path="/usr/bin/chromium", args=FLAGS, viewport={"width": 1280, "height": 900}
        )
        context.set_default_timeout(PATIENCE_MS)
        try:
            yield context
        finally:
            context.close()


def hostile(beacon: str, now: datetime) -> list[Record]:
    """The full scene, with markup wherever an endpoint's words can reach: answers, errors, reasons, models, details."""
    text = f"![x]({beacon}/a.png) <img src='{beacon}/b.png'> <script>fetch('{beacon}/c')</script> [l]({beacon}/d)"
    spoken = scenes.exchange(0, exchange_id="x-hostile", content=text, error=text, flags=(text,))
    verdict = scenes.verdict(
        DEGRADED, "logprob_fidelity", "fail", cause=text, reason=text, details={text: text}, band=text, at=now
    )
    opened = replace(scenes.incident(now), reason=text)
    return [
        *scenes.full(now),
        ("endpoint", replace(scenes.endpoint(DEGRADED), model=text)),
        ("run", scenes.run(DEGRADED, "r-hostile", now, (), spoken)),
        ("verdict", replace(verdict, verdict_id="v-hostile")),
        ("incident", opened),
    ]


def read_endpoint(page: Page, url: str) -> None:
    """Open a deep link, the first thing that this process serves; see verdicts and charts; open what was said."""
    page.goto(f"{url}/endpoint?name={DEGRADED}")
    expect(page.get_by_role("heading", name=DEGRADED, exact=True)).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("✗ fail").first).to_be_visible(timeout=PATIENCE_MS)
    expect(page.get_by_text("✓ pass").first).to_be_visible()
    drawn = page.locator("[data-testid=stVegaLiteChart] :is(canvas, svg.marks)")
    expect(drawn).to_have_count(4, timeout=PATIENCE_MS)
    assert all((box := chart.bounding_box()) and box["width"] > 200 and box["height"] > 20 for chart in drawn.all())
    page.get_by_text("What was said").click()
    expect(page.locator("[data-testid=stCode]", has_text="<script>").first).to_be_visible(timeout=PATIENCE_MS)


def read_overview(page: Page, url: str) -> None:
    page.goto(url)
    expect(page.get_by_text("1 of 5 endpoints is faithful")).to_be_visible(timeout=PATIENCE_MS)
    for words in ("✓ pass", "✗ fail", "? suspect", "– inconclusive", "– not judged yet"):
        expect(page.get_by_text(words).first).to_be_visible(timeout=PATIENCE_MS)


@pytest.mark.browser
def test_readers_see_verdicts_and_charts_and_hostile_text_causes_no_request(tmp_path: Path) -> None:
    hits: list[str] = []

    def hit(request: Request) -> Response:
        hits.append(request.url.path)
        return Response(headers={"access-control-allow-origin": "*"})

    asked: list[str] = []
    counter = Starlette(routes=[Route("/{path:path}", hit)])
    with (
        served(counter) as beacon,
        stored(hostile(beacon, datetime.now(UTC))) as store_url,
        dashboard(store_url) as url,
        browser(tmp_path / "profile") as context,
    ):
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        for read in (read_endpoint, read_overview):
            read(page, url)
            assert page.locator(f"a[href^='{beacon}']").count() == 0, "an endpoint's words must not be a link"
        page.get_by_role("link", name="lab/faithful").click()
        expect(page.get_by_role("heading", name="lab/faithful", exact=True)).to_be_visible(timeout=PATIENCE_MS)
        expect(page).to_have_url(f"{url}/endpoint?name=lab%2Ffaithful")
        assert hits == []
        httpx.get(f"{beacon}/control", trust_env=False)
    assert hits == ["/control"], "the beacon server counts, so silence was silence"
    assert {address.split("/")[2] for address in asked if address.startswith("http")} == {url.split("/")[2]}

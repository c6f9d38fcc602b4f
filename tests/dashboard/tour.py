"""``make screenshots``: the tour through the dashboard, drawn from synthetic data into ``docs/screens/``.

Pictures are WebP, taken at 1280 pixels, the overview also on a phone and in the dark; they never go stale, as one
command makes them again.
"""

import io
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page

from monitor.budget import Budget
from tests.dashboard.browsing import PATIENCE_MS, PHONE, WIDE, chromium, dashboard, settled
from tests.dashboard.fleet import MODELS, QUANTISED, TOOLS, fleet
from tests.dashboard.store import LADDER, serving

HIGHEST = 2400
"""Pixels of the highest picture: what is below is more of the same."""
QUALITY = 60
CALM_MS = 2500
"""A page that has not grown for so long is complete."""

_CEDAR = QUANTISED.replace("/", "%2F")
PICTURES: dict[str, tuple[str, str, dict[str, int]]] = {
    "overview": ("", "light", WIDE), "overview-dark": ("?status=fail", "dark", WIDE),
    "overview-phone": ("?status=fail", "light", PHONE), "compare": ("compare?model=llama-3.3-70b", "light", WIDE),
    "incidents": ("incidents?window=90+d&id=incident-3", "light", WIDE),
    "verdict": ("verdict?id=rich-fidelity", "light", WIDE), "identify": ("verdict?id=rich-identify", "dark", WIDE),
    "evidence": ("verdict?id={fidelity}", "light", WIDE),
    "speed": (f"speed?endpoint={_CEDAR}&window=30+d", "light", WIDE),
    "tools": (f"tools?endpoint={TOOLS.replace('/', '%2F')}", "light", WIDE),
    "capabilities": (f"capabilities?endpoint={_CEDAR}", "light", WIDE), "instrument": ("instrument", "dark", WIDE),
    "endpoint": (f"endpoint?name={_CEDAR}", "light", WIDE),
}  # fmt: skip
"""Name -> address, theme and window; ``{fidelity}`` is the newest joint verdict of the quantised endpoint."""


def take(folder: Path) -> int:
    """Draw every picture into `folder`; return their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as data:
        store = fleet(Path(data) / "w.duckdb", datetime.now(UTC))
        try:
            budgets = {QUANTISED: Budget(tokens=20_000, usd=0.01), TOOLS: Budget(tokens=1_000)}
            ladders = dict.fromkeys(MODELS, LADDER)
            joint = store.verdicts(QUANTISED, "fidelity", limit=1)["verdicts"][0]["verdict_id"]
            served = serving(store, budgets=budgets, ladders=ladders)
            with served as url, dashboard(url) as pages, chromium() as browser:
                for name, what in PICTURES.items():
                    (folder / f"{name}.webp").write_bytes(_picture(browser, pages, what, joint))
        finally:
            store.close()
    return sum(one.stat().st_size for one in folder.glob("*.webp"))


def _picture(browser: Browser, pages: str, what: tuple[str, str, dict[str, int]], fidelity: str) -> bytes:
    address, theme, window = what
    with browser.new_context(viewport=window, color_scheme=theme) as context:  # type: ignore[arg-type]
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(f"{pages}/{address.format(fidelity=fidelity)}")
        page.get_by_role("heading", level=1).wait_for()
        settled(page)
        grow(page, window["width"])
        shot = page.screenshot()
    packed = io.BytesIO()
    Image.open(io.BytesIO(shot)).save(packed, "WEBP", quality=QUALITY, method=6)
    return packed.getvalue()


def grow(page: Page, width: int, *, calm_ms: int = CALM_MS, highest: int = HIGHEST) -> None:
    """Make the window as high as the page, which scrolls within its own frame, once nothing is added any more."""
    height, before = -1, -2
    while height != before:
        before, height = height, int(page.evaluate(_HEIGHT))
        page.set_viewport_size({"width": width, "height": min(max(height + 40, 300), highest)})
        page.wait_for_timeout(calm_ms)
        settled(page)


_HEIGHT = "document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight"


if __name__ == "__main__":
    sys.stdout.write(f"{take(Path(sys.argv[1])):,} bytes\n")

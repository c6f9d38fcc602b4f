"""Pictures and looks of the report. Oracle: XML, geometry, WCAG 2.1 contrast, and a real browser."""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from playwright.sync_api import Browser, sync_playwright

from jobs.compare_charts import NARROW, WIDE, forest, ladder
from jobs.compare_page import html
from jobs.publish import file_name
from monitor.badge import badge, svg
from monitor.comparison import ModelComparison
from monitor.comparison_failing import nearest
from monitor.comparison_measures import MEASURES, measure
from monitor.comparison_rows import compare
from tests.report.made import HOSTILE, LADDER, facts, told

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def model() -> ModelComparison:
    return compare(facts(), ladders={"smollm2": LADDER}).models[0]


def parsed(picture: str) -> ET.Element:
    return ET.fromstring(picture)  # noqa: S314  # our own


def places(picture: str) -> dict[str, float]:
    """Where the mark of each name stands: the end of its first move, or its centre."""
    found = {}
    for group in parsed(picture).iter("g"):
        name = group.find("text")
        path, circle = group.find("path"), group.find("circle")
        assert name is not None
        if circle is not None:
            found[str(name.text)] = float(circle.attrib["cx"])
        elif path is not None:
            moved = re.match(r"M(-?[\d.]+)", path.attrib["d"])
            assert moved is not None
            # A cross begins four to the left of its centre, a diamond above it.
            found[str(name.text)] = float(moved.group(1)) + (4 if group.attrib["class"] == "degraded" else 0)
    return found


def test_every_picture_is_one_piece_of_xml(model: ModelComparison) -> None:
    for one in MEASURES:
        picture = forest(model, one)
        if picture:
            assert parsed(picture).tag == "svg"


def test_a_narrow_picture_has_all_marks_and_nothing_beyond_its_edges(model: ModelComparison) -> None:
    for one in MEASURES:
        picture = forest(model, one, NARROW)
        if not picture:
            continue
        assert picture.count("<g ") == forest(model, one).count("<g ")
        across = NARROW.left + NARROW.width + NARROW.right
        # A letter of 12 units is 6.6 wide on average of a sans-serif face.
        for text in parsed(picture).iter("text"):
            x, wide = float(text.attrib["x"]), 6.6 * len(str(text.text))
            left = x - {"middle": wide / 2, "end": wide}.get(text.attrib.get("text-anchor", ""), 0.0)
            assert left >= 0
            assert left + wide <= across


def test_words_of_a_picture_do_not_lie_over_each_other() -> None:
    """Two tolerances that are near each other, long names and values without an interval, in both layouts."""
    first, second, *others = facts()
    names = tuple(f"provider-{letter}/a-model-with-quite-a-long-name" for letter in "ab")
    near = replace(second.verdicts[0], status="pass", threshold=0.0021)
    both = (first, replace(second, verdicts=(near,)))
    found = [replace(one, endpoint=replace(one.endpoint, name=name)) for one, name in zip(both, names, strict=True)]
    (shown,) = compare([*found, *others], ladders={"smollm2": LADDER}).models
    for one in MEASURES:
        for layout in (WIDE, NARROW):
            picture = forest(shown, one, layout)
            across = float(parsed(picture).attrib["viewBox"].split()[2]) if picture else 0
            seen: dict[float, list[tuple[float, float]]] = {}
            for text in parsed(picture).iter("text") if picture else ():
                x, wide = float(text.attrib["x"]), 6.6 * len(str(text.text))
                left = x - {"middle": wide / 2, "end": wide}.get(text.attrib.get("text-anchor", ""), 0.0)
                assert left + wide <= across
                seen.setdefault(float(text.attrib["y"]), []).append((left, left + wide))
            for line in seen.values():
                assert all(end <= start + 0.1 for (_, end), (start, _) in pairwise(sorted(line)))


def test_the_ladder_stands_in_the_order_of_divergence_with_endpoints_between(model: ModelComparison) -> None:
    found = places(ladder(model))
    assert list(found) == ["llama.cpp F16", "acme/m", "Q8_0", "bargain/m", "Q4_0"]
    assert list(found.values()) == sorted(found.values())
    decade = (found["Q4_0"] - found["llama.cpp F16"]) / 4.7126  # log10(0.258 / 5e-6)
    assert found["Q8_0"] - found["llama.cpp F16"] == pytest.approx(2.9243 * decade, abs=0.2)  # log10(0.0042 / 5e-6)


def test_a_linear_picture_is_linear(model: ModelComparison) -> None:
    found = places(forest(model, measure("ttft_ms")))
    fast, slow, slowest = found["bargain/m"], found["acme/m"], found["corner/m"]  # 203.5, 303.5 and 703.5 ms
    assert (slowest - slow) / (slow - fast) == pytest.approx(4.0, abs=0.01)


def test_hostile_names_are_text_in_pictures() -> None:
    picture = svg(HOSTILE, HOSTILE, "fail")
    assert [one.tag.rpartition("}")[2] for one in parsed(picture).iter()] == [
        "svg", "title", "rect", "rect", "g", "text", "text"
    ]  # fmt: skip
    assert "\x1b" not in picture
    assert len(picture) < 3000


def test_badges_say_the_status_in_words_and_signs() -> None:
    assert "✓ as declared" in badge("a/m", [told("a/m", "pass", 0, 0, 0)])
    assert "✗ fails: weights" in badge("a/m", [told("a/m", "fail", 1, 1, 1)])
    assert "– not judged yet" in badge("a/m", [])


def test_files_of_badges_stay_in_their_folder() -> None:
    assert file_name("acme/m") == "acme__m"
    assert file_name("../../etc/x y") == "__.._etc__x_y".replace("__.._etc", "__..__etc")
    assert "/" not in file_name("a/../b\\c")
    assert not file_name("../x").startswith(".")


def test_a_divergence_is_placed_between_its_neighbours() -> None:
    assert nearest(LADDER, 0.1) == "between Q8_0 (0.0042) and Q4_0 (0.26)"
    assert nearest(LADDER, 0.001) == "below Q8_0 (0.0042)"
    assert nearest(LADDER, 5.0) == "above Q4_0 (0.26)"


def _luminance(colour: str) -> float:
    """WCAG 2.1, relative luminance of ``#rrggbb``."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_words_can_be_read_on_both_grounds() -> None:
    css = files("jobs").joinpath("report_templates", "report.css").read_text("utf-8")
    themes = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    assert len(themes) == 3  # light, dark, print
    for theme in themes:
        colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{3,6})", theme))
        ground, *words = (_whole(colours[name]) for name in ("ground", "text", "soft", "good", "bad", "own"))
        for word in words:
            light, dark = sorted((_luminance(ground), _luminance(word)), reverse=True)
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (theme, word)


def _whole(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(2 * digit for digit in colour[1:])


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        yield made
        made.close()


_SHOWN = "[...document.querySelectorAll('svg.chart')].filter(one => one.getBoundingClientRect().width).length"
_SIDEWAYS = """[...document.querySelectorAll('body *')].filter(one => !one.closest('thead')
    && one.getBoundingClientRect().right > innerWidth + 1).map(one => one.outerHTML.slice(0, 80))"""
_SMALLEST = """Math.min(...[...document.querySelectorAll('svg.narrow')].map(
    one => 12 * one.getBoundingClientRect().width / one.viewBox.baseVal.width))"""


@pytest.mark.browser
@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs /usr/bin/chromium")
def test_a_browser_shows_it_without_asking_anybody_and_prints_it(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "comparison.html"
    path.write_text(html(compare(facts(HOSTILE), ladders={"smollm2": LADDER})), encoding="utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    asked, said = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(_SHOWN) == 4  # one picture of each measure, whatever the width
    assert page.evaluate(_SIDEWAYS) == []
    assert page.evaluate(_SMALLEST) >= 10  # letters of the narrow pictures, in pixels
    label = page.locator("td[data-label='KL to golden, nats']").first
    assert "KL to golden, nats" in label.evaluate("one => getComputedStyle(one, '::before').content")
    printed = page.pdf(prefer_css_page_size=True, format="A4")
    page.close()
    assert printed.startswith(b"%PDF")
    assert asked == [path.as_uri()]
    assert said == []

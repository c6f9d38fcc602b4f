"""docs/shape.md against the code."""

from pathlib import Path

import pytest

from monitor.detectors.shape import _CAUSES, Shape

TEXT = (Path(__file__).parents[2] / "docs" / "shape.md").read_text("utf-8")


def test_every_sign_has_a_line_with_its_cause() -> None:
    lines = {
        line.split("|")[1].strip(): line.split("|")[3].strip() for line in TEXT.splitlines() if line.startswith("| `")
    }
    assert {name: lines[f"`{name}`"] for name in _CAUSES} == {name: f"`{cause}`" for name, cause in _CAUSES.items()}


@pytest.mark.parametrize(("n", "before", "stated"), [(10, 40, "0.84"), (40, 1000, "0.10")])
def test_the_smallest_rates_that_the_page_states(n: int, before: int, stated: str) -> None:
    """P(all k among the n newest) is about (n / (n + before)) ** k: it must reach alpha / 8."""
    mde = Shape()._mde(n, before, 8)
    assert mde is not None
    assert f"{mde:.2f}" == stated
    assert (n / (n + before)) ** (mde * n) == pytest.approx(1e-5 / 8)
    assert stated in TEXT

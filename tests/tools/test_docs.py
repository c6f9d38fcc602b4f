"""docs/tools.md says what the code does. Oracle: the cards, presets and findings themselves."""

from pathlib import Path

from monitor.tools.all_measures import METRICS
from monitor.tools.bfcl import ERRORS
from monitor.tools.layers import LAYERS
from monitor.tools.presets import PRESETS
from tests.tools.test_layers import FAULTY

PAGE = (Path(__file__).parents[2] / "docs" / "tools.md").read_text("utf-8")


def test_every_metric_stands_there_with_its_definition() -> None:
    for card in METRICS:
        assert f"| `{card.name}` | {card.unit} | {card.definition} |" in PAGE
    assert all(f"`{error}`" in PAGE for error in ERRORS)


def test_every_preset_stands_there_with_source_and_date() -> None:
    for preset in PRESETS:
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{preset.name}`"))
        assert f"{preset.threshold:g}" in row
        assert preset.source in row
        assert preset.as_of.isoformat() in row


def test_every_layer_and_finding_stands_there() -> None:
    for layer in LAYERS:
        assert f"| {layer} |" in PAGE
    for name, _, _ in FAULTY:
        finding = name.partition(":")[2]
        assert f"`{finding}`" in PAGE or (finding.startswith("schema_") and "`schema_<keyword>`" in PAGE)

"""Which benchmarks a name means. Oracle: written by hand."""

import pytest

from benchmarks.__main__ import meant

KNOWN = ("fidelity", "fidelity-power", "stats-nulls", "stats-power", "wire")


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ([], list(KNOWN)),
        (["fidelity"], ["fidelity"]),
        (["fidelity-power", "fidelity"], ["fidelity", "fidelity-power"]),
        (["fidelity-"], ["fidelity-power"]),
        (["stats"], ["stats-nulls", "stats-power"]),
        (["nothing"], []),
    ],
)
def test_a_whole_name_means_itself_alone(wanted: list[str], chosen: list[str]) -> None:
    assert meant(wanted, KNOWN) == chosen

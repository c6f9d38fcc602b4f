"""Sections of a wrong shape are mistakes like others. Oracle: a ConfigError that names the section, and no crash."""

import itertools

import pytest

from monitor.config import load
from monitor.errors import ConfigError
from tests.config.catalogue import CATALOGUES

SECTIONS = [
    "endpoints", "probes", "maintenance", "detectors", "references", "alerts", "store", "agent", "judge", "dashboard",
]  # fmt: skip
SHAPES = ["3", "true", "x", "[3]", "[[x]]", "{a: 3}", "{a: {kind: speed}}", "{a: {name: 3}}", "[{a: {b: 3}}]"]


@pytest.mark.parametrize(("section", "shape"), [*itertools.product(SECTIONS, SHAPES)])
def test_a_section_of_another_shape(section: str, shape: str) -> None:
    good = "" if section == "endpoints" else "endpoints: [{name: a/b, base_url: 'http://h', model: m}]\n"
    with pytest.raises(ConfigError, match=section):
        load(f"{good}{section}: {shape}\n", {}, CATALOGUES)

"""Generated pages are as the source makes them."""

import dataclasses
from typing import Any

from jobs.docs_pages import PAGE, page
from jobs.settings import catalogues


def test_probes_and_detectors_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m jobs.docs_pages`"


def test_every_setting_has_a_meaning() -> None:
    """Oracle: the number of fields that all probes and detectors have."""
    found = catalogues()
    things: list[Any] = [*found.probes.values(), *(found.detectors or {}).values()]
    wanted = sum(len(dataclasses.fields(one)) for one in things)
    head = "| setting | default | meaning |\n|---|---|---|\n"
    tables = [part.split("\n\n")[0] for part in page().split(head)[1:]]
    rows = [line.strip("|").split(" | ") for table in tables for line in table.split("\n") if line]
    assert len(rows) == wanted
    assert not [row for row in rows if len(row) != 3 or not row[2].strip()]

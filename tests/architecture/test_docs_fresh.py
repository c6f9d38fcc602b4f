"""Generated pages are as the source makes them."""

from jobs.docs_pages import PAGE, page


def test_probes_and_detectors_page_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m jobs.docs_pages`"

"""Opens a page of the dashboard in Streamlit's own test runner."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import dashboard

APP = Path(dashboard.__file__).with_name("app.py")


def opened_page(
    monkeypatch: pytest.MonkeyPatch, url: str | None, name: str, parameters: Mapping[str, str | list[str]]
) -> AppTest:
    """The page `name` on the store at `url`, with `parameters` in its address; it has run without an exception."""
    monkeypatch.setattr("sys.argv", [str(APP), *(["--store-url", url] if url else [])])
    monkeypatch.delenv("WEIGHMASTER_STORE_URL", raising=False)
    # Each run would look through all installed packages for components, which takes longer than the page; we have none.
    monkeypatch.setattr("streamlit.components.v2.manifest_scanner.scan_component_manifests", list)
    shown = AppTest.from_file(APP, default_timeout=60)
    for key, value in parameters.items():
        shown.query_params[key] = value
    if name != "overview":
        shown.switch_page(f"screens/{name}.py")
    shown.run()
    assert not shown.exception
    return shown

"""An incident of a provider on the overview, at each of its endpoints and at no other. Oracle: the page's own words."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import dashboard
from monitor.types import Endpoint
from tests.alerts.test_routes import incident
from tests.dashboard.store import stored

APP = Path(dashboard.__file__).with_name("app.py")


def test_since_when_why_and_that_nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    st.cache_data.clear()
    st.cache_resource.clear()
    now = datetime.now(UTC)
    names = ("acme/a", "acme/b", "best/c")
    shown = [
        ("endpoint", Endpoint(name=name, provider=name.partition("/")[0], base_url="http://h/v1", model="m"))
        for name in names
    ]
    down = incident(
        endpoint="provider acme", cause="provider_down", detector="provider_down", verdict_id=None,
        opened_at=now - timedelta(minutes=52), muted="maintenance: they move", reason="2 of 2 endpoints answer nothing",
    )  # fmt: skip
    with stored([*shown, ("incident", down)]) as url:
        monkeypatch.setattr("sys.argv", [str(APP), "--store-url", url])
        page = AppTest.from_file(APP, default_timeout=60).run()
    assert not page.exception
    drawn = "\n".join(one.proto.body for one in page.get("html"))
    assert drawn.count("provider down since 52 min (maintenance: they move)") == 2
    assert drawn.count('title="2 of 2 endpoints answer nothing"') == 2

"""A verdict whose evidence is too old cannot be computed again, and says so. Oracle: what was put in, and an age."""

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from jobs.audit_again import _from_store
from jobs.settings import catalogues
from monitor.config import Config, load
from monitor.config_store import RetentionConfig
from monitor.errors import UsageError
from storage.store import DuckStore
from tests.storage.asks import put
from tests.storage.factories import START, run_record, verdict
from tests.storage.processes import store_process


def _config(url: str) -> Config:
    text = yaml.safe_dump({
        "store": {"listen": urlsplit(url).netloc},
        "endpoints": [{"name": "lab/faithful", "base_url": "http://127.0.0.1:1/v1", "model": "m"}],
    })  # fmt: skip
    return load(text, {}, catalogues(detectors=False))


async def test_a_verdict_without_its_evidence(tmp_path: Path) -> None:
    with closing(DuckStore(tmp_path / "store.duckdb")) as store:
        old = START - timedelta(days=40)
        put(store, run_record("old", at=old), verdict("then", run_ids=("old",)))
        put(store, run_record("new"), verdict("now", run_ids=("new",)))
        for _ in range(2):  # moves, then drops
            store.upkeep(START, RetentionConfig())
    with store_process(tmp_path / "store.duckdb") as (_, url):
        kept = await _from_store(_config(url), "now")
        assert [record.run.run_id for record in kept.probed.records] == ["new"]
        with pytest.raises(UsageError, match=r"then: the logprobs of its run old are no longer kept"):
            await _from_store(_config(url), "then")

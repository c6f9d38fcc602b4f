"""Two customers on one machine: no byte of one's private words is anywhere but in the suite file that he wrote."""

import logging
import re
from pathlib import Path

import pytest

from jobs.suite_store import SuiteStore
from monitor.errors import UsageError
from tests.suites.running import KEYS, Golden, cases, number, weighmaster, with_golden, write_config
from tests.suites.server import serving

CANARY = "zanzibar-pelikan"
"""Stands in a prompt, an id, a tag, an oracle and an answer of acme's suite."""


def private(privacy: str) -> str:
    return cases(12, privacy=privacy) + (
        f'{{"id": "{CANARY}-id", "prompt": "Say 3.", "tags": ["{CANARY}-tag"], "privacy": "{privacy}", '
        f'"oracles": [{{"kind": "contains", "any": ["{CANARY}"]}}]}}\n'
        f'{{"prompt": "Say 4.", "oracles": [{{"kind": "regex", "pattern": "{CANARY}"}}], "privacy": "{privacy}"}}\n'
    )


@pytest.mark.parametrize("privacy", ["drop", "hash", "keep"])
def test_nothing_of_a_customer_is_in_anything_of_another(
    privacy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Every file and every line that two customers' commands write is searched; of `keep` acme's own reports are not.

    The endpoint says the canary in answers and in errors.
    """
    with_golden(monkeypatch, Golden())
    caplog.set_level(logging.DEBUG)
    secret, open_ = tmp_path / "acme-owns-this.jsonl", tmp_path / "globex.jsonl"
    secret.write_text(private(privacy))
    open_.write_text(cases(12))
    told: dict[str, list[str]] = {"acme": [], "globex": []}
    with serving(lambda body: 500 if number(body) == 7 else f"{CANARY} {number(body)}") as server:
        config = write_config(tmp_path, server.url, reference=True)
        for customer, suite in (("acme", secret), ("globex", open_)):
            folder = ["--customer", customer, "--folder", str(tmp_path / "customers")]
            reports = ["--junit", str(tmp_path / f"{customer}.xml"), "--markdown", str(tmp_path / f"{customer}.md")]
            for command in (
                ["import", str(suite), "--report-unsupported"],
                ["run", str(suite), "acme/0", "-c", str(config), *reports],
                ["run", suite.stem, "acme/0", "-c", str(config), "--json"], ["results"],
            ):  # fmt: skip
                result = weighmaster("suite", *command, *folder, customers=("acme", "globex"))
                told[customer].append(result.output)
                assert result.exit_code in {0, 1, 3}, result.output
                assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    files = [path for path in tmp_path.rglob("*") if path.is_file() and path != secret]
    assert {"acme.suites", "globex.suites", "acme.xml", "globex.md"} <= {path.name for path in files}
    own = {"acme.xml", "acme.md"} if privacy == "keep" else set()
    assert [path.name for path in files if CANARY.encode() in path.read_bytes() and path.name not in own] == []
    assert CANARY not in "".join(told["globex"])
    assert privacy == "keep" or CANARY not in "".join(told["acme"])
    assert CANARY not in caplog.text
    shown = f"{CANARY}-tag" if privacy == "keep" else "[0-9a-f]{8}"
    assert re.search(rf"\| tag {shown} \| 1 \|", (tmp_path / "acme.md").read_text().replace("\\", ""))


def test_a_customers_file_opens_with_his_key_alone(tmp_path: Path) -> None:
    with SuiteStore.opened(tmp_path, "acme", KEYS["acme"]) as store:
        store.append([{"kind": "suite", "text": CANARY}, {"kind": "x"}])
    path = tmp_path / "acme.suites"
    assert path.stat().st_mode & 0o077 == 0
    for key, told in ((KEYS["globex"], r"line 1: the key does not fit \(.*WEIGHMASTER_SUITE_KEY_ACME\)"),
                      ("abc", "WEIGHMASTER_SUITE_KEY_ACME holds no key")):  # fmt: skip
        with pytest.raises(UsageError, match=told), SuiteStore.opened(tmp_path, "acme", key):
            pass
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b"A", b"B"))
    with pytest.raises(UsageError, match="line 2: the line was changed"), SuiteStore.opened(
        tmp_path, "acme", KEYS["acme"]
    ):
        pass
    path.write_bytes(lines[1])
    with pytest.raises(UsageError, match="missing or in another order"), SuiteStore.opened(
        tmp_path, "acme", KEYS["acme"]
    ):
        pass


def test_without_its_key_a_customer_is_refused(tmp_path: Path) -> None:
    result = weighmaster("suite", "results", "--customer", "acme", "--folder", str(tmp_path), customers=("globex",))
    assert isinstance(result.exception, UsageError)
    assert "WEIGHMASTER_SUITE_KEY_ACME" in str(result.exception)


def test_asking_for_a_customer_who_has_no_file_makes_none(tmp_path: Path) -> None:
    folder = tmp_path / "customers"
    result = weighmaster("suite", "results", "--customer", "acme", "--folder", str(folder))
    assert isinstance(result.exception, UsageError)
    assert f"customer acme has no finished run in {folder}" in str(result.exception)
    assert not folder.exists()


def test_the_owner_sees_names_and_kept_answers_only_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_golden(monkeypatch, Golden())
    suite = tmp_path / "mine.jsonl"
    suite.write_text(private("hash"))
    folder = ["--customer", "acme", "--folder", str(tmp_path / "customers")]
    with serving(lambda _: "nothing \x1b]52;c;eA==\x07 here") as server:
        config = write_config(tmp_path, server.url)
        suite.write_text(private("hash") + cases(3, word="open"))
        weighmaster("suite", "run", str(suite), "acme/0", "-c", str(config), "--json", *folder)
    with SuiteStore.opened(tmp_path / "customers", "acme", KEYS["acme"]) as store:
        run = store.of("run")[0]["run"]
        private_ones = [one for one in store.of("answer") if "id" not in one]
        assert len(private_ones) == 14
        assert all("text" not in one and len(one["hash"]) == 16 for one in private_ones)
    hidden = weighmaster("suite", "results", "--run", run, *folder)
    shown = weighmaster("suite", "results", "--run", run[:6], "--reveal", *folder)
    assert f"{CANARY}-id" not in hidden.output
    assert f"{CANARY}-id" in shown.output
    assert "nothing ?]52;c;eA==? here" in shown.output
    assert "nothing" not in hidden.output

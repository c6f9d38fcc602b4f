"""`suite run` as a whole, over real HTTP; golden is a fake that answers at once."""

import asyncio
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

import jobs.suite_progress
from jobs.suite_store import SuiteStore
from monitor.errors import UsageError
from monitor.types import Capture, Request
from tests.suites.running import KEYS, Golden, cases, document, number, weighmaster, with_golden, write_config
from tests.suites.server import serving


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "words.jsonl"
    path.write_text(cases(40))
    return path


def arguments(suite: Path, config: Path, *more: str, endpoint: str = "acme/0") -> list[str]:
    folder = str(config.parent / "customers")
    return ["suite", "run", str(suite), endpoint, "--customer", "acme", "-c", str(config), "--folder", folder, *more]


def test_a_faithful_endpoint_passes(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoint and golden know 30 of 40: rate 75%, no difference, no run of 15 steps is known to be wrong."""
    with_golden(monkeypatch, Golden(knows=30))
    with serving(lambda body: str(number(body)) if number(body) < 30 else "what?") as server:
        config = write_config(tmp_path, server.url, reference=True)
        result = weighmaster(*arguments(suite, config, "--json"))
    assert result.exit_code == 0, result.output
    found = document(result)
    assert (found["status"], found["difference"]["value"]) == ("pass", 0)
    assert (found["rate"]["k"], found["rate"]["n"]) == (30, 40)
    assert found["golden"]["k"] == 30
    assert found["compounding"]["per_step"] | {"high": 0} == {"k": 0, "n": 30, "value": 0.0, "low": 0.0, "high": 0}
    assert found["reference"] == "golden-30"


def test_a_worse_endpoint_fails_and_is_told_in_every_form(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_golden(monkeypatch, Golden())
    junit, summary = tmp_path / "out.xml", tmp_path / "out.md"
    with serving(lambda body: str(number(body)) if number(body) < 20 else "0") as server:
        config = write_config(tmp_path, server.url, reference=True)
        more = ("--junit", str(junit), "--markdown", str(summary))
        result = weighmaster(*arguments(suite, config, *more))
    assert result.exit_code == 1
    assert "worse" in result.stdout
    assert "word-20" in result.stdout
    tree = ET.parse(junit).getroot()  # noqa: S314  # our own file
    assert tree.attrib["failures"] == str(len(tree.findall("testcase/failure"))) == "21"
    assert len(tree.findall("testcase")) == int(tree.attrib["tests"]) == 41
    assert "word\\-20" in summary.read_text()


def test_half_of_the_answers_missing_is_inconclusive(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_golden(monkeypatch, Golden())
    with serving(lambda body: str(number(body)) if number(body) % 2 else 503) as server:
        result = weighmaster(*arguments(suite, write_config(tmp_path, server.url, reference=True), "--json"))
    assert result.exit_code == 3
    found = document(result)
    assert (found["status"], found["cause"], found["untold"]) == ("inconclusive", "no_answers", {"http_5xx": 20})


def test_an_endpoint_that_lets_nobody_in_is_not_asked_all(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_golden(monkeypatch, Golden())
    with serving(lambda _: 401) as server:
        result = weighmaster(*arguments(suite, write_config(tmp_path, server.url, reference=True), "--json"))
        assert len(server.posted) == 10
    assert (result.exit_code, document(result)["cause"]) == (3, "no_answers")
    assert document(result)["untold"] == {"auth_error": 10}
    assert "no request reaches the model" in result.stderr


def test_dry_run_sends_and_keeps_nothing_and_says_what_it_costs(suite: Path, tmp_path: Path) -> None:
    with serving(lambda _: "x") as server:
        config = write_config(tmp_path, server.url)
        config.write_text(config.read_text().replace("model: m", "model: m, price_in_usd: 1, price_out_usd: 10"))
        result = weighmaster(*arguments(suite, config, "--repeats", "3", "--dry-run", "--json"))
        assert not server.posted
    assert not (tmp_path / "customers").exists()
    found = document(result)
    assert found["golden"] is None
    assert (found["cases"], found["requests"], found["tokens_out_most"]) == (40, 120, 960)
    assert found["usd_most"] == pytest.approx((found["tokens_in"] + 9600) / 1e6)


def test_a_dry_run_says_what_golden_is_asked_and_what_it_has_answered_already(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: 12 cases, of which golden, at temperature 0, answers each once; after a run it knows them all."""
    suite = tmp_path / "words.jsonl"
    suite.write_text(cases(12, repeats=3))
    with_golden(monkeypatch, Golden())
    with serving(lambda body: str(number(body))) as server:
        config = write_config(tmp_path, server.url, reference=True)
        told = weighmaster(*arguments(suite, config, "--dry-run"))
        before = document(weighmaster(*arguments(suite, config, "--dry-run", "--json")))
        assert "golden (golden): 12 requests, about " in told.stdout
        assert "12 cases: a pass needs at least 36, so none can pass; a fail needs at least 7 lost" in told.stdout
        assert weighmaster(*arguments(suite, config)).exit_code == 3
        after = document(weighmaster(*arguments(suite, config, "--dry-run", "--json")))
        hot = document(weighmaster(*arguments(suite, config, "--dry-run", "--json", "--temperature", "1")))
    assert (before["requests"], before["golden"]["requests"], before["golden"]["tokens_out_most"]) == (36, 12, 96)
    assert (after["requests"], after["golden"]["requests"], hot["golden"]["requests"]) == (36, 0, 36)


def test_how_far_a_run_is_is_told_while_golden_still_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Golden):
        async def send(self, request: Request) -> Capture:
            await asyncio.sleep(0.02)
            return await super().send(request)

    suite = tmp_path / "words.jsonl"
    suite.write_text(cases(5))
    with_golden(monkeypatch, Slow())
    monkeypatch.setattr(jobs.suite_progress, "EVERY_S", 0.01)
    with serving(lambda body: str(number(body))) as server:
        result = weighmaster(*arguments(suite, write_config(tmp_path, server.url, reference=True)))
    lines = [line for line in result.stderr.splitlines() if "elapsed" in line]
    assert re.fullmatch(r"acme/0: golden [0-4] of 5 answers, endpoint 0 of 5, 0:00:0\d elapsed", lines[0])
    assert lines[-1].startswith("acme/0: golden 5 of 5 answers, endpoint 5 of 5, ")


def test_a_rate_and_the_counts_beside_it_are_of_the_same_thing_in_every_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Oracle: of 12 cases, one asked three times, that one and another are right: 2 of 12 cases, 4 of 14 answers."""
    suite, summary = tmp_path / "words.jsonl", tmp_path / "out.md"
    suite.write_text(cases(11) + cases(12, repeats=3).splitlines()[11])
    with_golden(monkeypatch, Golden())
    with serving(lambda body: str(number(body)) if number(body) in {1, 11} else "no") as server:
        config = write_config(tmp_path, server.url, reference=True)
        result = weighmaster(*arguments(suite, config, "--markdown", str(summary)))
        folder = ("--customer", "acme", "--folder", str(tmp_path / "customers"))
        rows = document(weighmaster("suite", "results", *folder, "--json"))["runs"]
        found = document(weighmaster("suite", "results", *folder, "--run", rows[0]["run"], "--json"))
    plain = summary.read_text().replace("\\", "")
    one = r"100\.0% \[20\.7%, 100\.0%\]"
    for text in (result.stdout, plain):
        assert re.search(r"cases right +[│|] 16\.7% \[4\.7%, 44\.8%\], 2 of 12 cases", text)
        assert re.search(r"answers right +[│|] 28\.6% \[\d+\.\d%, \d+\.\d%\], 4 of 14", text)
        assert re.search(r"cases right every time +[│|] 16\.7% \[.*\], 2 of 12", text)
        assert re.search(rf"pass@3 +[│|] {one}, at least one of 3 tries right, 1 case asked several times", text)
        assert re.search(rf"pass\^3 +[│|] {one}, each of 3 tries right, 1 case asked several times", text)
    assert rows[0]["right"] == "16.7% [4.7%, 44.8%], 2 of 12 cases"
    assert (found["rate"]["k"], found["rate"]["n"], found["rate"]["value"]) == (2, 12, pytest.approx(2 / 12))
    assert (found["rate"]["answers"]["k"], found["rate"]["answers"]["n"]) == (4, 14)
    as_kept_before(tmp_path / "customers")
    again = document(weighmaster("suite", "results", *folder, "--run", rows[0]["run"], "--json"))
    assert (again["rate"], again["golden"], again["tries"]["n_cases"]) == (found["rate"], found["golden"], None)


def as_kept_before(folder: Path) -> None:
    """Keep the finished run as earlier versions did: a rate was the share of cases beside counts of answers."""
    with SuiteStore.opened(folder, "acme", KEYS["acme"]) as store:
        *kept, done = store.records
    old = {"k": 4, "n": 14, "value": 2 / 12, "low": 0.0, "high": 1.0}
    tries = {key: value for key, value in done["outcome"]["tries"].items() if key != "n_cases"}
    outcome = {**done["outcome"], "rate": old, "golden": old, "tries": tries}
    (folder / "acme.suites").unlink()
    with SuiteStore.opened(folder, "acme", KEYS["acme"]) as store:
        store.append([*kept, {**done, "outcome": outcome}])


def test_a_pinned_run_of_few_cases_is_compared_with_and_said_to_be_too_few(tmp_path: Path) -> None:
    suite = tmp_path / "few.jsonl"
    suite.write_text(cases(2))
    with serving(lambda body: str(number(body))) as server:
        config = write_config(tmp_path, server.url)
        weighmaster(*arguments(suite, config, "--pin"))
        result = weighmaster(*arguments(suite, config))
    assert result.exit_code == 3
    told = " ".join(re.sub(r"[│┃]", " ", result.stdout).split())
    assert "against baseline +0.0 points" in told
    assert "over 2 cases (0 worse, 0 better, one-sided p 1); no loss would have been certain" in told
    assert "too few to decide" in told
    assert " why " not in told  # a table of wrong answers has no place where there is none


def test_without_golden_the_last_run_and_the_baseline_are_compared_with(suite: Path, tmp_path: Path) -> None:
    knows = 40
    with serving(lambda body: str(number(body)) if number(body) < knows else "0") as server:
        config = write_config(tmp_path, server.url)
        first = weighmaster(*arguments(suite, config, "--pin", "--json"))
        assert (first.exit_code, document(first)["cause"]) == (3, "no_reference")
        second = weighmaster(*arguments(suite, config, "--json"))
        assert second.exit_code == 0
        assert len(server.posted) == 80
        knows = 15
        third = weighmaster(*arguments(suite, config, "--pin", "--json"))
        assert (third.exit_code, document(third)["cause"]) == (1, "regression")
        assert "not pinned, since it failed" in third.stderr
        fourth = weighmaster(*arguments(suite, config, "--json"))
        run, folder = document(fourth)["run"], str(tmp_path / "customers")
        weighmaster("suite", "results", "--customer", "acme", "--folder", folder, "--run", run, "--pin")
        fifth = weighmaster(*arguments(suite, config, "--json"))
    changes = document(fourth)["before"]
    assert (changes["last"]["value"], changes["baseline"]["value"]) == (-25 / 40, -25 / 40)
    assert document(fourth)["before_runs"] == {"last": document(second)["run"], "baseline": document(first)["run"]}
    assert fourth.exit_code == 1
    # A loss that stays fails as often as it is run, until its owner accepts it.
    assert (fifth.exit_code, document(fifth)["before_runs"]) == (0, {"last": run, "baseline": run})


def test_a_run_without_answers_is_not_pinned_and_hides_no_regression(suite: Path, tmp_path: Path) -> None:
    knows = 40
    with serving(lambda body: str(number(body)) if number(body) < knows else "0") as server:
        config = write_config(tmp_path, server.url)
        first = weighmaster(*arguments(suite, config, "--pin", "--json"))
        away = weighmaster(*arguments(suite, write_config(tmp_path, "http://127.0.0.1:9/v1"), "--pin", "--json"))
        knows = 15
        later = weighmaster(*arguments(suite, write_config(tmp_path, server.url), "--json"))
    assert (away.exit_code, document(away)["cause"]) == (3, "no_answers")
    assert "not pinned, since its answers did not come" in away.stderr
    assert (later.exit_code, document(later)["cause"]) == (1, "regression")
    assert document(later)["before_runs"]["baseline"] == document(first)["run"]


def test_a_run_at_another_address_is_compared_with_the_last_one_and_asks_anew(suite: Path, tmp_path: Path) -> None:
    # Oracle: the same endpoint by name, 15 of 40 where it knew all before.
    with serving(lambda body: str(number(body))) as before:
        first = weighmaster(*arguments(suite, write_config(tmp_path, before.url), "--pin", "--json"))
    with serving(lambda body: str(number(body)) if number(body) < 15 else "0") as moved:
        config = write_config(tmp_path, moved.url)
        second = weighmaster(*arguments(suite, config, "--no-golden", "--json"))
        assert len(moved.posted) == 40
        other = weighmaster(*arguments(suite, config, "--no-golden", "--temperature", "0.5", "--json"))
    assert document(first)["cause"] == "no_reference"
    changes = document(second)["before"]
    assert (changes["last"]["value"], changes["baseline"]["value"]) == (-25 / 40, -25 / 40)
    assert (second.exit_code, document(second)["cause"]) == (1, "regression")
    assert document(other)["before"] == {}


def test_without_golden_no_share_of_wrong_runs_is_told(suite: Path, tmp_path: Path) -> None:
    # Oracle: a step is wrong where golden does it rightly, so without golden there is none.
    with serving(lambda body: str(number(body)) if number(body) < 15 else "0") as server:
        result = weighmaster(*arguments(suite, write_config(tmp_path, server.url)))
        again = weighmaster(*arguments(suite, write_config(tmp_path, server.url), "--json"))
    assert "runs of 15 steps" not in result.stdout
    assert document(again)["compounding"]["wrong"] is None


def test_that_cases_weigh_differently_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Oracle: 11 of 12 right, but the wrong one counts as much as they do.
    with_golden(monkeypatch, Golden())
    suite = tmp_path / "heavy.jsonl"
    rows = cases(12).splitlines()
    suite.write_text("\n".join([*rows[:11], rows[11].replace('"repeats"', '"weight":11,"repeats"')]))
    with serving(lambda body: str(number(body)) if number(body) < 11 else "0") as server:
        config = write_config(tmp_path, server.url, reference=True)
        told = weighmaster(*arguments(suite, config))
        found = document(weighmaster(*arguments(suite, config, "--json")))
        twice = weighmaster(*arguments(suite, config, "--repeats", "2"))
    assert "weight 11 of 22 in 12 cases" in told.stdout
    assert "answers right, unweighted" in twice.stdout
    assert "cases right every time, unweighted" in twice.stdout
    assert (found["weighted"], found["rate"]["value"], found["rate"]["k"], found["rate"]["n"]) == (True, 0.5, 11, 22)


def test_golden_is_asked_once_for_all_runs(suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite.write_text(cases(12))
    asked = []

    class Counting(Golden):
        async def send(self, request: object) -> object:  # type: ignore[override]
            asked.append(request)
            return await super().send(request)  # type: ignore[arg-type]

    with_golden(monkeypatch, Counting())
    with serving(lambda body: str(number(body))) as server:
        config = write_config(tmp_path, server.url, server.url, reference=True)
        for endpoint in ("acme/0", "acme/1", "acme/0"):
            found = document(weighmaster(*arguments(suite, config, "--repeats", "2", "--json", endpoint=endpoint)))
            assert found["difference"]["n"] == 12
    assert (len(asked), len(server.posted)) == (12, 72)


def test_sequential_stops_as_soon_as_the_loss_is_certain(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite.write_text(cases(400))
    with_golden(monkeypatch, Golden())
    with serving(lambda _: "wrong") as server:
        config = write_config(tmp_path, server.url, reference=True)
        result = weighmaster(*arguments(suite, config, "--sequential", "--json"))
    assert (result.exit_code, document(result)["status"]) == (1, "fail")
    assert len(server.posted) <= 30


def test_python_of_a_suite_runs_only_where_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ours_to_run.py").write_text("def even(text):\n    return int(text) % 2 == 0\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    suite = tmp_path / "even.jsonl"
    suite.write_text('{"prompt": "Say 4.", "oracles": [{"kind": "python", "entry": "ours_to_run:even"}]}\n')
    with serving(lambda body: str(number(body))) as server:
        config = write_config(tmp_path, server.url)
        refused = weighmaster(*arguments(suite, config))
        assert isinstance(refused.exception, UsageError)
        assert "ours_to_run:even" in str(refused.exception)
        assert not server.posted
        result = weighmaster(*arguments(suite, config, "--allow-python", "--json"))
    assert document(result)["rate"]["k"] == 1

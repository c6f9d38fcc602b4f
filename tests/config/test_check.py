"""The plan in requests, tokens and money. Oracle: arithmetic by hand on the costs of the probes in `catalogue`."""

import json
from dataclasses import dataclass, replace

import pytest
from rich.console import Console

from jobs.check import as_json, plan_rows, plan_table, plan_view, total, usd_text
from monitor.cadence import duration_text
from monitor.config import Config, load
from monitor.detectors.faults import Faults
from tests.config.catalogue import CATALOGUES

TEXT = """
endpoints:
  - {name: a/priced, base_url: http://h, model: m, price_in_usd: 2.0, price_out_usd: 10}
  - {name: a/free, base_url: http://h, model: m, price_in_usd: 0, price_out_usd: 0}
  - {name: a/half, base_url: http://h, model: m, price_in_usd: 1}
  - {name: a/unwatched, base_url: http://h, model: m}
probes:
  - {kind: speed, every: 1h, endpoints: [a/priced, a/free, a/half]}
  - {kind: logprobs, every: 1d, endpoints: [a/half]}
"""


def config() -> Config:
    return load(TEXT, {}, CATALOGUES)


def printed(one: Config) -> str:
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(plan_table(plan_rows(one)))
    return capture.get()


def test_requests_and_tokens() -> None:
    row = plan_rows(config())[0]
    assert (row.endpoint, row.probe, row.every_s) == ("a/priced", "speed", 3600.0)
    assert (row.requests_per_day, row.tokens_in_per_day, row.tokens_out_per_day) == (120, 12_000, 7_680)


def test_money() -> None:
    """24 runs of 500 tokens in at 2 USD and 320 out at 10 USD per million: 24 * (0.001 + 0.0032)."""
    prices = {(row.endpoint, row.probe): row.usd_per_day for row in plan_rows(config())}
    assert prices.pop(("a/priced", "speed")) == pytest.approx(0.1008)
    assert prices.pop(("a/half", "logprobs")) == pytest.approx(1280e-6)  # no tokens out, so their price is not needed
    assert prices == {("a/free", "speed"): 0, ("a/half", "speed"): None}


def test_an_unknown_price_makes_the_total_unknown_and_not_smaller() -> None:
    everything = total(plan_rows(config()))
    assert everything.usd_per_day is None
    assert everything.usd_known_per_day == pytest.approx(0.1008 + 1280e-6)
    assert (everything.n_rows, everything.n_unpriced) == (4, 1)
    assert everything.requests_per_day == 3 * 120 + 32


def test_known_prices_add_up() -> None:
    known = [row for row in plan_rows(config()) if row.usd_per_day is not None]
    assert total(known).usd_per_day == pytest.approx(0.1008 + 1280e-6)
    assert total([]).usd_per_day == 0


def test_table_says_unknown() -> None:
    lines = printed(config()).splitlines()
    assert any("a/half" in line and "speed" in line and "unknown" in line for line in lines)
    assert any("a/free" in line and "0.00" in line for line in lines)
    assert any("total" in line and "0.1 + unknown" in line for line in lines)
    assert any("a/priced" in line and "1h" in line and "12,000" in line for line in lines)


def viewed(one: Config, width: int) -> str:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(plan_view(one, width))
    return capture.get()


def test_a_narrow_terminal_gets_lines_with_every_number() -> None:
    shown = viewed(config(), 60)
    assert max(len(line) for line in shown.splitlines()) <= 60
    words = " ".join(shown.split())
    assert "a/priced speed every 1h 120 requests, 12,000 tokens in, 7,680 tokens out, USD 0.1 a/free" in words
    assert "total 392 requests, 37,280 tokens in, 23,040 tokens out, USD 0.1 + unknown" in words


def test_a_table_folds_long_names_and_cuts_no_number() -> None:
    text = TEXT.replace("a/priced", "a/priced-with-a-name-that-is-longer-than-most")
    shown = viewed(load(text, {}, CATALOGUES), 80)
    cells = "".join(line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│"))
    assert "a/priced-with-a-name-that-is-longer-than-most" in cells
    assert "…" not in shown
    assert all(number in shown for number in ("12,000", "7,680", "37,280", "0.1 + unknown"))


def test_table_without_probes() -> None:
    assert "total" in printed(load(TEXT.partition("probes")[0], {}, CATALOGUES))


def test_json() -> None:
    document = json.loads(json.dumps(as_json(config())))
    assert [row["usd_per_day"] for row in document["plan"]][:2] == [pytest.approx(0.1008), 0]
    assert document["total"]["usd_per_day"] is None
    assert document["endpoints"][-1] == "a/unwatched"
    assert document["detectors"] == ["accounting", "logprob_fidelity"]


@pytest.mark.parametrize(("seconds", "text"), [(90, "90s"), (600, "10m"), (3600, "1h"), (86400, "1d"), (5400, "90m")])
def test_intervals_read_as_written(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


BUDGETS = """
endpoints:
  - {name: a/tight, base_url: http://h, model: m, budget_tokens_per_day: 19_000}
  - {name: a/paid, base_url: http://h, model: m, price_in_usd: 2, price_out_usd: 10, budget_usd_per_day: 0.2}
  - {name: a/free, base_url: http://h, model: m}
probes:
  - {kind: speed, every: 7h, endpoints: [a/paid]}
  - {kind: speed, every: 1h, endpoints: [a/tight]}
  - {kind: logprobs, cron: "0 9 * * mon-fri", endpoints: [a/paid]}
"""


def test_the_busiest_day_beside_the_budget() -> None:
    """24 runs of 820 tokens are 19,680; four runs of 0.0042 USD and one of 1,280 tokens at 2 USD per million."""
    tight, paid = as_json(load(BUDGETS, {}, CATALOGUES))["budgets"]
    assert (tight["endpoint"], tight["tokens_planned"], tight["over"]) == ("a/tight", 19_680, True)
    assert (paid["usd_planned"], paid["over"]) == (pytest.approx(4 * 0.0042 + 0.00256), False)
    shown = " ".join(viewed(load(BUDGETS, {}, CATALOGUES), 100).split())
    assert "a/tight: up to 19,680 tokens planned, the budget is 19,000: the last runs of such a day will" in shown
    assert "a/paid: up to 0.0194 USD planned, the budget is 0.2" in shown
    assert "0 9 * * mon-fri" in shown


def test_a_budget_below_one_run_is_told() -> None:
    """A run of `speed` takes 820 tokens."""
    text = BUDGETS.replace("19_000", "819")
    assert as_json(load(text, {}, CATALOGUES))["budgets"][0]["never"] == ["speed"]
    shown = " ".join(viewed(load(text, {}, CATALOGUES), 100).split())
    assert "the budget is 819: not one run of speed fits, all will be skipped" in shown


def test_without_budgets_there_is_no_word_of_them() -> None:
    assert "Budget" not in viewed(config(), 100)


@dataclass(frozen=True)
class Amount:
    usd: float | None
    text: str


@pytest.mark.parametrize(
    "amount", [Amount(None, "unknown"), Amount(0, "0.00"), Amount(0.00123, "0.0012"), Amount(12.345, "12.35")], ids=str
)
def test_amounts(amount: Amount) -> None:
    assert usd_text(amount.usd) == amount.text


def test_endpoints_whose_runs_are_too_short_for_a_pass_of_faults_are_told() -> None:
    """Oracle: the catalogue's `speed` asks 5 requests, `logprobs` 32, and that is the longest run of `a/half`."""
    one = replace(load(TEXT, {}, CATALOGUES), detectors=(Faults(min_n=6),))
    assert as_json(one)["too_short"] == {"a/priced": 5, "a/free": 5}
    console = Console(width=300, color_system=None)
    with console.capture() as capture:
        console.print(plan_view(one, 300))
    assert "a/free, a/priced: no run asks 6 requests" in capture.get()
    assert "set detectors: {faults: {min_n: 5}}" in capture.get()
    assert as_json(replace(one, detectors=(Faults(),)))["too_short"] == {}
    assert as_json(replace(one, detectors=()))["too_short"] == {}

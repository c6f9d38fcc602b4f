"""Audits on fake golden weights: which way they go, what they cost, and that evidence alone leads to the same end."""

import json
from pathlib import Path
from typing import Any

import pytest

from jobs import audit_now, endpoints_now, evidence_folder
from jobs.audit import Audit, Audited, listens_to, looking, visible
from jobs.audit_now import Terms
from jobs.audit_questions import questions
from jobs.audit_report import Budget, spent_on
from jobs.audit_table import audit_row, audit_table
from jobs.clock import SystemClock
from jobs.endpoints_now import INTERRUPTED
from jobs.pipeline import Judged, Probed
from jobs.settings import catalogues
from jobs.terminal import show
from monitor.codec import encode
from monitor.config import load
from monitor.config_types import EndpointConfig, ReferenceConfig
from monitor.errors import UsageError
from monitor.results import GoldenView, RunRecord
from monitor.types import Capture, Choice, Endpoint, Exchange, Request
from tests.detectors.made import run_of
from tests.fakes.golden import FakeEndpoint, FakeScorer

TARGET = Endpoint(
    name="acme/m", provider="acme", base_url="http://127.0.0.1:1", model="m", reference="golden", price_in_usd=0.5,
    price_out_usd=1.0,
)  # fmt: skip


def audit_of(*, tokens: int = 20_000, usd: float | None = None, text_only: bool = False) -> Audit:
    kinds: Any = catalogues().detectors
    return Audit(
        endpoint=TARGET, look=looking(FakeScorer(), None),
        detectors=[one for kind in kinds.values() if listens_to(one := kind())],
        ask=questions(text_only=text_only), alpha=0.001, budget=Budget(tokens=tokens, usd=usd), clock=SystemClock(),
        vantage="test", version="0",
    )  # fmt: skip


def nowhere(_record: RunRecord, _captures: tuple[Capture, ...]) -> None:
    """Keep nothing."""


async def audited(client: FakeEndpoint, **terms: Any) -> Audited:
    return await audit_of(**terms).run(client, seed=11, keep=nowhere)


async def test_a_faithful_endpoint_passes_and_says_what_was_not_seen() -> None:
    found = await audited(FakeEndpoint())
    assert found.verdict.status == "pass"
    assert found.verdict.cause is None
    assert found.verdict.details["level"] == "top_logprobs"
    assert "long contexts" in found.verdict.reason
    assert found.verdict.details["tokens_out"] < 3000


async def test_other_weights_are_found_within_64_output_tokens_and_named_after_32_answers() -> None:
    found = await audited(FakeEndpoint(noise=0.5))
    assert (found.verdict.status, found.verdict.cause) == ("fail", "weights")
    first = next(one for one in found.rounds if one.standing.status == "fail")
    assert first.spent.tokens_out <= 64
    assert found.verdict.details["tokens_out"] == 128
    assert found.verdict.details["measured"]["metric"] == "kl_nats"
    assert found.verdict.e_value is not None
    assert found.verdict.e_value >= 1000


async def test_another_prompt_is_the_template_and_ends_it_after_one_round() -> None:
    found = await audited(FakeEndpoint(system=""))
    assert (found.verdict.status, found.verdict.cause) == ("fail", "template")
    assert len(found.rounds) == 1


async def test_a_hotter_sampler_is_named_and_its_temperature_told() -> None:
    found = await audited(FakeEndpoint(temperature_served=1.3))
    assert (found.verdict.status, found.verdict.cause) == ("fail", "sampler")
    assert found.verdict.details["detectors"]["logprob_fidelity"]["status"] == "pass"


async def test_without_logprobs_it_goes_by_text_and_says_so() -> None:
    found = await audited(FakeEndpoint(noise=0.8, logprobs=False))
    assert (found.verdict.status, found.verdict.cause) == ("fail", "weights")
    assert found.verdict.details["level"] == "text"
    assert "8-bit" in found.verdict.details["blind_to"]


async def test_by_text_a_bad_cache_is_told_from_weights_by_what_its_choices_have_in_common() -> None:
    found = await audited(FakeEndpoint(noise=0.8, of_tokens=0.0), text_only=True)
    assert (found.verdict.status, found.verdict.cause) == ("fail", "kv_cache")


async def test_an_unsure_name_is_worth_more_answers() -> None:
    """A quarter of the error is the tokens': too near the limit of 0.2 for 32 answers (0.15, give or take 0.08).

    The error is simulated, with a seed of its own in each run: it has to be well within the doubt.
    """
    client = FakeEndpoint(noise=0.5, of_tokens=0.24)
    found = await audited(client, text_only=True)
    assert found.verdict.status == "fail"
    assert sum(request.temperature == 0 for request in client.asked) > 32


def by_pack(n: int, *, text_only: bool = False) -> Audit:
    """An audit that can ask `n` prompts, and see weights alone."""
    names = tuple(f"pool-{7 * at}" for at in range(n))
    audit = audit_of()
    audit.ask, audit.areas = questions(text_only=text_only, chosen=names), ("weights",)
    return audit


@pytest.mark.parametrize("text_only", [False, True])
async def test_of_a_pack_its_own_prompts_are_asked_and_weights_are_judged(text_only: bool) -> None:
    client = FakeEndpoint()
    found = await by_pack(20, text_only=text_only).run(client, seed=1, keep=nowhere)
    assert found.verdict.status == "pass"
    assert found.verdict.reason.startswith("weights are as they should be")
    assert "cannot see: the sampler, because this reference knows no whole distributions" in found.verdict.reason
    assert (found.verdict.details["areas"], found.verdict.details["blind_to"][:11]) == (["weights"], "the sampler")
    assert [request.prompt_id for request in client.asked] == [f"pool-{7 * at}" for at in range(len(client.asked))]
    assert {request.temperature for request in client.asked} == {0.0}
    worse = await by_pack(40, text_only=text_only).run(FakeEndpoint(noise=0.5), seed=1, keep=nowhere)
    assert (worse.verdict.status, worse.verdict.cause) == ("fail", "weights")


@pytest.mark.parametrize("of_tokens", [0.5, 0.0])
async def test_too_few_answers_to_name_it_name_both(of_tokens: float) -> None:
    """Weights and a bad cache look alike in eight answers, whichever it is."""
    client = FakeEndpoint(noise=0.5, of_tokens=of_tokens)
    found = await audit_of(tokens=1).run(client, seed=11, keep=nowhere)
    assert (found.verdict.status, found.verdict.cause) == ("fail", "weights or kv_cache")
    assert found.verdict.reason.startswith("weights or kv_cache: ")
    assert "; too few answers to tell which (8 requests" in found.verdict.reason
    again = audit_of(tokens=1).again(found.records, found.captures, at=found.verdict.at)
    assert again.verdict.cause == found.verdict.cause


async def test_with_too_few_known_prompts_it_stays_undecided() -> None:
    client = FakeEndpoint()
    found = await by_pack(3, text_only=True).run(client, seed=1, keep=nowhere)
    assert (found.verdict.status, found.verdict.cause) == ("inconclusive", "undecided")
    assert len(client.asked) == 3
    assert "all that can be asked was asked" in found.verdict.reason


@pytest.mark.parametrize(("engine", "areas"), [("torch", ("weights", "sampler")), ("pack", ("weights",))])
def test_only_weights_at_hand_see_the_sampler(engine: Any, areas: tuple[str, ...]) -> None:
    assert visible(ReferenceConfig(engine=engine, path="x")) == areas


@pytest.mark.parametrize("how", [{"refuses_logprobs": True}, {"logprobs": False}])
async def test_without_logprobs_it_goes_on_by_text_with_longer_answers(how: dict[str, bool]) -> None:
    client = FakeEndpoint(noise=0.8, **how)  # type: ignore[arg-type]
    found = await audited(client)
    assert (found.verdict.status, found.verdict.details["level"]) == ("fail", "text")
    greedy = [request for request in client.asked if request.temperature == 0]
    assert {request.top_logprobs for request in greedy[:8]} == {20}
    assert {(request.top_logprobs, request.max_tokens) for request in greedy[8:]} == {(None, 12)}


async def test_no_prompt_is_asked_twice_in_an_audit() -> None:
    client = FakeEndpoint()
    await audited(client)
    asked = [request.prompt_id for request in client.asked]
    assert {request.temperature for request in client.asked} == {0, 1}
    assert len(set(asked)) == len(asked)


def test_all_that_an_audit_can_ask_is_the_pool_once() -> None:
    """Oracle: 960 prompts in the pool, eight in each of sixty rounds of both kinds."""
    by_text = True
    made = questions(text_only=by_text)
    rounds = [made[kind](at, by_text) for kind in ("greedy", "sample") for at in range(61)]
    probes = [one for one in rounds if one is not None]
    assert len(probes) == 120
    assert len({request.prompt_id for one in probes for request in one.requests(5)}) == 960


async def test_text_only_asks_for_no_logprobs() -> None:
    client = FakeEndpoint(noise=0.8)
    found = await audited(client, text_only=True)
    assert all(request.top_logprobs is None for request in client.asked)
    assert found.verdict.details["level"] == "text"


async def test_a_budget_ends_it_undecided() -> None:
    """700 tokens are less than a faithful endpoint needs for a pass."""
    found = await audited(FakeEndpoint(), tokens=700)
    assert (found.verdict.status, found.verdict.cause) == ("inconclusive", "undecided")
    assert "since its budget is used up: " in found.verdict.reason
    spent = found.rounds[-1].spent
    assert spent.tokens >= 700
    assert found.rounds[-2].spent.tokens < 700 if len(found.rounds) > 1 else True
    assert spent.usd == pytest.approx((spent.tokens_in * 0.5 + spent.tokens_out * 1.0) / 1e6)
    poor = await audited(FakeEndpoint(), usd=1e-6)
    assert len(poor.rounds) == 1


async def test_an_endpoint_that_does_not_answer_is_asked_once() -> None:
    client = FakeEndpoint(status=500)
    found = await audited(client)
    assert (found.verdict.status, found.verdict.details["level"]) == ("inconclusive", None)
    assert "no complete answer after 8 requests, 0 tokens, 0.0000 USD: 8 http_5xx" in found.verdict.reason
    assert (found.verdict.status, found.verdict.cause) == ("inconclusive", "no_answers")
    assert len(client.asked) == 8


async def test_no_two_rounds_ask_the_same() -> None:
    """Answers to the same prompt again would count twice; and samples must not share random numbers."""
    client = FakeEndpoint()
    audit = audit_of(tokens=60_000)
    audit.alpha = 1e-290  # never enough
    await audit.run(client, seed=11, keep=nowhere)
    for temperature in (0.0, 1.0):
        asked = [request for request in client.asked if request.temperature == temperature]
        assert len({request.prompt_id for request in asked}) == len(asked) >= 16
    seeds = [request.seed for request in client.asked if request.temperature]
    assert len(set(seeds)) == len(seeds)


@pytest.mark.parametrize("noise", [0.0, 0.5])
async def test_the_evidence_alone_leads_to_the_same_verdict(noise: float, tmp_path: Path) -> None:
    def keep(record: RunRecord, captures: tuple[Capture, ...]) -> None:
        evidence_folder.keep_probed(tmp_path, Probed(endpoint=TARGET, records=(record,), captures=(captures,)))

    found = await audit_of().run(FakeEndpoint(noise=noise), seed=11, keep=keep)
    probed = Probed(endpoint=TARGET, records=found.records, captures=found.captures)
    evidence_folder.keep_judged(
        tmp_path, Judged(probed=probed, views=found.golden.views, verdicts=(found.verdict, *found.rounds[-1].verdicts))
    )
    kept = evidence_folder.read(tmp_path)
    assert [one.n_changed for one in kept] == [0]
    assert kept[0].verdicts[0] == found.verdict
    again = audit_of().again(kept[0].probed.records, kept[0].probed.captures, at=found.verdict.at)
    assert encode(again.verdict) == encode(found.verdict)
    assert [encode(one.standing) for one in again.rounds] == [encode(one.standing) for one in found.rounds]


def test_every_endpoint_has_a_place_of_its_own(tmp_path: Path) -> None:
    """Oracle: names differ, so places do, also on a file system that knows no slash in names."""
    names = ["a/b", "a__b", "a_/b", "a/_b", "a_b", "a___b", "a/b/c", "a__b/c", "a:b", "a@b+c"]
    places = [evidence_folder.place_of(tmp_path, name) for name in names]
    assert len(set(places)) == len(names)
    assert places[0] == tmp_path / "a__b"
    assert all(place.parent == tmp_path for place in places)


def test_a_stopped_audit_keeps_and_shows_the_endpoints_that_were_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C in the second of two: the first has its verdicts on disk and in the table; exit code 130."""
    yaml = """
references: {golden: {path: nowhere}}
endpoints:
  - {name: acme/m, base_url: "http://127.0.0.1:1", model: m, reference: golden}
  - {name: late/m, base_url: "http://127.0.0.1:1", model: m, reference: golden}
"""

    def client_of(entry: EndpointConfig, *_: object) -> FakeEndpoint:
        if entry.endpoint.name == "late/m":
            raise KeyboardInterrupt
        return FakeEndpoint(noise=0.5)

    monkeypatch.setattr(endpoints_now, "scorer_for", lambda _reference: FakeScorer())
    monkeypatch.setattr(endpoints_now, "client_of", client_of)
    config, terms = load(yaml, {}, catalogues()), Terms(budget=Budget(), alpha=0.001)
    code = audit_now.run(config, ["*"], terms, tmp_path, as_json=True)
    assert code == INTERRUPTED
    (row,) = json.loads(capsys.readouterr().out)["endpoints"]
    assert (row["endpoint"], row["status"], row["cause"]) == ("acme/m", "fail", "weights")
    (kept,) = evidence_folder.read(tmp_path)
    assert kept.verdicts[0].status == "fail"


def test_a_folder_without_evidence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no evidence here"):
        evidence_folder.read(tmp_path)
    (tmp_path / "endpoint.json").write_text("{}", "utf-8")
    with pytest.raises(UsageError, match="cannot be read"):
        evidence_folder.read(tmp_path)


def second_capture(folder: Path) -> Path:
    return next(folder.glob("*/*/001.capture"))


async def test_a_missing_or_damaged_capture_is_named(tmp_path: Path) -> None:
    def keep(record: RunRecord, captures: tuple[Capture, ...]) -> None:
        evidence_folder.keep_probed(tmp_path, Probed(endpoint=TARGET, records=(record,), captures=(captures,)))

    await audit_of(tokens=1).run(FakeEndpoint(), seed=11, keep=keep)
    second = second_capture(tmp_path)
    for content, why in ((b"nonsense", "not a capture"), (None, "No such file")):
        second.unlink()
        if content is not None:
            second.write_bytes(content)
        with pytest.raises(UsageError, match=rf"001\.capture: evidence that cannot be read: .*{why}"):
            evidence_folder.read(tmp_path)


def test_tokens_that_nobody_counted_are_the_most_that_they_can_be() -> None:
    """Zero would let a budget run for ever."""
    asked = Request(prompt_id="p", messages=({"role": "user", "content": "x" * 40},), max_tokens=24)
    cut = Exchange(outcome="truncated", request=asked, token_events=3, choices=(Choice(content="abc"),))
    refused = Exchange(outcome="rate_limited", request=asked)
    view = GoldenView(exchange_id="", run_id="", prompt_tokens=31, completion_tokens=7)
    record = RunRecord(run=run_of(), exchanges=(cut, refused), observations=())
    unseen, seen = spent_on(TARGET, [record], {}), spent_on(TARGET, [record], {"": view})
    assert (unseen.tokens_in, unseen.tokens_out) == (26, 24)
    assert (seen.tokens_in, seen.tokens_out) == (31, 7)
    assert unseen.ends == "1 truncated, 1 rate_limited"


async def test_the_table_holds_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [audit_row(await audited(FakeEndpoint(noise=0.5))), audit_row(await audited(FakeEndpoint(status=500)))]
    show(audit_table(rows))
    out = capsys.readouterr().out
    assert "weights" in out
    assert "kl_nats" in out
    assert "of 6.9 nats" in out
    assert rows[1]["measured"] is None

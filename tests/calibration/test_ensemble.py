"""Members of the ensemble without servers: mixtures, rescoring, names; and one small calibration on real ones."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobs import calibrate
from jobs.clock import SystemClock
from jobs.ensemble import Bench, mixed, rescored
from jobs.pipeline import Prober, probe_endpoint
from jobs.settings import catalogues
from monitor.errors import GoldenError, UsageError
from monitor.results import RunRecord
from monitor.types import Endpoint
from reference.variants.bank import bank, find, spec_of
from reference.variants.mixture import Mixture
from tests.fakes.golden import FakeEndpoint, FakeScorer

ENDPOINT = Endpoint(name="acme/m", provider="acme", base_url="http://127.0.0.1:1/v1", model="m", reference="golden")


async def record(noise: float) -> RunRecord:
    prober = Prober(clock=SystemClock(), vantage="test", version="0", seed=1, concurrency=1)
    probes = [catalogues(detectors=False).probes["logprobs"]()]
    probed = await probe_endpoint(ENDPOINT, FakeEndpoint(noise=noise), probes, prober, lambda *_: None)
    return probed.records[0]


async def test_rescored_by_the_golden_scorer_a_noisy_run_is_golden() -> None:
    """Oracle: the fake endpoint without noise has exactly the fake scorer's logprobs."""
    noisy = await record(0.5)
    again = rescored(noisy, FakeScorer())
    for before, after in zip(noisy.exchanges, again.exchanges, strict=True):
        for old, new in zip(before.choice.logprobs or (), after.choice.logprobs or (), strict=True):
            assert new.token == old.token
            assert new.logprob != old.logprob
    clean = await record(0.0)
    same = rescored(clean, FakeScorer())
    for before, after in zip(clean.exchanges, same.exchanges, strict=True):
        for old, new in zip(before.choice.logprobs or (), after.choice.logprobs or (), strict=True):
            assert new.logprob == pytest.approx(old.logprob)
            assert [top.logprob for top in new.top] == pytest.approx([top.logprob for top in old.top])


async def test_answers_without_logprobs_are_left_alone() -> None:
    noisy = await record(0.5)
    silent = replace(noisy.exchanges[0], choices=(replace(noisy.exchanges[0].choice, logprobs=None),))
    assert rescored(replace(noisy, exchanges=(silent,)), FakeScorer()).exchanges == (silent,)


async def test_a_mixture_takes_each_exchange_from_one_of_two_runs() -> None:
    good, bad = await record(0.0), await record(0.5)
    mixture = Mixture(of=find("int4"), share=0.3)
    found = mixed(mixture, good, bad)
    for number, one in enumerate(found.exchanges):
        assert one == (bad if mixture.routes(number) else good).exchanges[number]
    assert {one.run_id for one in found.exchanges} == {good.run.run_id, bad.run.run_id}


@pytest.mark.parametrize("name", sorted(bank()))
def test_every_variant_of_the_bank_can_be_named_to_a_process(name: str) -> None:
    assert find(spec_of(find(name))) == find(name)


def test_own_parameters_are_written_out() -> None:
    variant = find("integer:bits=4,group=16")
    assert find(spec_of(variant)) == variant


@pytest.mark.parametrize("name", ["temperature-1.1", "context-2048"])
async def test_what_logprobs_do_not_show_is_refused(name: str, tmp_path: Path) -> None:
    bench = Bench(
        home=tmp_path, golden=tmp_path, probe=catalogues(detectors=False).probes["logprobs"](), scorer=FakeScorer(),
        clock=SystemClock(), report=print,
    )  # fmt: skip
    with pytest.raises(UsageError, match="logprobs of a server do not show another"):
        await bench.variant(find(name))


def test_the_standard_ladder_is_in_the_bank() -> None:
    assert set(calibrate.LADDER) <= set(bank())


def test_stopped_too_early_is_said() -> None:
    with pytest.raises(GoldenError, match="too few members were measured"):
        calibrate._result([], "some model", 8, {})


@pytest.mark.lab
@pytest.mark.golden
def test_real_degraded_servers_lie_beyond_the_faithful_tolerance(
    golden_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Oracle: the ladder measured before on these weights (KL 0.06 and more for KV q4_0 and Q4_0)."""
    plan = calibrate.Plan(n_prompts=4, variants=("Q4_0", "kv-4"), device="cpu")
    code = calibrate.run(golden_home, None, plan, tmp_path, as_json=True)
    document = json.loads(capsys.readouterr().out)
    assert code == 0
    assert document == json.loads((tmp_path / "calibration.json").read_text("utf-8"))
    kl = next(one for one in document["metrics"] if one["metric"] == "kl_nats")
    values = {one["name"]: one["value"] for one in kl["members"]}
    assert sum(one["faithful"] for one in kl["members"]) == 7
    assert kl["tolerance"] < 0.01
    assert values["Q4_0"] > 10 * kl["tolerance"]
    assert values["kv-4"] > kl["tolerance"]
    assert values["torch fp32"] < 1e-6
    assert document["fingerprint"]["weights_sha256"]
    assert (tmp_path / "ladder-kl_nats.svg").read_text("utf-8").startswith("<svg")

"""The matched filter on deviations whose truth is known: made out of shifts of a hidden state."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from monitor.stats.hypotheses import FAITHFUL, GOLDEN, SAMPLER, UNEXPLAINED
from monitor.stats.matched import Match, match
from monitor.stats.matched_space import grid_of, space_of, step_of
from tests.detectors.made_identify import VARIANTS, Floats, World, world

FAMILIES = {**{name: family for name, (family, _, _) in VARIANTS.items()}, "temperature": SAMPLER}
SEEDS = range(40)


def matched(made: World, served: Floats, *, without: tuple[str, ...] = (), k: int | None = None) -> Match:
    predicted = {
        name: list((made.golden + one)[:, :k]) for name, one in made.deviations.items() if name not in without
    }  # fmt: skip
    return match(
        list(served[:, :k]), list(made.golden[:, :k]), predicted, FAMILIES, [str(n) for n in range(len(served))],
        faithful_nats=0.063,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["Q8_0", "Q5_0", "Q4_0", "rope-x0.1", "fp8-channel"])
def test_the_served_scheme_is_named(name: str) -> None:
    # Oracle: what was served. Noise is that of int8 activations, larger than the deviation of Q8_0 itself.
    found = [matched(one, one.served(name)) for one in (world(seed) for seed in range(20))]
    assert all(one.schemes[0].name == name for one in found)


def test_a_deviation_of_engine_noise_is_no_scheme() -> None:
    # Oracle: type I error. Noise of 0.1 nats is nothing that a variant predicts, and more than 16 bit explain.
    made = [world(1000 + seed) for seed in range(100)]
    found = [matched(one, one.served(None)) for one in made]
    first = [one.schemes[0] for one in found]
    wrong = [one for one in first if one.name not in {GOLDEN, UNEXPLAINED} and one.posterior > 0.95]
    assert len(wrong) <= 1


def test_small_noise_is_golden() -> None:
    made = [world(seed, noise=0.005) for seed in SEEDS]
    found = [matched(one, one.served(None)) for one in made]
    assert all(next(iter(one.families)) == FAITHFUL for one in found)


def test_whatever_noise_is_granted_there_is_something_unexplained() -> None:
    """A calibration that grants all noise leaves the largest scale to what nothing predicts."""
    one = world(0, noise=0.005)
    predicted = {name: list(one.golden + row) for name, row in one.deviations.items()}
    found = match(list(one.served(None)), list(one.golden), predicted, FAMILIES,
                  [str(n) for n in range(len(one.golden))], faithful_nats=100.0)  # fmt: skip
    assert next(iter(found.families)) == FAITHFUL
    assert sum(found.families.values()) == pytest.approx(1)


def hotter(made: World, temperature: float) -> World:
    """The same world, with a sampler of that temperature among the hypotheses."""
    return replace(made, deviations={**made.deviations, "temperature": made.golden / temperature - made.golden})


@pytest.mark.parametrize("temperature", [1.1, 0.8])
def test_a_sampler_is_named(temperature: float) -> None:
    # Oracle: what was served: an engine of 16 bit (0.035 nats) whose logprobs, noise and all, a temperature divides.
    made = [world(seed, noise=0.035) for seed in range(20)]
    found = [matched(hotter(one, temperature), one.served(None) / temperature) for one in made]
    assert all(one.schemes[0].name == "temperature" and one.families[SAMPLER] > 0.99 for one in found)


@pytest.mark.parametrize("gain", [0.8, 1.0])
def test_what_is_only_like_a_sampler_is_none(gain: float) -> None:
    # Oracle: type I error; what is served flattens as a sampler does (0.14 nats), amid noise of 0.2 nats, as with a
    # cache in fp8. Weights may leave as much unexplained, a sampler none.
    made = [hotter(world(seed, noise=0.2), 1.1) for seed in range(20)]
    found = [matched(one, one.served("temperature", gain=gain)) for one in made]
    assert all(next(iter(one.families)) == UNEXPLAINED for one in found)
    assert max(one.families[SAMPLER] for one in found) < 0.01


@pytest.mark.parametrize("name", ["Q5_0", "Q4_0", "layers-2"])
def test_what_is_left_out_of_the_bank_is_unexplained(name: str) -> None:
    made = [world(seed) for seed in SEEDS]
    found = [matched(one, one.served(name), without=(name,)) for one in made]
    assert sum(next(iter(one.families)) == UNEXPLAINED for one in found) >= 38


def test_claimed_posteriors_are_honest() -> None:
    # Oracle: over endpoints that serve each scheme alike, those named with probability p are right about p of the time.
    claimed, right = [], []
    for seed in range(60):
        for name in ("Q8_0", "int8-g64", "bf16"):
            made = world(seed, n=3, noise=0.1 if name != "bf16" else 0.02)
            first = matched(made, made.served(name)).schemes[0]
            claimed.append(first.posterior)
            right.append(first.name == name)
    assert np.mean(right) >= np.mean(claimed) - 0.1


def test_the_share_of_routed_requests_is_found() -> None:
    # Oracle: the share that was drawn; 100 requests leave a standard deviation of 4.6 points at 30%.
    found = []
    for seed in range(20):
        made = world(seed, n=100, noise=0.02)
        found.append(matched(made, made.served("Q4_0", share=0.3, seed=seed)))
    assert all(one.schemes[0].name == "Q4_0" for one in found)
    close = [one.share is not None and abs(one.share - 0.3) <= 0.1 for one in found]
    assert sum(close) >= 18
    covers = [
        one.share_low is not None and one.share_high is not None and one.share_low <= 0.3 <= one.share_high
        for one in found
    ]
    assert sum(covers) >= 16


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_two_schemes_behind_one_name_are_both_named(share: float) -> None:
    # Oracle: the share that was drawn; 100 requests leave a standard deviation of 5 points.
    found = []
    for seed in range(5):
        made = world(seed, n=100, noise=0.1)
        gone = np.random.default_rng(seed).random(100) < share
        found.append(matched(made, np.where(gone[:, None], made.served("Q5_0"), made.served("Q4_0"))))
    assert all(set(one.schemes[0].pair or ()) == {"Q4_0", "Q5_0"} for one in found)
    assert all(one.families["several"] > 0.99 for one in found)
    for one in found:
        assert one.share is not None
        assert one.schemes[0].pair is not None
        of_q5 = one.share if one.schemes[0].pair[0] == "Q5_0" else 1 - one.share
        assert abs(of_q5 - share) < 0.16


def test_one_scheme_is_no_pair() -> None:
    # Oracle: type I error; one scheme and engine noise, at all prompts or at some of them.
    made = [world(seed, n=60) for seed in range(8)]
    found = [matched(one, one.served("Q4_0", share=share)) for one in made for share in (0.5, 1.0)]
    assert not [one for one in found if one.families.get("several", 0.0) > 0.05]


def test_the_slope_is_the_gain() -> None:
    made = world(3, n=60, noise=0.02)
    found = matched(made, made.served("Q5_0", gain=0.85))
    assert found.slope is not None
    assert found.slope == pytest.approx(0.85, abs=0.02)
    assert found.slope_low is not None
    assert found.slope_high is not None
    assert found.slope_low < found.slope < found.slope_high
    assert found.rms_nats is not None
    assert found.residual_nats is not None
    assert found.residual_nats < found.rms_nats / 5


def test_two_that_predict_the_same_are_twins() -> None:
    made = world(4)
    deviations = {**made.deviations, "int8-g64": made.deviations["Q8_0"] * 1.01}
    other = World(golden=made.golden, deviations=deviations, noise=made.noise)
    first = matched(other, other.served("Q8_0")).schemes[0]
    assert first.name == "Q8_0"
    assert first.twins == ("int8-g64",)


@pytest.mark.parametrize(("k", "n"), [(5, 40), (1, 100)])
def test_few_logprobs_need_more_requests(k: int, n: int) -> None:
    made = [world(seed, n=n) for seed in range(10)]
    found = [matched(one, one.served("Q4_0"), k=k) for one in made]
    assert all(one.schemes[0].name == "Q4_0" for one in found)


def in_16_bit(served: Floats) -> Floats:
    """Logprobs of an engine that rounds logits from 16 to 32 as bfloat16 does."""
    logits = np.round((served + 30) * 8) / 8
    normaliser: Floats = np.full((len(served), 1), 30.3)
    return logits - normaliser


def test_logits_in_16_bit_are_no_deviation() -> None:
    # Oracle: type I error; golden weights in an engine of 16 bit (0.035 nats) that rounds logits too (0.036 nats of
    # every token, which no hidden state explains).
    made = [world(seed, n=40, noise=0.035) for seed in range(20)]
    found = [matched(one, in_16_bit(one.served(None))) for one in made]
    assert all(one.families[FAITHFUL] > 0.95 for one in found)
    assert {one.grid for one in found} == {0.125}


def test_logits_in_16_bit_hide_no_scheme() -> None:
    # Oracle: what was served; Q8_0 deviates by 0.07 nats.
    made = [world(seed, noise=0.035) for seed in range(20)]
    found = [matched(one, in_16_bit(one.served("Q8_0"))) for one in made]
    assert sum(one.schemes[0].name == "Q8_0" for one in found) >= 19


def test_the_grid_of_logits_is_seen_in_differences() -> None:
    # Oracle: written by hand; the normaliser is on no grid, four decimals are near enough, one position may be finer.
    rows = [np.array([-0.1234, -0.2484, -3.9984]), np.array([-0.7, -0.7625, -5.0125]), np.array([-1.3])]
    assert grid_of(rows).tolist() == [0.125, 0.0625, 0.0]
    assert not grid_of([*rows, np.array([-0.1, -0.2713, -0.9876])]).any()
    assert not grid_of([np.array([-1.3]), np.array([-1.5])]).any()


def test_rounded_logprobs_name_no_finer_scheme() -> None:
    # Oracle: two decimals round away what bf16 deviates by; golden weights must not become something else.
    made = [world(seed, noise=0.004) for seed in range(20)]
    found = [matched(one, np.round(one.served(None), 2)) for one in made]
    assert all(one.step == 0.01 for one in found)
    assert all(next(iter(one.families)) == FAITHFUL for one in found)


def test_posteriors_add_up_and_every_prompt_counts_once() -> None:
    made = world(5)
    found = matched(made, made.served("Q4_0"))
    assert_allclose(sum(one.posterior for one in found.schemes), 1.0)
    assert_allclose(sum(found.families.values()), 1.0)
    assert (found.n, found.n_clusters) == (20, 20)


def test_an_empty_bank_leaves_golden_and_unexplained() -> None:
    made = world(6)
    found = matched(made, made.served("Q4_0"), without=tuple(VARIANTS))
    assert found.schemes[0].name == UNEXPLAINED
    assert found.nearest is None


def test_whitened_distances_are_those_of_the_definition() -> None:
    # Oracle: |x - g x_h|^2 computed from vectors whitened with the identity (one hypothesis: shrunk to it wholly).
    rng = np.random.default_rng(0)
    seen, other = [rng.normal(size=6)], [rng.normal(size=6)]
    space = space_of(seen, [other])
    x, y = seen[0] - seen[0].mean(), other[0] - other[0].mean()
    assert_allclose(space.distance(0, 0.5), np.sum((x - 0.5 * y) ** 2) * space.predicted[0, 0] / np.sum(y**2))


def test_the_step_of_rounding_is_seen() -> None:
    assert step_of([np.array([-0.25, -1.51])]) == 0.01
    assert step_of([np.array([-0.25, -1.5])]) == 0.25
    assert step_of([np.array([-1.0, -7.0])]) == 1.0
    assert step_of([np.array([-0.1234567891])]) == 0.0

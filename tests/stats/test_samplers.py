"""Oracles: a density sums to 1 over the vocabulary; samplers written down by hand; Ville's bound on false alarms."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import quad

from monitor.stats.eprocess import mixture_process
from monitor.stats.ranks import discrete_pit
from monitor.stats.samplers import (
    PENALTIES,
    RULES,
    STRAY_SHARES,
    TEMPERATURES,
    Drawn,
    Rule,
    penalty_log_ratios,
    rule_log_ratios,
    stray_log_ratios,
    surprisal_variance,
    temperature_interval,
)

Floats = NDArray[np.float64]
VOCABULARY = 40


def kept(rule: Rule, p: Floats) -> int:
    """How many of the most likely tokens a truncation keeps; `p` in descending order."""
    if rule.kind == "top_p":
        return int(np.searchsorted(np.cumsum(p), rule.value)) + 1
    if rule.kind == "top_k":
        return min(int(rule.value), p.size)
    return int((p >= rule.value * p[0]).sum())


def served(rule: Rule, p: Floats) -> Floats:
    """What a sampler draws from, by its definition."""
    q = p ** (1 / rule.value) if rule.kind == "temperature" else np.where(np.arange(p.size) < kept(rule, p), p, 0.0)
    return np.asarray(q / q.sum())


def log_norms(p: Floats) -> Floats:
    return np.array([
        np.log((p ** (1 / rule.value)).sum()) if rule.kind == "temperature" else np.log(p[: kept(rule, p)].sum())
        for rule in RULES
    ])  # fmt: skip


def golden(rng: np.random.Generator) -> Floats:
    """A distribution in descending order, sometimes peaked."""
    logits = np.sort(rng.normal(0, rng.uniform(0.5, 3), VOCABULARY))[::-1]
    p = np.exp(logits - logits.max())
    return np.asarray(p / p.sum())


def drawn_of(p: Floats, tokens: NDArray[np.int64]) -> Drawn:
    """`tokens` (ranks) drawn at one position with distribution `p`."""
    above = np.concatenate([[0.0], np.cumsum(p)[:-1]])
    size = tokens.size
    return Drawn(
        logprob=np.log(p[tokens]), rank=tokens.astype(float), mass_above=above[tokens],
        top1_logprob=np.full(size, np.log(p[0])), log_norms=np.tile(log_norms(p), (size, 1)),
    )  # fmt: skip


def joined(parts: list[Drawn]) -> Drawn:
    names = ("logprob", "rank", "mass_above", "top1_logprob", "log_norms")
    return Drawn(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


def stream(seed: int, rule: Rule | None, n: int = 300) -> Drawn:
    """`n` tokens at `n` positions, drawn by `rule`, plainly without."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(n):
        p = golden(rng)
        token = rng.choice(VOCABULARY, p=p if rule is None else served(rule, p))
        parts.append(drawn_of(p, np.array([token])))
    return joined(parts)


@pytest.mark.parametrize("seed", range(5))
def test_every_rule_is_a_density(seed: int) -> None:
    """The expectation under golden of each ratio is the sum over the vocabulary of the rule's density: 1."""
    p = golden(np.random.default_rng(seed))
    ratios = np.exp(rule_log_ratios(drawn_of(p, np.arange(VOCABULARY))))
    assert p @ ratios == pytest.approx(np.ones(len(RULES)), abs=1e-9)


def test_a_temperature_is_the_ratio_of_the_tempered_density_to_golden() -> None:
    p = golden(np.random.default_rng(1))
    ratios = np.exp(rule_log_ratios(drawn_of(p, np.arange(VOCABULARY))))
    for at, value in enumerate(TEMPERATURES):
        assert ratios[:, at] == pytest.approx(served(Rule("temperature", value), p) / p)


@pytest.mark.parametrize("mass", [0.0, 0.2, 0.9, 1.0])
def test_every_penalty_is_a_density(mass: float) -> None:
    """Said before or not: two outcomes with golden probabilities `mass` and the rest."""
    ratios = np.exp(penalty_log_ratios([1.0, 0.0], [mass, mass]))
    assert np.array([mass, 1 - mass]) @ ratios == pytest.approx(np.ones(len(PENALTIES)))


@pytest.mark.parametrize("which", range(len(STRAY_SHARES)))
def test_strays_are_a_density_on_the_unit_interval(which: int) -> None:
    """Numerical integration: at most 1, and 1 but for what is capped close to 1."""
    total = sum(
        quad(lambda x: float(np.exp(stray_log_ratios([1 - np.exp(-x)])[0, which]) * np.exp(-x)), low, low + 4)[0]
        for low in range(0, 40, 4)
    )
    assert 0.97 < total <= 1 + 1e-6


@pytest.mark.parametrize(
    ("true", "kind"),
    [
        (Rule("temperature", 0.7), "temperature"), (Rule("temperature", 1.3), "temperature"),
        (Rule("top_p", 0.9), "top_p"), (Rule("top_k", 5), "top_k"), (Rule("min_p", 0.1), "min_p"),
    ],
)  # fmt: skip
def test_the_rule_behind_the_tokens_is_the_likeliest(true: Rule, kind: str) -> None:
    ratios = rule_log_ratios(stream(3, true, n=600))
    best = RULES[int(ratios.sum(axis=0).argmax())]
    assert best.kind == kind
    assert best.value == pytest.approx(true.value, rel=0.15)  # the neighbour on the grid of temperatures may win
    assert mixture_process(ratios).final > np.log(1000)


def test_false_alarms_at_every_look() -> None:
    """Ville: under plain sampling each process ever reaches 20 with probability at most 5% (120 worlds)."""
    alarms = np.zeros(3)
    for seed in range(120):
        drawn, rng = stream(seed, None, n=150), np.random.default_rng(seed)
        pit = discrete_pit(drawn.mass_above, np.exp(drawn.logprob), rng=rng)
        mass = rng.uniform(0, 0.5, 150)
        said = (rng.random(150) < mass).astype(float)
        found = (rule_log_ratios(drawn), penalty_log_ratios(said, mass), stray_log_ratios(pit))
        alarms += [mixture_process(ratios).peak >= np.log(20) for ratios in found]
    assert alarms.max() <= 14


@pytest.mark.parametrize("value", [0.6, 0.85, 1.0, 1.25])
def test_the_temperature_lies_in_its_interval(value: float) -> None:
    """Also between the grid values, where ln Z is interpolated."""
    found = temperature_interval(stream(7, Rule("temperature", value), n=800))
    assert found.low < value < found.high
    assert found.high - found.low < 0.35


def test_variance_of_surprisal_is_that_of_the_distribution() -> None:
    """The second derivative of ln Z in 1 / T at T = 1."""
    p = golden(np.random.default_rng(2))
    surprisal = -np.log(p)
    variance = p @ surprisal**2 - (p @ surprisal) ** 2
    assert surprisal_variance(drawn_of(p, np.arange(3))) == pytest.approx(variance, rel=0.02)


def test_impossible_input_is_refused() -> None:
    drawn = drawn_of(golden(np.random.default_rng(0)), np.arange(4))
    with pytest.raises(ValueError, match="`rank` must be as long"):
        replace(drawn, rank=np.zeros(3))
    with pytest.raises(ValueError, match="`log_norms` must be finite"):
        replace(drawn, log_norms=np.full((4, len(RULES)), np.nan))
    with pytest.raises(ValueError, match="equally long"):
        penalty_log_ratios([0.0], [0.1, 0.2])

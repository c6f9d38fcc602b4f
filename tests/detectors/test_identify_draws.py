"""`identify` on text that was drawn at temperature 1."""

from dataclasses import replace

import numpy as np
import pytest

from monitor.detectors.identify import Identify
from monitor.results import Evidence, Verdict
from tests.detectors.made import AT
from tests.detectors.made_draws import drawn_evidence
from tests.detectors.made_identify import text_evidence


def judged(evidence: Evidence) -> Verdict:
    return Identify().run(evidence, at=AT, rng=np.random.default_rng(0))


def test_drawn_tokens_name_the_scheme() -> None:
    # Oracle: what was drawn from.
    found = judged(drawn_evidence("Q4_0", precision="bf16"))
    assert (found.status, found.cause, found.n) == ("fail", "weights: Q4_0", 480)
    assert "480 tokens of text, 480 of them drawn at temperature 1" in found.reason
    assert (found.details["by"], found.details["n_drawn"], found.details["sampler"]) == ("text", 480, None)


def test_golden_weights_do_not_fail_by_what_was_drawn() -> None:
    # Oracle: type I error over seeds.
    found = [judged(drawn_evidence(seed=seed, precision="bf16")) for seed in range(8)]
    assert {one.status for one in found} <= {"pass", "inconclusive"}
    assert sum(one.details["sampler"] is not None for one in found) <= 1


@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.4])
@pytest.mark.parametrize("name", [None, "Q8_0"])
def test_another_sampler_is_not_taken_for_other_weights(name: str | None, temperature: float) -> None:
    # Oracle: what was drawn with.
    found = judged(drawn_evidence(name, temperature=temperature))
    assert found.status == "inconclusive"
    assert found.cause == "unexplained"
    kind, value = found.details["sampler"].split()
    assert kind == "temperature"
    assert abs(float(value) - temperature) < 0.15
    assert "another sampler than was asked for" in found.reason


def test_what_was_to_be_drawn_otherwise_is_left_out() -> None:
    # Oracle: no likelihood is known of it.
    made = drawn_evidence("Q4_0")
    asked = tuple(replace(one, request=replace(one.request, temperature=0.7)) for one in made.exchanges if one.request)
    found = judged(replace(made, exchanges=asked))
    assert (found.status, found.cause) == ("inconclusive", "no_logprobs")


def test_where_golden_is_not_known_whole_nothing_drawn_is_looked_at() -> None:
    # Oracle: a server or pack knows its likeliest tokens only, so the sampler cannot be seen.
    made = drawn_evidence("Q4_0")
    views = {
        key: replace(view, positions=tuple(replace(one, mass_above=None, log_norms=()) for one in view.positions))
        for key, view in made.golden.items()
    }
    assert judged(replace(made, golden=views)).status == "inconclusive"


def test_greedy_text_and_drawn_text_are_weighed_together() -> None:
    greedy, drawn = text_evidence("Q4_0", n=4), drawn_evidence("Q4_0", n=8)
    views = {f"d{key}": replace(view, exchange_id=f"d{key}") for key, view in drawn.golden.items()}
    more = (replace(one, exchange_id=f"d{one.exchange_id}") for one in drawn.exchanges)
    both = replace(
        greedy, exchanges=(*greedy.exchanges, *more), golden={**greedy.golden, **views},
        predictions=tuple(
            replace(one, logprobs={**one.logprobs, **{f"d{key}": row for key, row in other.logprobs.items()}})
            for one, other in zip(greedy.predictions, drawn.predictions, strict=True)
        ),
    )  # fmt: skip
    found = judged(both)
    assert (found.cause, found.n, found.details["n_drawn"]) == ("weights: Q4_0", 48 + 192, 192)

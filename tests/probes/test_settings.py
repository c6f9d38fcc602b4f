"""Settings that make no sense are refused when the configuration is read, with the rule in the message."""

from typing import Any

import pytest

from probes.logprobs import Logprobs
from probes.speed import Speed


@pytest.mark.parametrize(
    ("probe", "settings", "rule"),
    [
        (Speed, {"n_requests": 0}, "at least 1"),
        (Speed, {"max_tokens": -1}, "at least 1"),
        (Speed, {"n_fresh": -1}, "between 0 and `n_requests`"),
        (Speed, {"n_requests": 2, "n_fresh": 3}, "between 0 and `n_requests`"),
        (Logprobs, {"top_k": 0}, "at least 1"),
        (Logprobs, {"greedy": -1}, "at least 0"),
        (Logprobs, {"one_token": 20, "greedy": 20}, "between 1 and 32"),
        (Logprobs, {"one_token": 0, "greedy": 0}, "between 1 and 32"),
    ],
)
def test_refused(probe: Any, settings: dict[str, int], rule: str) -> None:
    with pytest.raises(ValueError, match=rule):
        probe(**settings)

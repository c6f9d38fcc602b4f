"""What one run of a probe costs at most, known before it runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from monitor.types import Request

CHARS_PER_TOKEN = 4
TEMPLATE_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Cost:
    """Requests and tokens of one run. ``tokens_in`` is an estimate, ``tokens_out`` the upper bound asked for."""

    n_requests: int
    tokens_in: int
    tokens_out: int


def cost_of(requests: Sequence[Request]) -> Cost:
    """Add up `requests`: about 4 characters per prompt token, plus what a chat template adds."""
    chars = sum(len(str(message.get("content", ""))) for request in requests for message in request.messages)
    tokens_in = chars // CHARS_PER_TOKEN + TEMPLATE_TOKENS * len(requests)
    return Cost(len(requests), tokens_in, sum(request.max_tokens for request in requests))

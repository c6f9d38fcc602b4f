"""What a run would ask and cost at most: the dry run."""

from collections.abc import Sequence
from typing import Any

import orjson

from jobs.suite_asking import Asking
from monitor.suites.case import SuiteCase
from monitor.types import Endpoint
from probes.cost import CHARS_PER_TOKEN, TEMPLATE_TOKENS


def estimate(asking: Asking, cases: Sequence[SuiteCase], endpoint: Endpoint) -> dict[str, Any]:
    """Return requests, tokens and money of what is still to be asked. Prompt tokens are estimated, answers the most.

    ``usd`` is None where a price is unknown.
    """
    left = [
        case for case in cases for attempt in range(case.repeats)
        if (asking.mark(case), attempt) not in asking.answers
    ]  # fmt: skip
    chars = sum(len(orjson.dumps([list(case.messages), list(case.tools)])) for case in left)
    tokens_in = chars // CHARS_PER_TOKEN + TEMPLATE_TOKENS * len(left)
    tokens_out = sum(int(case.parameters["max_tokens"]) for case in left)
    prices = endpoint.price_in_usd, endpoint.price_out_usd
    usd = None if None in prices else (tokens_in * (prices[0] or 0) + tokens_out * (prices[1] or 0)) / 1e6
    return {
        "endpoint": endpoint.name, "cases": len(cases), "answered": len(asking.answers), "requests": len(left),
        "tokens_in": tokens_in, "tokens_out_most": tokens_out, "usd_most": usd,
    }  # fmt: skip

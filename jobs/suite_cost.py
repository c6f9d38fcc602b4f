"""What a run would ask and cost at most: the dry run."""

from collections.abc import Sequence
from typing import Any

import orjson

from jobs.suite_asking import Asking
from monitor.plurals import plural
from monitor.suites.case import SuiteCase
from monitor.suites.outcome import Terms, needs
from monitor.types import Endpoint
from probes.cost import CHARS_PER_TOKEN, TEMPLATE_TOKENS


def estimate(
    asking: Asking, cases: Sequence[SuiteCase], endpoint: Endpoint, terms: Terms, *, with_golden: bool
) -> dict[str, Any]:
    """Return requests, tokens and money of what is still to be asked. Prompt tokens are estimated, answers the most.

    ``usd`` is None where a price is unknown. ``golden`` is what golden would be asked beside it, as long as its weights
    are those of the answers that `asking` knows; None where golden is not asked. ``needs`` is what a verdict takes.
    """
    told = _amount([case for case, _ in asking.lacking(cases)])
    prices = endpoint.price_in_usd, endpoint.price_out_usd
    cost = told["tokens_in"] * (prices[0] or 0) + told["tokens_out_most"] * (prices[1] or 0)
    golden = _amount([case for case, _ in asking.lacking_golden(cases)])
    return {
        "endpoint": endpoint.name, "cases": len(cases), "answered": len(asking.answers), **told,
        "usd_most": None if None in prices else cost / 1e6,
        "golden": {"reference": endpoint.reference, **golden} if with_golden else None,
        "needs": needs(len(cases), terms),
    }  # fmt: skip


def words(cost: dict[str, Any]) -> str:
    """Return an estimate as people read it."""
    usd = "unknown (no prices)" if cost["usd_most"] is None else f"at most {cost['usd_most']:.4f} USD"
    own = f"{cost['endpoint']}: {plural(cost['cases'], 'case')}, {_amount_words(cost)}, cost {usd}"
    if cost["golden"] is None:
        return f"{own}\ngolden is not asked\n{cost['needs']}"
    return f"{own}\ngolden ({cost['golden']['reference']}): {_amount_words(cost['golden'])}\n{cost['needs']}"


def _amount(asked: Sequence[SuiteCase]) -> dict[str, int]:
    chars = sum(len(orjson.dumps([list(case.messages), list(case.tools)])) for case in asked)
    return {
        "requests": len(asked), "tokens_in": chars // CHARS_PER_TOKEN + TEMPLATE_TOKENS * len(asked),
        "tokens_out_most": sum(int(case.parameters["max_tokens"]) for case in asked),
    }  # fmt: skip


def _amount_words(one: dict[str, Any]) -> str:
    asked, most = plural(one["requests"], "request"), one["tokens_out_most"]
    return f"{asked}, about {one['tokens_in']} tokens in, at most {most} out"

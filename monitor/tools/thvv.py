"""The limits of Tencent's THVV on speed, as shares of the answers of a run that keep to them.

"P90 below 5 s" says that nine of ten answers start within 5 s, so the share of those is held against 0.9 and has an
interval. THVV does not say of which statistic its output rate is; here half of the answers must reach it. It loads the
endpoint on purpose, a run of ours does not: what fails here fails there, not the reverse.
Source: Tencent/TokenHub-Vendor-Verifier, README, acceptance criteria.
"""

from collections.abc import Sequence
from typing import NamedTuple

from monitor.results import Metric, Observation
from monitor.tools.graded import Graded
from monitor.tools.measures import rate_of
from monitor.wire.usage import read_usage

_SOURCE = "Tencent/TokenHub-Vendor-Verifier"


class Bucket(NamedTuple):
    """Prompts of `above` to below `below` tokens that no cache served; their answers start within ``limit_s``."""

    label: str
    above: int
    below: int
    limit_s: float

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return f"thvv_ttft_{self.label}"


_EDGES = (0, 6_000, 16_000, 32_000, 64_000, 128_000, 256_000)
BUCKETS: tuple[Bucket, ...] = tuple(
    Bucket(f"{below // 1000}k", above, below, limit)
    for above, below, limit in zip(_EDGES, _EDGES[1:], (5.0, 5.0, 8.0, 15.0, 35.0, 70.0), strict=False)
)
RATES: tuple[int, ...] = (10, 30, 100)
"""Output rates that are asked for, tokens a second."""

METRICS: tuple[Metric, ...] = (
    *(Metric(name=one.metric, unit="share", better="higher", source=_SOURCE,
             definition=f"Answers that start within {one.limit_s:g} s / streamed answers to prompts of {one.above:,} "
                        f"to {one.below:,} tokens that no cache served.") for one in BUCKETS),
    *(Metric(name=f"thvv_otps_{rate}", unit="share", better="higher", source=_SOURCE,
             definition=f"Answers of {rate} tokens a second or more / streamed answers with a rate.")
      for rate in RATES),
)  # fmt: skip


def observed(graded: Sequence[Graded]) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`; answers that were not timed well stay out."""
    timed = [
        one for one in graded
        if one.form == "stream" and one.exchange.answered and one.exchange.measurement == "valid"
    ]  # fmt: skip
    return (
        *(rate_of(bucket.metric, [_starts_in_time(one, bucket) for one in timed]) for bucket in BUCKETS),
        *(rate_of(f"thvv_otps_{rate}", [None if (tps := one.exchange.tps) is None else tps >= rate for one in timed])
          for rate in RATES),
    )  # fmt: skip


def _starts_in_time(one: Graded, bucket: Bucket) -> bool | None:
    counted, ttft_ms = read_usage(one.exchange.usage or {}), one.exchange.ttft_ms
    tokens = counted.input_total if counted.uncached is None else counted.uncached  # who counts no hits has none
    if tokens is None or ttft_ms is None or not bucket.above <= tokens < bucket.below:
        return None
    return ttft_ms < 1000 * bucket.limit_s

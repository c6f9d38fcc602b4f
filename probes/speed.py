"""How fast does the endpoint answer?

Sends: `n_requests` streamed chat requests, one after the other, each beginning with a number that no request had
before, so that no prefix cache can flatter the time to the first token. The first `n_fresh` open a connection each, the
others use one that is kept alive; every exchange records which it was.
Costs: 5 requests, about 150 tokens in and 64 tokens out each.
What can mislead it: a prompt this short says little about long prefills; a busy prober (then the exchange is marked
and left out); an endpoint that sends several tokens per event (TPOT accounts for it when usage says so).
Source: TTFT and TPOT as in DESIGN section 5; one unique prompt per run as Artificial Analysis does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

import numpy as np

from monitor.lanes import Lane
from monitor.ports import Client, ProbeContext, ProbeResult
from monitor.results import Metric, Observation
from monitor.types import Exchange, Request
from probes.ask import ask
from probes.cost import Cost, cost_of

TEXT = (
    "You are reading item {nonce} of a long list. Think of a small town by the sea in winter: the harbour, the shops "
    "that stay open, the people who remain, the sounds at night and the first boat in the morning. Write a calm and "
    "detailed description of an ordinary day there, from waking up to going to sleep, in full sentences."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    """Speed of single streams."""

    kind: ClassVar[str] = "speed"
    version: ClassVar[int] = 2
    lane: ClassVar[Lane] = "latency"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric(name="ttft_ms_p50", unit="ms", better="lower", source="DESIGN section 5",
               definition="Median time from the first byte of the request to the first event with a token payload, "
                          "over requests on a connection that had served before; over all where none was kept."),
        Metric(name="ttft_fresh_ms_p50", unit="ms", better="lower", source="DESIGN section 5",
               definition="The same over requests on a new connection, whose opening is not counted."),
        Metric(name="tpot_ms_p50", unit="ms", better="lower", source="DESIGN section 5",
               definition="Median over requests of decode window / (tokens - tokens of the first event)."),
        Metric(name="tps_p50", unit="tokens/s", better="higher", source="DESIGN section 5",
               definition="Median over requests of the decode rate, 1000 / TPOT."),
        Metric(name="connect_ms_p50", unit="ms", better="lower", source="DESIGN section 5",
               definition="Median time to open a connection (DNS and TCP), over requests that opened one."),
        Metric(name="success_rate", unit="share", better="higher", source="DESIGN section 5",
               definition="Requests with a complete answer / requests, k of n."),
    )  # fmt: skip

    n_requests: int = 5
    """Requests per run."""
    max_tokens: int = 64
    """Tokens to ask for in each answer."""
    n_fresh: int = 1
    """How many of the requests, the first ones, open a connection of their own. The others reuse one if they can."""

    def __post_init__(self) -> None:
        if self.n_requests < 1 or self.max_tokens < 1:
            raise ValueError("`n_requests` and `max_tokens` must be at least 1")
        if not 0 <= self.n_fresh <= self.n_requests:
            raise ValueError("`n_fresh` must be between 0 and `n_requests`")

    def requests(self, seed: int) -> tuple[Request, ...]:
        """Build the requests; the numbers in them follow from `seed`."""
        nonces = np.random.default_rng(seed).integers(10**9, 10**10, size=self.n_requests)
        return tuple(
            Request(
                prompt_id=f"speed-{index}",
                messages=({"role": "user", "content": f"{nonce}: " + TEXT.format(nonce=nonce)},),
                max_tokens=self.max_tokens,
                temperature=0.0,
                fresh_connection=index < self.n_fresh,
            )
            for index, nonce in enumerate(nonces)
        )

    def cost(self) -> Cost:
        """What one run costs at most."""
        return cost_of(self.requests(0))

    async def run(self, client: Client, context: ProbeContext) -> ProbeResult:
        """Ask one request at a time, so that the endpoint and the prober serve nothing else of ours."""
        captures, exchanges = await ask(client, self.requests(context.seed), context, limit=1)
        return ProbeResult(captures=captures, exchanges=exchanges, observations=observe(exchanges))


def observe(exchanges: Sequence[Exchange]) -> tuple[Observation, ...]:
    """Reduce exchanges to the metrics of the probe; exchanges with invalid timings stay out of the medians.

    A new connection sends more slowly at first, so the two kinds are never mixed in one median of TTFT.
    """
    timed = [exchange for exchange in exchanges if exchange.answered and exchange.measurement == "valid"]
    fresh = [exchange for exchange in timed if exchange.reused is False]
    kept = [exchange for exchange in timed if exchange.reused is not False]
    n_answered = sum(exchange.answered for exchange in exchanges)
    return (
        _median("ttft_ms_p50", [exchange.ttft_ms for exchange in kept or fresh]),
        _median("ttft_fresh_ms_p50", [exchange.ttft_ms for exchange in fresh]),
        _median("tpot_ms_p50", [exchange.tpot_ms for exchange in timed]),
        _median("tps_p50", [exchange.tps for exchange in timed]),
        _median("connect_ms_p50", [exchange.connect_ms for exchange in timed]),
        Observation(
            metric="success_rate", n=len(exchanges), k=n_answered,
            value=n_answered / len(exchanges) if exchanges else None,
        ),
    )  # fmt: skip


def _median(metric: str, values: Sequence[float | None]) -> Observation:
    known = [value for value in values if value is not None]
    if not known:
        return Observation(metric=metric, value=None, n=0, reason="no answer with a valid measurement of it")
    return Observation(metric=metric, value=median(known), n=len(known))


PROBE = Speed

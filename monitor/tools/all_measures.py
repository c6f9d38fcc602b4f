"""All metrics of tool calls at once: ours and those of other verifiers."""

from collections.abc import Sequence

from monitor.results import Metric, Observation
from monitor.tools import bfcl, fragments, k2vv, measures, minimax, openrouter, thvv
from monitor.tools.graded import Graded

METRICS: tuple[Metric, ...] = (
    *measures.METRICS, *k2vv.METRICS, *minimax.METRICS, *openrouter.METRICS, *bfcl.METRICS,
    *thvv.METRICS, *fragments.METRICS,
)  # fmt: skip


def all_observed(graded: Sequence[Graded], *, id_pattern: str | None = None) -> tuple[Observation, ...]:
    """Return one observation per card of `METRICS`; ids of calls are held against `id_pattern`."""
    own = measures.observed(graded, id_pattern=id_pattern)
    others = (k2vv, minimax, openrouter, bfcl, thvv, fragments)
    return (*own, *(one for verifier in others for one in verifier.observed(graded)))

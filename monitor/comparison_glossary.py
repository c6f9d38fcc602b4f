"""Words of a report that not everybody knows: those that stand in it, with what they mean."""

import re
from collections.abc import Iterable, Iterator

from monitor.comparison import Comparison
from monitor.comparison_causes import MEANINGS
from monitor.comparison_schemes import schemes_in
from monitor.comparison_weights import ladder_text
from monitor.faults.catalogue import CATALOGUE

_TERMS = (
    ("pass", "nothing was found wrong, as far as was measured; of detectors that look for faults: none was shown"),
    ("suspect", "beyond what is tolerated, not far enough to fail"),
    ("inconclusive", "could not be decided, which is no pass"),
    (
        "nats",
        "unit of a divergence, by natural logarithms: at 0.24 golden's tokens are on average 1.27 x less likely",
    ),
    ("tied", "the intervals leave open which of them is better"),
    (
        "joint evidence",
        "log of an e-value, evidence since the last pass or the first look: by chance above x with at most e^-x",
    ),
    ("would page", "with so much joint evidence an alert goes out, at as few false ones as the whole fleet may give"),
    ("posterior", "probability of a scheme once the answers were seen, out of all known schemes and “none of these”"),
    ("TTFT", "time to first token, in milliseconds"),
    ("Tokens per second", "of one stream, after the first token"),
    ("broken_tool_call", "a complete answer whose tool call cannot be parsed"),
    ("coarser", "posterior of all schemes with fewer bits than declared, or that change something else than bits"),
    ("truncated", "the connection closed before the answer was complete"),
    ("rate_limited", "refused for too many requests (HTTP 429): not the endpoint's fault, not counted"),
    ("http_5xx", "the endpoint answered with an error of its own"),
    ("stream_unasked", "a sign of bad_framing: a stream came although none was asked for"),
    ("accounting", "detector: are prompts as many tokens long as golden's template and tokenizer make them?"),
    ("availability", "detector: were answers complete and usable?"),
    ("fidelity", "detector: joins the evidence on what is served over all runs"),
    ("faults", "detector: does a complete answer break the protocol?"),
    ("shape", "detector: are answers longer, looped or mixed, beside earlier ones or golden's?"),
    (
        "identify",
        "detector: which known way to change the weights explains the answers, their text where logprobs are missing?",
    ),
    ("logprob_fidelity", "detector: how far are next-token probabilities from golden's?"),
    ("logprob_history", "detector: have probabilities changed since earlier runs?"),
    ("speed_shift", "detector: has the endpoint become slower or faster?"),
)


def glossary(comparison: Comparison) -> list[tuple[str, str]]:
    """Terms that stand in a report, each with its meaning; last the places from which was asked."""
    text = "\n".join(_texts(comparison))
    if not text:
        return []
    terms = (
        *_TERMS, *((name, f"cause: {meaning}") for name, meaning in MEANINGS.items()),
        *((one.name, f"{one.title}: {one.symptom}") for one in CATALOGUE),
    )  # fmt: skip
    found = [(term, meaning) for term, meaning in terms if re.search(rf"(?<![\w-]){re.escape(term)}\b", text)]
    return [*found, *_merged(schemes_in(text)), *((place, "the place from which was asked, as configured (`vantage`)")
                      for place in comparison.vantages)]  # fmt: skip


def _merged(schemes: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Names of the same stand together: ``f16, F16``."""
    named: dict[str, list[str]] = {}
    for name, meaning in schemes:
        named.setdefault(meaning, []).append(name)
    for meaning, names in named.items():
        yield ", ".join(names), meaning


def _texts(comparison: Comparison) -> Iterator[str]:
    for model in comparison.models:
        yield from (*model.words, *model.limits, ladder_text(model))
        yield from (one.measure.title for one in model.rankings)
        yield from (rung.name for rung in (model.ladder.rungs if model.ladder else ()))
        for row in model.rows:
            yield from (*row.limits, *row.causes, row.endpoint.precision or "")
            yield from (f"{one.cause} {one.reason}" for one in row.incidents)
            yield "" if row.identified is None else row.identified.name
            for told in row.verdicts:
                yield f"{told.detector} {told.status} {told.reason} {told.statistic.partition('_')[0]}"

"""How things are called and how numbers are written: pure text, no Streamlit.

Names follow DESIGN section 4; every label has a definition for its tooltip.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from monitor.results import Status

DASH = "\N{EN DASH}"
"""Stands where nothing was measured."""

Colour = Literal["green", "orange", "red", "gray"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a status looks: a symbol beside the colour, so that colour is never the only carrier."""

    symbol: str
    colour: Colour
    meaning: str


MARKS: dict[Status, Mark] = {
    "pass": Mark(symbol="✓", colour="green", meaning="within what the check allows"),
    "suspect": Mark(symbol="?", colour="orange", meaning="outside what the check allows, but not yet certain"),
    "fail": Mark(symbol="✗", colour="red", meaning="outside what the check allows, beyond doubt"),
    "inconclusive": Mark(symbol=DASH, colour="gray", meaning="the check could not decide; this is not a pass"),
}

UNJUDGED = Mark(symbol=DASH, colour="gray", meaning="no verdict yet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What a detector or a metric is called on the pages, its unit, and what it means."""

    title: str
    definition: str
    unit: str = ""


ALWAYS = ("availability", "accounting", "fidelity", "logprob_fidelity")
"""Detectors that have a column before they have judged anything."""

DETECTORS: dict[str, Label] = {
    "availability": Label(
        title="Availability",
        definition="Share of requests that brought a complete answer. Rate limits, wrong keys and other ends that are "
        "no fault of the endpoint are reported apart.",
    ),
    "accounting": Label(
        title="Token accounting",
        definition="Whether the endpoint bills the prompt tokens that the golden template and tokenizer give for the "
        "same messages. A constant difference points to another template or a hidden system prompt.",
    ),
    "logprob_fidelity": Label(
        title="Logprob fidelity",
        definition="Mean divergence KL(golden || endpoint) of the next-token distributions, in nats, against the band "
        "that faithful engines of the declared precision stay in.",
    ),
    "fidelity": Label(
        title="Fidelity",
        definition="The joint evidence of all detectors that compare with golden, over the runs since the last pass. "
        "It pages so that the whole fleet has at most the configured number of false alarms in a month.",
    ),
    "border": Label(
        title="Border prompts",
        definition="Share of prompts, chosen where golden weights are nearly undecided, that the endpoint begins "
        "otherwise. Faithful engines hardly ever do, degraded weights mostly do.",
    ),
    "logprob_history": Label(
        title="Logprob history",
        definition="Difference of the next-token logprobs from those of the endpoint's own earlier runs, in nats per "
        "token, beside the nearest backend that answered before.",
    ),
    "greedy_flips": Label(
        title="Greedy flips",
        definition="Share of tokens at temperature 0 that golden, given the words before, likes clearly less than its "
        "own choice.",
    ),
    "logprob_profile": Label(
        title="Logprob profile",
        definition="How the divergence from golden runs along the answer: a level points at the weights, growth at the "
        "KV cache, an odd start at the template.",
    ),
    "sampler": Label(
        title="Sampler",
        definition="Temperature that explains the sampled tokens best, where 1 was asked for; truncations and "
        "penalties show too.",
    ),
    "two_sample": Label(
        title="Two samples",
        definition="Whether sampled answers and golden answers to the same prompts could come from one model, by their "
        "text alone.",
    ),
    "long_context": Label(
        title="Long context",
        definition="Whether long prompts reach the model whole and are read as golden reads them, cold and from the "
        "prefix cache.",
    ),
    "identify": Label(
        title="Identification",
        definition="Which of the known ways to change the golden weights explains the endpoint's deviations best.",
    ),
    "faults": Label(
        title="Faults",
        definition="Share of complete answers that show a certain fault of the catalogue: framing, fields, finish "
        "reasons, tool calls or counts that are wrong under the policy of this kind of server.",
    ),
    "shape": Label(
        title="Shape",
        definition="Lengths, loops, empty answers, other scripts and endings beside golden's answers to the same "
        "prompts, or the endpoint's own past.",
    ),
    "parameters": Label(
        title="Parameters",
        definition="Share of the features (max_tokens, stop, seed, response_format, ...) that do what they say, told "
        "from behaviour. What is refused does not count.",
    ),
    "speed_shift": Label(
        title="Speed shift",
        definition="Time to first token and time per token of the newest runs over those of earlier runs at the same "
        "time of day.",
    ),
}  # fmt: skip

METRICS: dict[str, Label] = {
    "ttft_ms_p50": Label(
        title="TTFT p50", unit="ms",
        definition="Time to first token, median: from the first byte of the request on an open connection to the "
        "first event that carries a token in any channel.",
    ),
    "tps_p50": Label(
        title="TPS p50", unit="tok/s",
        definition="Output tokens per second while decoding, median: tokens after the first event over the time "
        "between the first and the last token.",
    ),
    "tpot_ms_p50": Label(title="TPOT p50", unit="ms", definition="Time per output token after the first, median."),
    "success_rate": Label(
        title="Success rate", unit="share",
        definition="Requests with a complete answer, of all requests of the run.",
    ),
    "kl_nats": Label(
        title="KL to golden", unit="nats",
        definition="Mean divergence KL(golden || endpoint) over the measured positions; 0 means the same distribution.",
    ),
    "prompt_token_match": Label(
        title="Prompt tokens", unit="share",
        definition="Share of requests whose billed prompt tokens equal the golden count.",
    ),
}  # fmt: skip


def detector_label(name: str) -> Label:
    """The label of a detector; one that is not known here is called by its own name."""
    return DETECTORS.get(name) or Label(title=_spaced(name), definition=f"The detector {plain(name)}.")


def metric_label(name: str) -> Label:
    """The label of a metric; one that is not known here is called by its own name."""
    return METRICS.get(name) or Label(title=_spaced(name), definition=f"The metric {plain(name)}.")


def _spaced(name: str) -> str:
    return spoken(name).capitalize()


def spoken(name: str) -> str:
    """Write an identifier such as a cause as words; what it names after a colon (``weights: Q4_0``) stays as it is."""
    layer, colon, named = name.partition(": ")
    return layer.replace("_", " ") + colon + named


_BREAKS = re.compile(r"[\s\x85\u2028\u2029]*[\t-\r\x85\u2028\u2029]\s*")
_MARKUP = re.compile(r"([!-/:-@\[-`{-~])")
_LINKS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
_JOINER = "\N{WORD JOINER}"


def plain(text: str) -> str:
    r"""Return Markdown that shows `text` as it is, in one line and with nothing to click.

    Labels, badges and captions of Streamlit are Markdown, and Markdown fetches images: what an endpoint says would
    become a beacon in the reader's browser. CommonMark 2.4: a backslash before ASCII punctuation makes it literal.
    Bare addresses are linked after escapes are gone (GFM autolinks), so an invisible joiner takes them apart.
    """
    return _MARKUP.sub(r"\\\1", _LINKS.sub(_JOINER, _BREAKS.sub(" ", text)))


def number(value: float | None) -> str:
    """Write a number with three significant digits; None is a dash, never 0."""
    if value is None:
        return DASH
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e6 or size < 1e-4:
        return f"{value:.2e}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{float(f'{value:.3g}'):g}"


def quantity(value: float | None, unit: str) -> str:
    """Write a number with its unit, a share in percent; None is a dash without unit."""
    if value is None:
        return DASH
    return rate(value, 1) if unit == "share" else f"{number(value)} {unit}".strip()


def interval(low: float | None, high: float | None, unit: str) -> str | None:
    """Write both ends of an interval in the scale of `quantity`, without the unit; None without an interval."""
    if low is None or high is None:
        return None
    if unit == "share":
        low, high = _percent(low), _percent(high)
    return f"[{number(low)}, {number(high)}]"


_NOTHING = 1e-9


def rate(k: float, n: int) -> str:
    """Write a rate in percent; an empty sample has none. What rounding alone left of 0 is 0."""
    return f"{number(_percent(k / n))} %" if n else DASH


def _percent(share: float) -> float:
    return 100 * share if abs(share) > _NOTHING else 0.0


def ago(at: datetime | None, now: datetime) -> str:
    """Say how long ago `at` was, in the largest unit that fits; None is "never"."""
    if at is None:
        return "never"
    seconds = (now - at).total_seconds()
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min"), (1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


def span(first: datetime, last: datetime) -> str:
    """Write a span of time in UTC; one instant where both are the same second."""
    ends = dict.fromkeys((stamp(first), stamp(last)))
    return f"{' to '.join(ends)} UTC"


def stamp(at: datetime | None) -> str:
    """Write an instant to the second in UTC; None is a dash."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if at is not None else DASH

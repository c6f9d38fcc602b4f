"""Answers as tables and as shaded tokens, golden beside the endpoint. Made of hostile text: all of it is escaped."""

from collections.abc import Iterable, Sequence

from dashboard.markup import Markup, data, figures, joined, table, tag
from dashboard.positions import Answer, Token
from dashboard.words import DASH, number
from monitor.plurals import plural

SHOWN_TOKENS = 400
"""Tokens of one answer that are shaded; the rest is counted."""

STRONG_NATS = 1.0
"""Divergence, or gap where there is none, from which a token has the full shade."""

_BREAKS = str.maketrans({"\n": "⏎\n", "\t": "⇥"})


def heat_map(answer: Answer) -> Markup:
    """The answer token by token: the shade is the divergence, an underline says that golden prefers another token."""
    shown = [_token(one) for one in answer.tokens[:SHOWN_TOKENS]]
    rest = len(answer.tokens) - len(shown)
    more = tag("span", f" … and {plural(rest, 'more token')}", class_="wm-soft") if rest > 0 else None
    shaded = tag("span", "shaded", style=_shade(0.6))
    legend = tag(
        "div",
        tag("span", "not shaded: as golden"),
        tag("span", shaded, f": further off, most at {STRONG_NATS:g} nat and more"),
        tag("span", tag("span", "underlined", class_="other"), ": golden prefers the token in brackets"),
        class_="wm-legend wm-tokens",
    )
    return joined([legend, tag("div", *shown, more, class_="wm-tokens wm-code wm-block", tabindex=0, role="region",
                               aria_label="Answer token by token")])  # fmt: skip


def _token(one: Token) -> Markup:
    weight = one.kl if one.kl is not None else one.gap
    said = one.text.translate(_BREAKS)
    instead = f"[{one.golden.translate(_BREAKS)}]" if one.golden is not None else None
    return tag(
        "span", data(said, most=80), tag("small", data(instead, most=80)) if instead else None,
        class_="other" if instead else None, style=_shade((weight or 0.0) / STRONG_NATS), title=_told(one),
    )  # fmt: skip


def _shade(share: float) -> str | None:
    """Orange in the background, at most so strong that text stays readable on light and dark."""
    percent = round(55 * min(max(share, 0.0), 1.0) ** 0.5)
    return f"background:color-mix(in srgb, #e69f00 {percent}%, transparent)" if percent > 4 else None


def _told(one: Token) -> str:
    parts = [
        f"token {one.place}", f"KL {number(one.kl)} nats", f"endpoint's logprob {number(one.endpoint_logprob)}",
        f"golden's {number(one.golden_logprob)}",
    ]  # fmt: skip
    rank = [] if one.rank is None else [f"golden's rank {one.rank}"]
    return ", ".join([*parts, *rank])


def differing(answer: Answer) -> Markup | None:
    """The tokens where golden prefers another one, furthest first; None where there is none."""
    found = sorted((one for one in answer.tokens if one.golden is not None), key=lambda one: -(one.gap or 0.0))[:30]
    if not found:
        return None
    rows = [_pair(one) for one in found]
    heads = (
        "Place",
        "Endpoint said",
        "Golden prefers",
        "Endpoint's logprob",
        "Golden's logprob",
        "Gap, nats",
        "KL, nats",
    )
    return table(heads, rows, label="Tokens where golden prefers another one")


def _pair(one: Token) -> list[Markup]:
    said, preferred = (tag("td", data(text, most=60), class_="wm-code") for text in (one.text, one.golden or ""))
    told = _numbers(one.endpoint_logprob, one.golden_logprob, one.gap, one.kl)
    return [*figures(str(one.place)), said, preferred, *told]


def prompts(answers: Sequence[Answer]) -> Markup:
    """One row per answer, furthest from golden first."""
    heads = ("Prompt", "Outcome", "Tokens", "Mean KL, nats", "Same as golden", "Prompt billed", "golden's", "Remark")
    return table(heads, [_prompt(one) for one in answers], label="Answers, furthest from golden first")


def _prompt(one: Answer) -> Iterable[Markup]:
    same, n = one.same
    name = one.exchange.request.prompt_id if one.exchange.request else ""
    differs = one.billed_prompt is not None and one.view.prompt_tokens not in {None, one.billed_prompt}
    billed = f"{one.billed_prompt if one.billed_prompt is not None else DASH}{' ≠' if differs else ''}"
    golden = str(one.view.prompt_tokens) if one.view.prompt_tokens is not None else DASH
    return (
        tag("td", data(name, most=80)), tag("td", one.exchange.outcome), *figures(str(len(one.tokens)), number(one.kl)),
        *figures(f"{same} of {n}" if n else DASH, billed, golden), tag("td", data(one.view.problem or "", most=160)),
    )  # fmt: skip


def _numbers(*values: float | None) -> list[Markup]:
    return figures(*(number(value) for value in values))

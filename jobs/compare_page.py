"""The comparison report as HTML and as Markdown. What endpoints said is text in both, whatever it says."""

import re
from collections.abc import Collection
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from jobs.compare_charts import NARROW, forest
from jobs.verdict_table import SYMBOLS
from monitor import comparison_cells as cells
from monitor import comparison_verdicts as verdicts
from monitor.comparison import Comparison, ModelComparison
from monitor.comparison_causes import incident_title
from monitor.comparison_figures import estimate_text, one_line, place_text, span_text, stamp, visible
from monitor.comparison_glossary import glossary
from monitor.comparison_measures import measure
from monitor.comparison_weights import ladder_text, served
from monitor.comparison_words import advice, order_text, scope, sections
from monitor.plurals import plural
from monitor.results import Status

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&!])")
_LINKS = re.compile(r"(?<=:)(?=//)|(?<=www)(?=\.)|(?<=@)", re.IGNORECASE)
_JOINER = "\N{WORD JOINER}"


def html(comparison: Comparison) -> str:
    """Return the report as one HTML document that loads nothing."""
    made = _environment(escaped=True)
    # Our own file: nothing in it comes from elsewhere.
    css = Markup(_template("report.css"))  # noqa: S704
    return made.get_template("report.html").render(css=css, **_known(comparison))


def status_page(comparison: Comparison, *, title: str, shown: Collection[str]) -> str:
    """Return the public page as one HTML document that loads nothing; it shows the measures named in `shown`."""
    css = Markup(_template("report.css"))  # noqa: S704
    known = _known(comparison) | {"title": title, "shown": shown}
    return _environment(escaped=True).get_template("status.html").render(css=css, **known)


def markdown(comparison: Comparison) -> str:
    """Return the report as Markdown."""
    return _tidy(_environment(escaped=False).get_template("report.md").render(**_known(comparison)))


def _tidy(text: str) -> str:
    """Return Markdown without more than one empty line in a row, ending in one line break."""
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def title_of(comparison: Comparison) -> str:
    """The heading of a report."""
    names = [model.model for model in comparison.models]
    n = sum(len(model.rows) for model in comparison.models)
    shown = names[0] if len(names) == 1 else f"{len(names)} models"
    return f"{plural(n, 'endpoint')} of {shown} compared" if names else "Nothing to compare"


def _environment(*, escaped: bool) -> Environment:
    # `finalize` sees every value that is printed; markup is ours alone. Markdown has escapes of its own: `as_markdown`.
    made = Environment(
        loader=FunctionLoader(_template), autoescape=escaped,  # noqa: S701
        undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True, finalize=_seen,
    )  # fmt: skip
    made.filters |= {"md": as_markdown, "fenced": fenced}
    return made


def _seen(value: Any) -> Any:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _template(name: str) -> str:
    return files("jobs").joinpath("report_templates", name).read_text(encoding="utf-8")


def _known(comparison: Comparison) -> dict[str, Any]:
    def chart(model: ModelComparison, name: str) -> Markup:
        wide = forest(model, measure(name))
        # One for each width: letters of a picture that shrinks with the screen cannot be read.
        return wide + forest(model, measure(name), NARROW) if wide else wide

    def symbol(status: Status) -> str:
        return SYMBOLS[status][0]

    return {
        "comparison": comparison, "title": title_of(comparison), "all_measures": cells.measured(comparison),
        "chart": chart, "advice": advice, "scope": scope, "sections": sections, "served": served,
        "ladder_text": ladder_text, "glossary": glossary(comparison), "switch_note": cells.switch_note,
        "measures": cells.measures, "symbol": symbol, "plural": plural, "estimate": estimate_text,
        "place": cells.shown_place, "place_text": place_text,
        "order": cells.order,
        "value": cells.value, "ends": cells.ends, "counted": cells.counted, "apart": cells.apart,
        "rests_on": verdicts.rests_on, "incident_title": incident_title,
        "order_text": order_text, "span": span_text, "stamp": stamp, "effect": verdicts.effect,
        "threshold": verdicts.threshold, "change": cells.change, "percent": cells.percent, "times": cells.times,
        "thousand": cells.thousand, "tokens": cells.tokens, "billed": cells.billed, "n_billed": cells.n_billed,
        "money": cells.money, "outcomes": cells.outcomes, "rungs": cells.rungs,
        "examples": cells.examples, "fault": cells.fault,
        "far": cells.far, "wrong_since": cells.wrong_since, "way_out": cells.way_out, "switches": cells.switches,
    }  # fmt: skip


def as_markdown(text: str) -> Markup:
    r"""Return Markdown that shows `text` as it is, in one line and with nothing to click.

    CommonMark 2.4: a backslash before ASCII punctuation makes it literal. Bare addresses would become links (GFM), so
    an invisible joiner takes them apart.
    """
    return Markup(_LINKS.sub(_JOINER, _MARKUP.sub(r"\\\1", one_line(text))))  # noqa: S704


def fenced(text: str) -> Markup:
    """Return `text` as a code block whose fence is longer than any in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return Markup(f"{fence}text\n{visible(text)}\n{fence}")  # noqa: S704

"""Reports for a CI: JUnit XML and a Markdown summary. Names of private cases are not in them."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from jobs.suite_shown import Line, Shown, facts, group_words

_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")


def junit(result: Shown) -> str:
    """Return JUnit XML: one test for the verdict, and one for each case.

    The verdict alone makes the file red: a wrong answer within what faithful endpoints show is skipped, with why.
    """
    red = result.outcome.status in {"fail", "suspect"}
    tests = [_verdict(result), *(_case(line, result, red=red) for line in result.lines)]
    rows = "".join(f"    <property name={_attribute(name)} value={_attribute(', '.join(rest))} />\n"
                   for name, *rest in _groups(result))  # fmt: skip
    properties = f"  <properties>\n{rows}  </properties>\n" if rows else ""
    text = "".join(tests)
    counts = {kind: text.count(f"<{kind} ") for kind in ("failure", "error", "skipped")}
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuite name={_attribute(f'{result.suite} {result.mark}')} tests=\"{len(tests)}\" "
        f'failures="{counts["failure"]}" errors="{counts["error"]}" skipped="{counts["skipped"]}" '
        f"timestamp={_attribute(result.started_at)} hostname={_attribute(result.endpoint)}>\n"
        f"{properties}{text}</testsuite>\n"
    )


def markdown(result: Shown) -> str:
    """Return a summary for a pull request or a job page."""
    rows = "".join(f"| {_plain(name)} | {_plain(value)} |\n" for name, value in facts(result))
    lost = [one for one in result.lines if one.lost]
    cases = "".join(
        f"| {_plain(one.name)} | {one.k}/{one.n} | {one.golden_k}/{one.golden_n} | {_plain(', '.join(one.why))} |\n"
        for one in lost
    )
    groups = "".join(f"| {' | '.join(map(_plain, row))} |\n" for row in map(group_words, result.groups))
    by_tag = f"\n| tag or family | cases | right | golden | against golden |\n|---|---|---|---|---|\n{groups}"
    table = f"\n| case | right | golden | why |\n|---|---|---|---|\n{cases}" if lost else ""
    return (
        f"## {_plain(result.suite)} on {_plain(result.endpoint)}: {result.outcome.status}\n\n"
        f"{_plain(result.outcome.reason)}\n\n| what | value |\n|---|---|\n{rows}{by_tag if groups else ''}{table}\n"
        f"Suite hash `{result.mark}`, run `{result.run}`, started {_plain(result.started_at)}.\n"
    )


def _groups(result: Shown) -> Iterator[tuple[str, str, str, str]]:
    """Rows of the groups as properties: name, and what stands for itself without a head of a table."""
    for name, _, right, golden, points in map(group_words, result.groups):
        yield name, right, f"golden {golden}", f"against golden {points}"


def _verdict(result: Shown) -> str:
    status, reason = result.outcome.status, result.outcome.reason
    tag = {"fail": "failure", "suspect": "failure", "inconclusive": "error"}.get(status)
    inner = "" if tag is None else f"<{tag} message={_attribute(f'{status}: {reason}')} />"
    return f'  <testcase classname={_attribute(result.suite)} name="verdict">{inner}</testcase>\n'


def _case(line: Line, result: Shown, *, red: bool) -> str:
    inner = ""
    if line.k < line.n or not line.n:
        golden = "" if line.golden_n is None else f", golden {line.golden_k} of {line.golden_n}"
        message = _attribute(f"right {line.k} of {line.n}{golden}: {', '.join(line.why)}")
        inner = f"<failure message={message} />" if red and line.lost else f"<skipped message={message} />"
    return f"  <testcase classname={_attribute(result.suite)} name={_attribute(line.name)}>{inner}</testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_UNPRINTABLE.sub("?", text))


def _plain(text: str) -> str:
    """Text without markup: names are the customer's, but a page must not be broken by them."""
    return _MARKUP.sub(r"\\\1", escape(" ".join(_UNPRINTABLE.sub("?", text).split())))

"""What is code in a text. Oracle: CommonMark 0.31, 4.4, 4.5 and 6.1, by hand; `x` is code and `T` is text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.tools.code_blocks import without_code

ROWS = [
    ("T `x` T", "a span"), ("T ``x ` x`` T", "a span that holds a backtick"),
    ("T ` T", "one backtick"), ("lone ``` T\nT", "three backticks within a line, and no more"),
    ("```py\nx\n```\nT", "a fence"), ("~~~\nx\n~~~\nT", "a fence of tildes"),
    ("T: ```json\nx\n```\nT", "a fence that opens behind text"), ("T ```\nT", "one that nothing closes"),
    ("````\n```\nx\n```\nx\n````\nT", "a longer fence around a shorter"), ("```\nx\nx", "a fence to the end"),
    ("T\n\n    x\n\n    x\nT", "indented"), ("T\n \n\tx", "by a tab"), ("    T", "nothing before it"),
    ("T\n    T", "a paragraph that goes on"),
    ("<pre>x\nx</pre> T", "HTML"), ("<code class='a'>x</code>", "with an attribute"),
    ("<pre>T", "a tag that does not end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "about"), ROWS)
def test_code_is_blanked_out_and_text_is_not(text: str, about: str) -> None:
    left = without_code(text)
    assert "x" not in left, about
    assert left.count("T") == text.count("T"), about
    assert len(left) == len(text)
    assert left.count("\n") == text.count("\n")


@given(st.text(alphabet="`~ab \t\n<>pre/code", max_size=200))
def test_every_sign_keeps_its_place(text: str) -> None:
    left = without_code(text)
    assert len(left) == len(text)
    assert all(ours in {" ", theirs} for ours, theirs in zip(left, text, strict=True))


@pytest.mark.parametrize(
    "text",
    ["`" * 200_000, " ".join("`" * k for k in range(600)), "<pre>" * 50_000, "x```\n" * 50_000, "```\n" * 50_000,
     "a\n\n    b\n" * 30_000, "<code>" * 20_000 + "</code>" * 20_000, "` " * 100_000],
)  # fmt: skip
@pytest.mark.timeout(60)
def test_hostile_text_takes_seconds_at_most(text: str) -> None:
    """One that takes time by the square of its length needs many minutes for these."""
    assert len(without_code(text)) == len(text)

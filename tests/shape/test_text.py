"""Numbers of texts. Oracles: the definitions, counted by hand or by the slow way."""

import random

import pytest

from monitor.shape import is_loop
from monitor.shape_text import cycle_at_end, foreign_share, scripts, text_shape


def slow_cycle(ids: list[int]) -> tuple[int, int]:
    best = (0, 0)
    for period in range(1, len(ids) // 3 + 1):
        repeats = 1
        block = ids[-period:]
        while ids[-period * (repeats + 1) : -period * repeats] == block:
            repeats += 1
        if repeats >= 3 and period * repeats > best[0] * best[1]:
            best = (period, repeats)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_cycle_is_that_of_the_slow_way(seed: int) -> None:
    rng = random.Random(seed)
    block = [rng.randrange(4) for _ in range(rng.randrange(1, 9))]
    ids = [rng.randrange(4) for _ in range(40)] + block * rng.randrange(1, 12)
    period, repeats = cycle_at_end(ids)
    expected = slow_cycle(ids)
    assert period * repeats == expected[0] * expected[1]
    if period:
        assert ids[-period * repeats :] == ids[-period:] * repeats


@pytest.mark.parametrize(
    ("text", "period", "repeats"),
    [("a b c. a b c. a b c. a b c.", 4, 4), ("no no no no", 1, 4), ("one two three", 0, 0), ("", 0, 0)],
)
def test_cycles_of_texts(text: str, period: int, repeats: int) -> None:
    shape = text_shape(text)
    assert (shape.loop_period, shape.loop_repeats) == (period, repeats)


def test_chinese_has_a_piece_per_character() -> None:
    shape = text_shape("\u4eca\u5929\u5f88\u597d" * 15)
    assert (shape.pieces, shape.loop_period, shape.loop_repeats) == (60, 4, 15)
    assert is_loop(shape, cut=False)


@pytest.mark.parametrize(
    ("text", "cut", "loop"),
    [
        ("Well. " + "and so on " * 30, True, True),
        ("Well. " + "and so on " * 30, False, True),
        ("".join(f"| {n} | 2 |\n" for n in range(30)), False, False),
        ("a long answer " * 2 + " ".join(str(n) for n in range(400)) + " ha" * 45, False, False),
        ("a long answer " * 2 + " ".join(str(n) for n in range(400)) + " ha" * 45, True, True),
        ("ha " * 20, True, False),
        ("".join(f"And then item {n} of the list came by. " for n in range(60)), True, True),
        ("".join(f"And then item {n} of the list came by. " for n in range(60)), False, False),
    ],
)
def test_loops(text: str, *, cut: bool, loop: bool) -> None:
    assert is_loop(text_shape(text), cut=cut) is loop


def test_repeated_4_grams_and_compression() -> None:
    """Words 0..9 four times: 37 4-grams, of which 10 are new."""
    shape = text_shape(" ".join(f"w{n}" for n in range(10)) + (" " + " ".join(f"w{n}" for n in range(10))) * 3)
    assert shape.rep_4 == pytest.approx(1 - 10 / 37)
    looped, plain = text_shape("and so on " * 100), text_shape(" ".join(str(n * n) for n in range(200)))
    assert looped.compression is not None
    assert plain.compression is not None
    assert looped.compression > 2.4 > plain.compression
    assert text_shape("short").compression is None


def test_scripts() -> None:
    assert scripts("ab\u4e00\u4e8c") == {"latin": 0.5, "han": 0.5}
    assert scripts("\u0434\u0430 1 2 3") == {"cyrillic": 1.0}
    assert scripts("12 !") == {}
    assert scripts("\u0e01") == {"thai": 1.0}
    assert scripts("\u16a0") == {"other": 1.0}


@pytest.mark.parametrize(
    ("answer", "question", "share"),
    [
        ("das ist \u4e00\u4e8c", "was ist das?", 2 / 8),
        ("\u043a\u0433 is a unit", "what is \u043a\u0433?", 0.0),
        ("OK, \u3053\u308c\u306f\u4e00", "\u4e00\u4e8c", 0.0),
        ("plain words", "\u4e00\u4e8c?", 0.0),
    ],
)
def test_foreign_letters(answer: str, question: str, share: float) -> None:
    assert foreign_share(scripts(answer), scripts(question)) == pytest.approx(share)


def test_a_million_characters_take_bounded_work() -> None:
    """Only the end is searched for cycles: the numbers of the end are the same."""
    text = "and so on " * 100_000
    assert text_shape(text).loop_period == 3
    assert text_shape(text).pieces == 300_000

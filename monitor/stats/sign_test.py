"""Of things that two sides disagree about, does one side have more than the other?

The exact test of matched pairs: given how many pairs disagree, each is as likely to go either way (Q. McNemar,
Psychometrika 12 (1947), 153-157; exact: the binomial distribution with p = 1/2).
"""

from scipy.stats import binom


def more_of_first(first: int, second: int) -> float:
    """Return the p-value of the first side having no more: `first` and `second` pairs are there on one side only."""
    return float(binom.sf(first - 1, first + second, 0.5))


def as_many(first: int, second: int) -> float:
    """Return the p-value of both sides having as many; 1 where none disagree."""
    return min(1.0, 2 * more_of_first(max(first, second), min(first, second)))

"""What two endpoints bill for the same requests: by the tokens that each of them counts."""

from collections.abc import Iterator, Mapping, Sequence

from monitor.comparison import RequestSize, Row
from monitor.comparison_facts import Bill

Asked = tuple[str, str]
"""A probe and the hash of its parameters: what asks the same questions of everybody."""


def sizes(old: Row, new: Row, rows: Sequence[Row]) -> tuple[RequestSize | None, RequestSize | None]:
    """Mean tokens that `old` and `new` bill for a request, over what both were asked; None where that is not known.

    Each question weighs as often as it was put to the two, so who was asked more of the long ones is not the dearer.
    Where one of them reports no tokens, golden's count of the prompts (of whoever in `rows` counts as golden does) and
    the other's answers stand in.
    """
    mine, theirs = _bills(old), _bills(new)
    if mine and theirs:
        weights = {key: mine[key].n + theirs[key].n for key in sorted(mine.keys() & theirs.keys())}
        return _size(mine, weights), _size(theirs, weights)
    known = mine or theirs
    weights = {key: bill.n for key, bill in known.items()}
    size, stand_in = _size(known, weights), _stand_in(known, weights, rows)
    return (size, stand_in) if mine else (stand_in, size)


def _bills(row: Row) -> Mapping[Asked, Bill]:
    return {(bill.probe, bill.params_sha256): bill for bill in row.bills}


def _size(bills: Mapping[Asked, Bill], weights: Mapping[Asked, int]) -> RequestSize | None:
    if not weights:
        return None
    return RequestSize(
        tokens_in=_mean({key: bills[key].tokens_in / bills[key].n for key in weights}, weights),
        tokens_out=_mean({key: bills[key].tokens_out / bills[key].n for key in weights}, weights), reported=True,
        n=sum(weights.values()),
    )  # fmt: skip


def _stand_in(known: Mapping[Asked, Bill], weights: Mapping[Asked, int], rows: Sequence[Row]) -> RequestSize | None:
    """What golden would count for the prompts, with the answers of `known`."""
    golden = next(_golden(rows, weights), None)
    if golden is None:
        return None
    tokens_in, tokens_out = _size(golden, weights), _size(known, weights)
    assert tokens_in is not None and tokens_out is not None  # noqa: S101, PT018  # there are weights
    return RequestSize(tokens_in=tokens_in.tokens_in, tokens_out=tokens_out.tokens_out, reported=False, n=tokens_out.n)


def _golden(rows: Sequence[Row], weights: Mapping[Asked, int]) -> Iterator[Mapping[Asked, Bill]]:
    """The bills of those who count prompts as golden does, and were asked all of it."""
    for row in rows:
        bills = _bills(row)
        if weights and row.estimates["prompt_match"].value == 1.0 and weights.keys() <= bills.keys():
            yield bills


def _mean(values: Mapping[Asked, float], weights: Mapping[Asked, int]) -> float:
    return sum(values[key] * n for key, n in weights.items()) / sum(weights.values())

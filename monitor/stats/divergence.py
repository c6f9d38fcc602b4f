"""Divergences between a distribution that is known whole and one known only at its top-k."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from monitor.stats.checks import Floats, vector

MIN_REST = 1e-9
"""Smallest mass of the rest bucket: below it, sums of rounded probabilities are noise."""


def tail_bucket_kl(golden: ArrayLike, endpoint: ArrayLike) -> float:
    """KL(golden || endpoint) in nats over the endpoint's listed tokens plus one bucket for all the rest.

    Parameters
    ----------
    golden, endpoint
        Shape (k,), natural-log probabilities of the *same* k tokens. Never renormalised: both rests are
        ``1 - sum(exp)``, floored at `MIN_REST`.

    Notes
    -----
    By the data-processing inequality this is a lower bound of the KL over the whole vocabulary; dropping or
    renormalising the tail instead hides temperature (38% of the effect is left at k = 20) or turns negative.
    """
    p, q = _pair(golden, endpoint)
    rest_p, rest_q = _rest(p), _rest(q)
    return max(0.0, _listed_kl(p, q) + rest_p * float(np.log(rest_p / rest_q)))


def capped_kl(golden: ArrayLike, endpoint: ArrayLike, unlisted: ArrayLike) -> float:
    """Tighter lower bound of the KL, which also uses that no unlisted token beats the least listed one.

    Parameters
    ----------
    golden, endpoint
        As for `tail_bucket_kl`.
    unlisted
        Shape (u,): golden logprobs of tokens that the endpoint did *not* list, for instance golden's own top ones.

    Notes
    -----
    The smallest KL over all endpoint distributions that fit what was returned: each unlisted token gets
    ``min(c p, least listed q)``, the rest one bucket, with c such that masses add up. At least `tail_bucket_kl`; much
    more when golden's first choice is missing from the list. Assumes that the endpoint lists its k likeliest tokens.
    An *upper* bound of this KL cannot exist: an unlisted token may have any endpoint probability down to 0. For
    two-sided bounds see `truncated_bounds`.
    """
    p, q = _pair(golden, endpoint)
    hidden = np.sort(np.exp(vector("unlisted", unlisted, high=1e-6)))[::-1]
    rest_q, cap = _rest(q), float(np.exp(q.min()))
    other = max(_rest(p) - float(hidden.sum()), MIN_REST)
    # With the j likeliest unlisted tokens at the cap, what is left of the mass is shared in proportion to golden.
    left = rest_q - cap * np.arange(hidden.size + 1)
    factor = left / (other + np.append(np.cumsum(hidden[::-1])[::-1], 0.0))
    fits = (left > 0) & (np.append(hidden, 0.0) * factor <= cap)
    if not fits.any():
        return tail_bucket_kl(golden, endpoint)
    j = int(np.argmax(fits))
    assigned = np.where(np.arange(hidden.size) < j, cap, hidden * factor[j])
    seen = hidden > 0
    tail = float((hidden[seen] * np.log(hidden[seen] / assigned[seen])).sum() - other * np.log(factor[j]))
    return max(0.0, _listed_kl(p, q) + tail)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedBounds:
    """What top-k logprobs say about whole distributions: total variation in [0, 1], Jensen-Shannon in nats."""

    tv_low: float
    tv_high: float
    js_low: float
    js_high: float


def truncated_bounds(golden: ArrayLike, endpoint: ArrayLike) -> TruncatedBounds:
    """Bounds of total variation and of the Jensen-Shannon divergence; arguments as for `tail_bucket_kl`.

    Notes
    -----
    Low: the unlisted tokens as one bucket (data processing). High: the two rests have no token in common, which adds
    ``min(rest_p, rest_q)`` to the total variation, and ln 2 times each half rest to Jensen-Shannon (J. Lin, IEEE Trans.
    Inf. Theory 37 (1991), 145-151).
    """
    p, q = _pair(golden, endpoint)
    rest_p, rest_q = max(0.0, 1 - float(np.exp(p).sum())), max(0.0, 1 - float(np.exp(q).sum()))
    tv = (float(np.abs(np.exp(p) - np.exp(q)).sum()) + abs(rest_p - rest_q)) / 2
    listed = float(_js_terms(np.exp(p), np.exp(q)).sum())
    shared = float(_js_terms(np.array([rest_p]), np.array([rest_q])).sum())
    return TruncatedBounds(
        tv_low=tv, tv_high=min(1.0, tv + min(rest_p, rest_q)), js_low=max(0.0, listed + shared),
        js_high=max(0.0, min(float(np.log(2)), listed + (rest_p + rest_q) / 2 * float(np.log(2)))),
    )  # fmt: skip


def _pair(golden: ArrayLike, endpoint: ArrayLike) -> tuple[Floats, Floats]:
    p, q = np.asarray(golden, dtype=np.float64), np.asarray(endpoint, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 1 or p.size == 0:
        raise ValueError(f"`golden` and `endpoint` must be equal-length vectors, not {p.shape} and {q.shape}")
    if not (np.isfinite(p).all() and np.isfinite(q).all()):
        raise ValueError("`golden` and `endpoint` must be finite: masked values are left out before")
    return p, q


def _rest(logprobs: Floats) -> float:
    return max(1.0 - float(np.exp(logprobs).sum()), MIN_REST)


def _listed_kl(p: Floats, q: Floats) -> float:
    return float((np.exp(p) * (p - q)).sum())


def _js_terms(p: Floats, q: Floats) -> Floats:
    middle = (p + q) / 2

    def half(x: Floats) -> Floats:
        ratio = np.divide(x, middle, out=np.ones_like(x), where=x > 0)
        return np.asarray(x * np.log(ratio) / 2)

    return np.asarray(half(p) + half(q))

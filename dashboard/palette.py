"""The colours of charts and pages.

After Okabe and Ito (2008), "Color Universal Design": told apart with any colour vision, on light and dark. Symbols or
words always stand beside them.
"""

from collections.abc import Mapping

from monitor.results import Status

BLUE, GREEN, ORANGE, RED, GRAY = "#2f8fd0", "#009e73", "#e69f00", "#d55e00", "#8a8f98"

STATUS: Mapping[Status, str] = {"pass": GREEN, "suspect": ORANGE, "fail": RED, "inconclusive": GRAY}

SERIES = (BLUE, ORANGE, GREEN, RED, "#cc79a7", GRAY)
"""For several lines of one chart, in this order; each has a name in the legend and dashes of its own."""

DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (4, 4), (1, 3))

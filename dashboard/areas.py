"""The areas of the overview (is it up, how fast, faithful, ...): verdicts and their past -> cells. No Streamlit."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.store_reader import EndpointNow
from dashboard.view import SEVERITY, effect_text
from dashboard.words import detector_label, spoken
from monitor.results import Status, Verdict
from monitor.summary import NO_HISTORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """The worst status and the mean effect of one detector in one bucket of time."""

    status: Status
    effect: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Since when a detector says what it says now. ``changed`` False: for all of the window, so since before."""

    endpoint: str
    detector: str
    since_at: datetime
    changed: bool
    cells: tuple[Past | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """One question about an endpoint, and the detectors that answer it; what speaks first comes first."""

    name: str
    title: str
    question: str
    detectors: tuple[str, ...]


AREAS = (
    Area(name="up", title="Up", question="Do requests bring complete answers?", detectors=("availability",)),
    Area(name="speed", title="Speed", question="Is it as fast as it was?", detectors=("speed_shift",)),
    Area(
        name="fidelity", title="Fidelity", question="Are these the weights that are declared?",
        detectors=("logprob_fidelity", "identify", "greedy_flips", "logprob_profile", "border", "sampler", "two_sample",
                   "logprob_history", "long_context", "fidelity"),
    ),
    Area(name="tools", title="Tools", question="Do tool calls work?", detectors=("tool_calls",)),
    Area(
        name="shape", title="Shape", question="Are answers formed as they should be?",
        detectors=("shape", "faults", "parameters"),
    ),
    Area(name="accounting", title="Accounting", question="Are tokens counted right?", detectors=("accounting",)),
)  # fmt: skip

SUITE = Area(
    name="suite", title="Suite", question="Are private cases answered as well as golden answers them?",
    detectors=("suite",),
)  # fmt: skip
"""Shown only where there is a private suite. Its verdict holds numbers alone: no names, no words."""

OTHER = Area(name="other", title="Other", question="What else was judged?", detectors=())


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaCell:
    """What an area of an endpoint looks like. ``status`` None: nothing was judged.

    ``since_at`` is when the verdict began to say so, None where that is not known; ``before`` says that it was longer
    than the store was asked about. ``past`` is that of the verdict that is shown.
    """

    area: Area
    status: Status | None
    verdict: Verdict | None = None
    why: str = ""
    effect: str = ""
    since_at: datetime | None = None
    before: bool = False
    past: tuple[Past | None, ...] = ()


Standings = Mapping[tuple[str, str], Standing]


def areas_of(endpoints: Iterable[EndpointNow]) -> tuple[Area, ...]:
    """The columns: the areas, `SUITE` where one has been judged, and `OTHER` where a detector of none of them has."""
    judged = {verdict.detector for endpoint in endpoints for verdict in endpoint.verdicts}
    areas = (*AREAS, SUITE) if judged & set(SUITE.detectors) else AREAS
    rest = judged - {name for area in areas for name in area.detectors}
    other = Area(name=OTHER.name, title=OTHER.title, question=OTHER.question, detectors=tuple(sorted(rest)))
    return (*areas, other) if rest else areas


def area_cell(endpoint: EndpointNow, area: Area, standings: Standings) -> AreaCell:
    """The worst verdict of an area; of equal ones that of the detector that speaks first."""
    verdict = speaking(endpoint.verdicts, area)
    if verdict is None:
        return AreaCell(area=area, status=None)
    standing = standings.get((endpoint.endpoint, verdict.detector))
    named = spoken(verdict.cause) if verdict.cause and verdict.status != "pass" else ""
    return AreaCell(
        area=area, status=verdict.status, verdict=verdict, why=named or _by(verdict, area), effect=effect_text(verdict),
        since_at=standing.since_at if standing else None, before=standing is not None and not standing.changed,
        past=standing.cells if standing else (),
    )  # fmt: skip


def speaking(verdicts: Sequence[Verdict], area: Area) -> Verdict | None:
    """The verdict that stands for an area, None without any. One without a past to look at speaks only alone."""
    order = {name: place for place, name in enumerate(area.detectors)}
    mine = [verdict for verdict in verdicts if verdict.detector in order]
    if not mine:
        return None
    return min(
        mine, key=lambda one: (one.cause == NO_HISTORY, SEVERITY.index(one.status), order[one.detector])
    )  # fmt: skip


def _by(verdict: Verdict, area: Area) -> str:
    """Which detector it is, where an area has several."""
    return detector_label(verdict.detector).title if len(area.detectors) > 1 else ""

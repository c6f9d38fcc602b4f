"""Golden's own decisions about tools: its answers to the same cases, read by our parser of the model's family."""

from collections.abc import Iterable, Mapping, Sequence

from jobs.drawing import Drawn, draw_new
from monitor.ports import Detector, Scorer, Tokenizer
from monitor.results import RunRecord
from monitor.tools.calls import judged
from monitor.tools.case import case_id_of, case_of, parameters_of
from monitor.tools.draws import ToolDraws, WantsToolDraws
from monitor.types import Request
from reference.tool_parsers.families import family_of, parse

SEED = 20_261_130
_FREE = frozenset({None, "auto"})


def tool_draws(
    records: Sequence[RunRecord], scorer: Scorer, detectors: Iterable[Detector], drawn: Drawn | None = None
) -> Mapping[str, ToolDraws]:
    """Draw golden answers to the cases of `records`, by case; once per case, whatever its forms.

    Empty where no detector wants them, the golden side cannot draw, or the model's family of tool calls is not known
    (its name tells: ``reference``, else the model that requests name). Golden draws at temperature 1 and chooses
    freely, so only requests that do are asked. What `drawn` holds is not drawn again, and what is drawn is kept there.
    """
    wanting = [one for one in detectors if isinstance(one, WantsToolDraws)]
    kinds = {kind for one in wanting for kind in one.probes or ()}
    own = [record for record in records if record.run.probe in kinds]
    wanted = max((one.tool_draws for one in wanting), default=0)
    family = next((known for one in own if (known := _family(one)) is not None), None)
    asked = _asked(own)
    if not wanted or family is None:
        return {}
    found = draw_new(asked, scorer, wanted, {} if drawn is None else drawn, seed=SEED)
    return {name: _read(some, asked[name], scorer.tokenizer, family) for name, some in found.items()}


def _family(record: RunRecord) -> str | None:
    return family_of(record.run.reference or "") or family_of(record.run.model)


def _asked(records: Sequence[RunRecord]) -> dict[str, Request]:
    """One request per case that was answered, chooses freely and draws plainly."""
    requests = [one.request for record in records for one in record.exchanges if one.request and one.answered]
    return {
        case_id_of(request): request for request in requests
        if request.tools and draws_plainly(request) and is_free(request)
    }  # fmt: skip


def draws_plainly(request: Request) -> bool:
    """Whether `request` wants what golden draws: temperature 1, all of the distribution."""
    return request.temperature == 1 and request.top_p in {None, 1}


def is_free(request: Request) -> bool:
    """Whether `request` leaves it to the model whether to call a tool."""
    choice = case_of(request).tool_choice
    return not isinstance(choice, Mapping) and choice in _FREE


def _read(drawn: Sequence[Sequence[int]], request: Request, tokenizer: Tokenizer, family: str) -> ToolDraws:
    schemas = parameters_of(request.tools)
    calls, sound, n_cut = [], [], 0
    for ids in drawn:
        said = parse(tokenizer.decode(ids), family, request.tools)
        if not said.called and len(ids) >= request.max_tokens:
            n_cut += 1  # it might have called later
            continue
        calls.append(max(len(said.tool_calls), int(said.called)))
        sound.append(said.readable and all(judged(call, schemas).valid is not False for call in said.tool_calls))
    return ToolDraws(calls=tuple(calls), sound=tuple(sound), n_cut=n_cut)

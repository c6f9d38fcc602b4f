"""Who predicts what variants would say, and what they would have said where an endpoint answered."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from jobs.alignment import Aligned, align
from jobs.golden import default_home
from monitor.alternatives import alternatives
from monitor.config_types import ReferenceConfig
from monitor.detectors.identify import Identify
from monitor.errors import UsageError
from monitor.ports import Detector, Predictor, Scorer, ScoreTask
from monitor.results import GoldenView, Prediction, RunRecord
from monitor.types import Request

_CAUSES = {
    "weights": "weights", "template": "template", "tokenizer": "tokenizer", "sampler": "sampler", "cache": "kv_cache",
    "rope": "engine", "layers": "different_model", "checkpoint": "different_model",
}  # fmt: skip


def predictor_for(reference: ReferenceConfig, scorer: Scorer, report: Callable[[str], None]) -> Predictor:
    """Return what predicts variants of `reference`: its golden folder, or the pack that it is.

    Raises
    ------
    UsageError
        When the reference is a server, which computes with golden weights only.
    """
    from reference.engines.pack import PackEngine  # noqa: PLC0415
    from reference.pack_predictions import PackPredictions  # noqa: PLC0415

    if isinstance(scorer, PackEngine):
        return PackPredictions(scorer)
    if reference.engine != "torch":
        raise UsageError(
            f"a reference with the engine {reference.engine} cannot compute variants; identify needs a golden folder "
            "(engine torch) or a pack recorded with `weighmaster reference pack --variants`"
        )
    from reference.engine import TorchEngine  # noqa: PLC0415
    from reference.prediction_store import PredictionStore  # noqa: PLC0415
    from reference.predictions import Predictions  # noqa: PLC0415

    load = partial(
        TorchEngine.load, device=reference.device, dtype=reference.dtype, template_options=reference.template
    )
    return Predictions(
        golden=Path(reference.paths[0]), store=PredictionStore(kept_at(scorer, ".sqlite")), load=load, report=report,
        template_options=reference.template,
    )  # fmt: skip


def kept_at(scorer: Scorer, ending: str) -> Path:
    """Where what is predicted from these golden weights is kept."""
    return default_home(os.environ) / "predictions" / f"{scorer.fingerprint.digest[:12]}{ending}"


def bank_names(predictor: Predictor) -> list[str]:
    """The variants that `predictor` can speak of."""
    from reference.predictions import is_predictable  # noqa: PLC0415
    from reference.variants.bank import bank  # noqa: PLC0415

    recorded: Sequence[str] | None = getattr(predictor, "variants", None)
    return [name for name, variant in bank().items() if is_predictable(variant)] if recorded is None else [*recorded]


def wanted_names(predictor: Predictor, detectors: Sequence[Detector]) -> list[str]:
    """The variants that the detector `identify` wants to compare with, as far as `predictor` can speak of them.

    Raises
    ------
    UsageError
        When its setting ``variants`` names one that is not known.
    """
    detector = next((one for one in detectors if isinstance(one, Identify)), Identify())
    return known_of(bank_names(predictor), frozenset(detector.variants) or None)


def known_of(known: Sequence[str], wanted: frozenset[str] | None) -> list[str]:
    """Those of `known` that are `wanted`, all for None. Raises UsageError when something else is."""
    unknown = sorted((wanted or frozenset()) - set(known))
    if unknown:
        raise UsageError(f"detectors.identify.variants: {', '.join(unknown)} cannot be predicted; these can: "
                         f"{', '.join(known) or 'none'}")  # fmt: skip
    return [name for name in known if wanted is None or name in wanted]


def prepare(requests: Sequence[Request], scorer: Scorer, predictor: Predictor, names: Sequence[str]) -> None:
    """Predict the first token of all answers that will be asked for, so that nothing has to be loaded in between."""
    tasks = [
        ScoreTask(prompt_ids=tuple(scorer.tokenizer.prompt_ids(one.messages)), completion_ids=(0,), gather=((),))
        for one in requests
    ]
    predictor.predict(tasks, names, conversations=[one.messages for one in requests])


def predictions_of(
    records: Sequence[RunRecord], views: Mapping[str, GoldenView], scorer: Scorer, predictor: Predictor,
    names: Sequence[str],
) -> tuple[Prediction, ...]:  # fmt: skip
    """What the variants `names` would have said where the endpoints of `records` answered."""
    from reference.variants.bank import find  # noqa: PLC0415

    exchanges = [one for record in records for one in record.exchanges if one.answered and one.exchange_id in views]
    pairs = [(one, align(one, scorer.tokenizer)) for one in exchanges]
    kept = [(one, item) for one, item in pairs if item.task is not None and views[one.exchange_id].positions]
    tasks = [_listed(item, views[one.exchange_id], scorer) for one, item in kept]
    found = predictor.predict(
        tasks, names, conversations=[one.request.messages for one, _ in kept if one.request is not None]
    )  # fmt: skip
    seen = [views[one.exchange_id] for one, _ in kept]
    return tuple(
        Prediction(
            variant=name, family=find(name).family, cause=_CAUSES[find(name).changes],
            logprobs={view.exchange_id: tuple(tuple(map(float, rows[place.position])) for place in view.positions)
                      for view, rows in zip(seen, answers, strict=True)},
        )
        for name, answers in found.items()
    )  # fmt: skip


def _listed(item: Aligned, view: GoldenView, scorer: Scorer) -> ScoreTask:
    """The task with those tokens that are compared: the listed ones that golden knows, or what else may have been said.

    ``gather`` stays aligned with the answer: at a place that golden does not know, nothing is asked for.
    """
    task = item.task
    assert task is not None  # noqa: S101  # the caller looked
    places = {place.position: place for place in view.positions}
    known = _known(task, view, scorer)
    gather = tuple(
        () if t not in places else row if places[t].endpoint_top else tuple(alternatives(places[t]))
        for t, row in enumerate(known)
    )
    return ScoreTask(prompt_ids=task.prompt_ids, completion_ids=task.completion_ids, gather=gather)


def _known(task: ScoreTask, view: GoldenView, scorer: Scorer) -> Sequence[tuple[int, ...]]:
    """The listed tokens that golden knows, position by position."""
    if [len(place.endpoint_top) for place in view.positions] == [len(row) for row in task.gather]:
        return task.gather
    known = scorer.score([task])[0].gathered
    return [
        tuple(token for token, value in zip(row, values, strict=True) if not np.isnan(value))
        for row, values in zip(task.gather, known, strict=True)
    ]

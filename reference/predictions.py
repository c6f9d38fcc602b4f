"""What variants of the golden weights would say: their logprobs of given tokens, computed once and kept.

`reference.variant_engines` computes; another template or tokenizer makes other prompts of the same conversation for the
golden weights. Variants that these logprobs cannot show are left out: a context cut short (prompts here are short),
samplers other than a temperature, mixtures (ask for what is mixed).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from monitor.plurals import plural
from monitor.ports import Floats, Scores, ScoreTask
from reference.engines.local import LocalEngine
from reference.prediction_store import Known, PredictionStore, gathered, place_of, schemes_digest
from reference.tokenizer import GoldenTokenizer
from reference.variant_engines import AS_FOLDER, IN_MEMORY, OTHER_PROMPT, VariantEngines, tokenizer_of
from reference.variants.bank import find, spec_of
from reference.variants.sampler import Sampler
from reference.variants.variant import Variant

TOP, LATER_TOP = 1024, 32
"""Most likely tokens kept of each place: endpoints list the same ones, mostly. Fewer behind the first token of an
answer, where answers have parted and hardly anybody comes again."""

Conversation = Sequence[Mapping[str, Any]]


def is_predictable(variant: Variant) -> bool:
    """Whether logprobs at given tokens show `variant`, and this file can compute them."""
    if isinstance(variant, Sampler):
        return variant == Sampler(temperature=variant.temperature) and variant.temperature is not None
    return variant.changes in IN_MEMORY | AS_FOLDER | OTHER_PROMPT


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """Golden weights that predict their variants (port `monitor.ports.Predictor`).

    ``golden`` is the golden folder, ``store`` what was predicted before, ``load`` makes an engine of a folder (golden
    or that of a variant), ``report`` takes one line of progress, ``template_options`` are the reference's further
    variables of the chat template: variants of a template see them too.
    """

    golden: Path
    store: PredictionStore
    load: Callable[[Path], LocalEngine]
    report: Callable[[str], None] = lambda _line: None
    template_options: Mapping[str, Any] = field(default_factory=dict)
    _tokenizers: dict[str, GoldenTokenizer] = field(default_factory=dict, init=False, repr=False, compare=False)

    def predict(
        self, tasks: Sequence[ScoreTask], variants: Sequence[str], *, conversations: Sequence[Conversation] = ()
    ) -> dict[str, list[tuple[Floats, ...]]]:
        """Return by name of the variant, for each of `tasks`, the logprobs of the tokens in its ``gather``.

        Parameters
        ----------
        tasks : Sequence
            Prompts and answers in golden ids.
        variants : Sequence
            Names of the bank, or parameters written out; those that are not `is_predictable` are left out.
        conversations : Sequence
            The messages behind the prompt of each task; variants that render them otherwise are left out without.

        Raises
        ------
        UsageError
            When there is no such variant.
        GoldenError
            When a variant cannot be made of this model, or does not fit into memory.
        """
        chosen = [one for one in map(find, variants) if is_predictable(one)]
        if not conversations:
            chosen = [one for one in chosen if one.changes not in OTHER_PROMPT]
        with VariantEngines(self.golden, self.load) as engines:
            return {
                one.name: self._of(one, tasks, conversations, engines, f"{number} of {len(chosen)} variants")
                for number, one in enumerate(chosen, 1)
            }

    def _of(
        self, variant: Variant, tasks: Sequence[ScoreTask], conversations: Sequence[Conversation],
        engines: VariantEngines, where: str,
    ) -> list[tuple[Floats, ...]]:  # fmt: skip
        asked = tasks
        if variant.changes in OTHER_PROMPT:
            tokenizer = self._tokenizer(variant)
            prompts = [tuple(tokenizer.prompt_ids(one)) for one in conversations]
            asked = [replace(task, prompt_ids=ids) for task, ids in zip(tasks, prompts, strict=True)]
        # Whatever the prompt and the sampler are, the weights that read it are golden.
        computed_by = variant if variant.changes in IN_MEMORY | AS_FOLDER else Variant()
        known = self._known(computed_by, asked, engines, f"{variant.name} ({where})")
        scale = 1.0 / variant.temperature if isinstance(variant, Sampler) and variant.temperature else 1.0
        return [
            tuple(_row(known[_place(task, t)], ids, scale) for t, ids in enumerate(task.gather)) for task in asked
        ]

    def _known(
        self, variant: Variant, tasks: Sequence[ScoreTask], engines: VariantEngines, told: str
    ) -> dict[bytes, Known]:
        """What `variant` says at all places of `tasks`: looked up, else computed, which is `told`, and kept."""
        key = f"{spec_of(variant)}#{schemes_digest()}"
        places = {_place(task, t) for task in tasks for t in range(len(task.gather))}
        known = self.store.read(key, places)
        missing = [task for task in tasks if _lacks(task, known)]
        if missing:
            self.report(f"predicting {told}: {plural(len(missing), 'answer')}")
            with engines.of(variant) as engine:
                scores = engine.score([_bare(task) for task in missing], top_k=TOP)
            known |= self.store.write(key, _said(missing, scores, known))
        return known

    def _tokenizer(self, variant: Variant) -> GoldenTokenizer:
        """The tokenizer and template of `variant`, made once."""
        key = spec_of(variant)
        if key not in self._tokenizers:
            self._tokenizers[key] = tokenizer_of(self.golden, variant, self.template_options)
        return self._tokenizers[key]


def _place(task: ScoreTask, t: int) -> bytes:
    return place_of(task.prompt_ids, task.completion_ids[:t])


def _lacks(task: ScoreTask, known: Mapping[bytes, Known]) -> bool:
    """Whether a place of the task, or a token that is wanted there, is not known."""
    rows = [(known.get(_place(task, t)), ids) for t, ids in enumerate(task.gather)]
    return any(row is None or gathered(row, ids) is None for row, ids in rows)


def _bare(task: ScoreTask) -> ScoreTask:
    """The task up to its last position that something is wanted of."""
    return replace(task, completion_ids=task.completion_ids[: len(task.gather)], drawn=False)


def _said(
    tasks: Sequence[ScoreTask], scores: Sequence[Scores], known: Mapping[bytes, Known]
) -> dict[bytes, Known]:
    """All that is known of each place now; answers that begin alike share places, and each wants its own tokens.

    What was known stays as it was: scores depend a little on what is in a batch, and a verdict that was made of them
    must come out the same again.
    """
    said: dict[bytes, Known] = {}
    for task, score in zip(tasks, scores, strict=True):
        for t, ids in enumerate(task.gather):
            place = _place(task, t)
            kept = slice(TOP if t == 0 else LATER_TOP)
            top = zip(score.top_ids[t][kept].tolist(), score.top_logprobs[t][kept].tolist(), strict=True)
            asked = zip(ids, score.gathered[t].tolist(), strict=True)
            said[place] = {**dict(top), **dict(asked), **said.get(place, {}), **known.get(place, {})}
    return said


def _row(known: Known, ids: Sequence[int], scale: float) -> Floats:
    row = gathered(known, ids)
    assert row is not None  # noqa: S101  # it was computed a moment ago
    if scale == 1:
        return row
    everything = np.array(list(known.values())) * scale
    return np.asarray(row * scale - np.logaddexp.reduce(everything), dtype=np.float64)

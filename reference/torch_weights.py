"""Golden weights in torch: what reads tokens and says what comes next. The only file that computes.

What was read once can be gone on from by many sequences: its keys and values are remembered, and put in front of those
of each sequence layer by layer.
"""

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
import torch
import transformers
from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer
from transformers.modeling_outputs import BaseModelOutputWithPast

from monitor.errors import GoldenError
from monitor.ports import Floats
from reference.batches import Past, Row, Table, padded, padded_gather, predicting, said_before
from reference.memory import peak_rss_bytes
from reference.torch_scores import as_array, drawn_rows, score_rows

_SLICE_BYTES = {"cpu": 24 << 20, "cuda": 256 << 20}  # of logits; what a processor's caches take is fastest
# Their rotations depend on how long the whole sequence is, so no two sequences share what is remembered of a prefix.
_ROTATED_BY_LENGTH = ("dynamic", "longrope")
# transformers 5 renamed the argument and the output on the way.
_PAST = "cache" if hasattr(BaseModelOutputWithPast, "cache") else "past_key_values"


@dataclass(frozen=True, slots=True, eq=False)
class _Past:
    """Keys and values, each (1, heads, n_tokens, d), of every layer."""

    layers: tuple[tuple[torch.Tensor, torch.Tensor], ...]
    n_tokens: int


class _Layer(DynamicLayer):
    """One layer of what the rows of a batch have read: row i holds `states[which[i]]`, padded on the left.

    Put together when the layer is computed, and kept afterwards only if asked: so one layer at a time takes memory.
    """

    def __init__(self, states: Sequence[tuple[torch.Tensor, torch.Tensor]], which: torch.Tensor, *, keep: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._states, self._which, self._keep = states, which, keep

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Return all keys and values, those just read at the end."""
        if self.is_initialized:
            return super().update(key_states, value_states)
        keys, values = (self._all(part, new) for part, new in enumerate((key_states, value_states)))
        if self._keep:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values, self._states = keys, values, ()
        return keys, values

    def get_seq_length(self) -> int:
        """Return how many positions were read, padding included."""
        if self.is_initialized:
            return super().get_seq_length()
        return max((keys.shape[-2] for keys, _ in self._states), default=0)

    def _all(self, part: int, new: torch.Tensor) -> torch.Tensor:
        if not self._states:
            return new
        width = self.get_seq_length()
        rows = [torch.nn.functional.pad(one[part], (0, 0, width - one[part].shape[-2], 0)) for one in self._states]
        old = rows[0].expand(len(new), -1, -1, -1) if len(rows) == 1 else torch.cat(rows)[self._which.to(new.device)]
        return torch.cat([old, new], -2)


class _Rows:
    """What the rows of a batch have read so far: the first `pads[i]` of `width` positions of row i are padding."""

    def __init__(self, pasts: Sequence[Past | None], n_layers: int, *, keep: bool, device: torch.device) -> None:
        known = {id(past): cast("_Past", past) for past in pasts if past is not None}
        places = {key: place for place, key in enumerate(known)}
        which = torch.tensor([places.get(id(past), 0) for past in pasts])
        n_read = [past.n_tokens if past else 0 for past in pasts]
        self.width = max(n_read)
        self.pads = torch.tensor([self.width - n for n in n_read], device=device)
        self.cache = DynamicCache()
        self.cache.layers = [
            _Layer([past.layers[layer] for past in known.values()], which, keep=keep) for layer in range(n_layers)
        ]

    def select(self, places: Sequence[int]) -> None:
        """Go on with these rows only."""
        chosen = torch.tensor(places)  # on the processor: layers may be on different devices
        self.pads = self.pads[chosen.to(self.pads.device)]
        self.cache.batch_select_indices(chosen)


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _computing(method: _Method) -> _Method:
    """Give a method of `TorchWeights` the weights for itself; what exceeds the memory raises MemoryError."""

    @functools.wraps(method)
    def alone(self: "TorchWeights", *arguments: Any) -> Any:
        try:
            with self.busy, torch.inference_mode():
                return method(self, *arguments)
        except RuntimeError as error:
            if not isinstance(error, torch.OutOfMemoryError) and "allocate memory" not in str(error):
                raise
            message = str(error)
        torch.cuda.empty_cache()  # only here: the error held what it could not complete
        raise MemoryError(message)

    return cast("_Method", alone)


class TorchWeights:
    """A causal language model whose body and head run apart, so that only wanted positions get logits."""

    def __init__(self, model: transformers.PreTrainedModel) -> None:
        if model.base_model is model:
            raise GoldenError(f"{type(model).__name__}: an architecture whose body and head cannot be told apart")
        self.model = model
        self.busy = threading.RLock()
        config = model.config.get_text_config()
        self.n_vocab = int(config.vocab_size)
        self.context: int | None = getattr(config, "max_position_embeddings", None)
        self._n_layers = _n_shareable_layers(model.base_model, config)

    @property
    def shares(self) -> bool:
        """Whether what is remembered of a prefix can be used by several sequences."""
        return self._n_layers > 0

    @property
    def device(self) -> torch.device:
        """Where input is read."""
        return self.model.device

    def release(self) -> None:
        """Drop the weights."""
        with self.busy:
            self.model.to("meta")  # type: ignore[arg-type]  # transformers wraps `to` without types

    def peak_memory_bytes(self) -> int:
        """Return the most memory used so far: of the device, or of the whole process where the CPU computes."""
        is_cuda = self.device.type == "cuda"
        return int(torch.cuda.max_memory_allocated(self.device)) if is_cuda else peak_rss_bytes()

    @_computing
    def read(self, ids: Sequence[int], past: Any) -> tuple[Floats, Any]:
        """Read `ids` after what `past` has seen; return the logprobs (V,) of the next token, and the new past."""
        outputs = self._body(input_ids=self._tensor([ids]), use_cache=True, **{_PAST: past})
        logits = self._logits(outputs, outputs.last_hidden_state[0, -1:])
        return as_array(torch.log_softmax(logits[0], -1)), outputs[_PAST]

    @_computing
    def remember(self, runs: Sequence[Sequence[int]], past: Past | None) -> list[Past]:
        """Read each of `runs` after `past`; return what is remembered of both."""
        rows = self._rows([past] * len(runs), keep=True)
        self._read(runs, rows)
        ends = [(0 if past is None else past.n_tokens) + len(run) for run in runs]
        kept: Any = rows.cache.layers
        layers = [(layer.keys, layer.values) for layer in kept]
        return [
            _Past(tuple((keys[at : at + 1, :, :end], values[at : at + 1, :, :end]) for keys, values in layers), end)
            for at, end in enumerate(ends)
        ]

    @_computing
    def open(self, pasts: Sequence[Past]) -> _Rows:
        """Return rows that go on from `pasts`, for `step`."""
        return self._rows(pasts, keep=True)

    @_computing
    def step(self, ids: Sequence[int], rows: _Rows) -> Floats:
        """Read one more token in each of `rows`; return the logprobs (rows, V) of the next."""
        outputs = self._read([[identifier] for identifier in ids], rows)
        return as_array(torch.log_softmax(self._logits(outputs, outputs.last_hidden_state[:, -1]), -1))

    @_computing
    def score(self, rows: Sequence[Row], top_k: int) -> Table:
        """Score the answers of all `rows` in one forward of the body and as many slices of the head as fit."""
        tasks = [row.task for row in rows]
        outputs = self._read_once(rows)
        hidden = outputs.last_hidden_state[tuple(map(self._tensor, predicting(rows)))]
        targets = self._tensor([[identifier] for task in tasks for identifier in task.completion_ids])
        wanted = self._tensor(padded_gather(tasks))
        said = self._tensor(said_before(tasks))
        n_rows = max(1, _SLICE_BYTES.get(self.device.type, 64 << 20) // (4 * self.n_vocab))
        slices = zip(*(torch.split(part, n_rows) for part in (hidden, targets, wanted, said)), strict=True)
        parts = [
            self._score_slice(self._logits(outputs, states), goals, columns, before, top_k)
            for states, goals, columns, before in slices
        ]
        return Table(*map(np.concatenate, zip(*parts, strict=True)))

    def _score_slice(
        self, logits: torch.Tensor, goals: torch.Tensor, columns: torch.Tensor, said: torch.Tensor, top_k: int
    ) -> tuple[Any, ...]:
        """Score some rows; nothing of `said` is wanted where it has no columns."""
        drawn = drawn_rows(logits, goals, said) if said.shape[1] else ()
        return (*score_rows(logits, goals, columns, top_k), *drawn)

    def _rows(self, pasts: Sequence[Past | None], *, keep: bool) -> _Rows:
        return _Rows(pasts, self._n_layers, keep=keep, device=self.device)

    def _read_once(self, rows: Sequence[Row]) -> Any:
        runs, pasts = [row.unread for row in rows], [row.past for row in rows]
        if any(past is not None for past in pasts):
            return self._read(runs, self._rows(pasts, keep=False))
        ids, mask = map(self._tensor, padded(runs))
        return self._body(input_ids=ids, attention_mask=mask, use_cache=False)

    def _read(self, runs: Sequence[Sequence[int]], rows: _Rows) -> Any:
        ids, mask = map(self._tensor, padded(runs))
        pads = rows.pads[:, None]
        seen = torch.arange(rows.width, device=self.device) >= pads
        places = rows.width - pads + torch.arange(ids.shape[1], device=self.device)
        rows.width += ids.shape[1]
        return self._body(
            input_ids=ids, attention_mask=torch.cat([seen.long(), mask], 1), position_ids=places, use_cache=True,
            **{_PAST: rows.cache},
        )  # fmt: skip

    def _body(self, **given: Any) -> Any:
        """Return the outputs of the body, hidden states where input is read: a model may lie on several devices."""
        outputs = self.model.base_model(**given)
        outputs.last_hidden_state = outputs.last_hidden_state.to(self.device)
        return outputs

    def _logits(self, outputs: Any, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits (n, V) of hidden states (n, d), out of the model's own forward without its body.

        So whatever an architecture does to its logits (soft caps, scales) is done here too.
        """
        outputs.last_hidden_state = hidden.unsqueeze(0)
        ids = torch.zeros(outputs.last_hidden_state.shape[:2], dtype=torch.int64, device=hidden.device)
        with _answering(self.model.base_model, outputs):
            logits: torch.Tensor = self.model(input_ids=ids, use_cache=False).logits[0].float()
        if torch.isnan(logits.sum(1)).any():
            raise GoldenError("the golden model computes NaN; load it in float32, or build the folder again")
        return logits

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.int64, device=self.device)


@contextmanager
def _answering(body: torch.nn.Module, outputs: Any) -> Iterator[None]:
    """Let `body` return `outputs` without computing."""
    body.forward = lambda *_, **__: outputs
    try:
        yield
    finally:
        del body.forward


def _n_shareable_layers(body: Any, config: Any) -> int:
    """Return the number of layers if what each remembers of a prefix is only its keys and values, else 0."""
    layers = DynamicCache(config=config).layers
    plain = all(type(layer) in {DynamicLayer, DynamicSlidingWindowLayer} for layer in layers)
    takes_positions = "position_ids" in inspect.signature(body.forward).parameters
    rotation = str(getattr(config, "rope_parameters", None))
    by_length = any(f"'{name}'" in rotation for name in _ROTATED_BY_LENGTH)
    whole = len(layers) == config.num_hidden_layers
    return len(layers) if plain and whole and takes_positions and not by_length else 0

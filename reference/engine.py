"""The golden engine in torch: answers like an endpoint, and scores tokens by teacher forcing.

Runs any causal language model in a Hugging Face folder with safetensors weights. No speculation, no compiled graphs,
no quantised kernels: the plain forward is the reference.
"""

import asyncio
import importlib.metadata
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
import transformers
from safetensors import SafetensorError
from transformers.modeling_outputs import BaseModelOutputWithPast

from monitor.errors import GoldenError
from monitor.ports import Floats, Scores, ScoreTask
from monitor.results import Fingerprint
from monitor.types import Capture, Read, Request
from reference.answer import chat_body, request_body
from reference.batches import Rows, check, padded_gather, padded_inputs, plan, predicting, unanswered, unpack
from reference.fingerprint import SEAL, fingerprint, verify
from reference.folder import REBUILD, read_json, weight_files
from reference.generate import generate
from reference.tokenizer import GoldenTokenizer

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
"""Precisions of weights and arithmetic that can be asked for."""

_SLICE_BYTES = 64 << 20
# transformers 5 renamed the argument and the output on the way.
_PAST = "cache" if hasattr(BaseModelOutputWithPast, "cache") else "past_key_values"


def best_device() -> str:
    """Return the fastest device of this machine: ``cuda``, ``mps`` or ``cpu``."""
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


@dataclass(frozen=True, kw_only=True, eq=False)
class TorchEngine:
    """Golden weights that answer (port `Client`) and score (port `Scorer`). Made by `load`.

    One computation at a time: calls from several tasks and threads wait for each other. ``fingerprint`` says what
    exactly computes, ``tokenizer`` holds the tokenizer and template that belong to the weights.
    """

    fingerprint: Fingerprint
    tokenizer: GoldenTokenizer
    name: str
    _model: "_SplitModel"
    _rng: np.random.Generator
    _batch_tokens: int
    _progress: Callable[[int, int], None]
    _now: Callable[[], datetime]
    _busy: threading.Lock = field(default_factory=threading.Lock)
    _worker: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "golden"))

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        device: str = "auto",
        dtype: str = "float32",
        threads: int | None = None,
        seed: int = 0,
        batch_tokens: int = 4096,
        progress: Callable[[int, int], None] = lambda _done, _all: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Self:
        """Load the model in `folder`.

        Parameters
        ----------
        folder : Path
            Hugging Face model folder. Where it carries a seal, it must be as it was built.
        device : str
            ``auto``, or a torch device.
        dtype : str
            One of `DTYPES`.
        threads : int, optional
            CPU threads of the whole process; torch's own choice when None.
        seed : int
            Seeds the sampled answers to requests without a seed of their own.
        batch_tokens : int
            Upper bound of the tokens in one scoring batch, padding included.
        progress : Callable
            Called with (tasks scored, tasks in all) after each batch.
        now : Callable
            Wall clock for stamps and for templates that write the date.

        Raises
        ------
        GoldenError
            When files are missing, damaged or changed, or device or dtype cannot be used.
        """
        if (folder / SEAL).exists():
            verify(folder)
        if threads is not None:
            torch.set_num_threads(threads)
        place = best_device() if device == "auto" else device
        tokenizer = GoldenTokenizer.load(folder, now=now)
        model = _SplitModel(_load_model(folder, dtype, place))
        versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "tokenizers")}
        mark = fingerprint(folder, dtype=dtype, engine=f"torch-{place}", versions=versions)
        return cls(
            fingerprint=mark,
            tokenizer=tokenizer,
            name=folder.name,
            _model=model,
            _rng=np.random.default_rng(seed),
            _batch_tokens=batch_tokens,
            _progress=progress,
            _now=now,
        )

    async def send(self, request: Request) -> Capture:
        """Answer `request` with a non-streamed chat completion, whatever ``stream`` says.

        `reference.generate.generate` says how, and when it raises. A cancelled call stops at the next token.
        """
        started_at, t0_ns = self._now(), time.perf_counter_ns()
        abandoned = threading.Event()
        try:
            body = await asyncio.get_running_loop().run_in_executor(self._worker, self._body, request, abandoned)
        finally:
            abandoned.set()
        done_ns = time.perf_counter_ns()
        return Capture(
            request=request,
            sent=request_body(request, model=self.name),
            started_at=started_at,
            status=200,
            headers=(("content-type", "application/json"),),
            reads=(Read(done_ns, body),),
            t0_ns=t0_ns,
            sent_ns=t0_ns,
            first_byte_ns=done_ns,
            eof_ns=done_ns,
        )

    async def aclose(self) -> None:
        """Stop the worker and give the memory of the weights back. Idempotent."""
        self._worker.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._release)

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> list[Scores]:
        """Score all `tasks` by teacher forcing; results in the order of `tasks`.

        Raises
        ------
        GoldenError
            When a task cannot be asked of this model, it computes NaN, or one sequence exceeds the device's memory.
        """
        check(tasks, n_vocab=self._model.n_vocab, context=self._model.context)
        top_k = min(top_k, self._model.n_vocab)
        results = {at: unanswered(top_k) for at, task in enumerate(tasks) if not task.completion_ids}
        for batch in plan(tasks, batch_tokens=self._batch_tokens):
            with self._busy:
                scores = self._score_batch([tasks[at] for at in batch], top_k)
            results |= dict(zip(batch, scores, strict=True))
            self._progress(len(results), len(tasks))
        return [results[at] for at in range(len(tasks))]

    def _score_batch(self, tasks: list[ScoreTask], top_k: int) -> list[Scores]:
        try:
            return unpack(self._model.score(tasks, top_k), tasks)
        except torch.OutOfMemoryError as error:
            if len(tasks) == 1:
                raise GoldenError("one sequence exceeds the memory of the device; use cpu or bfloat16") from error
        torch.cuda.empty_cache()
        half = len(tasks) // 2
        return self._score_batch(tasks[:half], top_k) + self._score_batch(tasks[half:], top_k)

    def _release(self) -> None:
        with self._busy:
            self._model.release()

    def _body(self, request: Request, abandoned: threading.Event) -> bytes:
        with self._busy:
            answer = generate(self._model, self.tokenizer, request, self._rng, abandoned=abandoned.is_set)
        return chat_body(answer, request, self.tokenizer, model=self.name, fingerprint=self.fingerprint.digest)


class _SplitModel:
    """A causal language model whose body and head run apart, so that only wanted positions get logits."""

    def __init__(self, model: transformers.PreTrainedModel) -> None:
        if model.base_model is model:
            raise GoldenError(f"{type(model).__name__}: an architecture whose body and head cannot be told apart")
        self._model = model
        config = model.config.get_text_config()
        self.n_vocab = int(config.vocab_size)
        self.context: int | None = getattr(config, "max_position_embeddings", None)

    def release(self) -> None:
        """Drop the weights."""
        self._model.to("meta")  # type: ignore[arg-type]  # transformers wraps `to` without types

    @torch.inference_mode()
    def read(self, ids: Sequence[int], past: Any) -> tuple[Floats, Any]:
        """Read `ids` after what `past` has seen; return the logprobs (V,) of the next token, and the new past."""
        outputs = self._model.base_model(input_ids=self._tensor([ids]), use_cache=True, **{_PAST: past})
        logits = self._logits(outputs, outputs.last_hidden_state[0, -1:])
        return _array(torch.log_softmax(logits[0], -1)), outputs[_PAST]

    @torch.inference_mode()
    def score(self, tasks: Sequence[ScoreTask], top_k: int) -> Rows:
        """Score the answers of all `tasks` in one forward of the body and as many slices of the head as fit."""
        ids, mask = map(self._tensor, padded_inputs(tasks))
        outputs = self._model.base_model(input_ids=ids, attention_mask=mask, use_cache=False)
        hidden = outputs.last_hidden_state[tuple(map(self._tensor, predicting(tasks)))]
        targets = self._tensor([[identifier] for task in tasks for identifier in task.completion_ids])
        wanted = self._tensor(padded_gather(tasks))
        n_rows = max(1, _SLICE_BYTES // (4 * self.n_vocab))
        slices = zip(*(torch.split(part, n_rows) for part in (hidden, targets, wanted)), strict=True)
        parts = [
            _score_rows(torch.log_softmax(self._logits(outputs, states), -1), goals, columns, top_k)
            for states, goals, columns in slices
        ]
        return Rows(*map(np.concatenate, zip(*parts, strict=True)))

    def _logits(self, outputs: Any, hidden: torch.Tensor) -> torch.Tensor:
        """Return the logits (n, V) of hidden states (n, d), out of the model's own forward without its body.

        So whatever an architecture does to its logits (soft caps, scales) is done here too.
        """
        outputs.last_hidden_state = hidden.unsqueeze(0)
        ids = torch.zeros(outputs.last_hidden_state.shape[:2], dtype=torch.int64, device=hidden.device)
        with _answering(self._model.base_model, outputs):
            logits: torch.Tensor = self._model(input_ids=ids, use_cache=False).logits[0].float()
        if torch.isnan(logits).any():
            raise GoldenError("the golden model computes NaN; load it in float32, or build the folder again")
        return logits

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.as_tensor(values, dtype=torch.int64, device=self._model.device)


def _score_rows(logprobs: torch.Tensor, targets: torch.Tensor, wanted: torch.Tensor, top_k: int) -> tuple[Any, ...]:
    own = logprobs.gather(1, targets)
    top = logprobs.topk(top_k)
    return (
        _array(own[:, 0]),
        (logprobs > own).sum(1).cpu().numpy(),
        _array(torch.special.entr(logprobs.exp()).sum(1)),
        top.indices.cpu().numpy(),
        _array(top.values),
        _array(logprobs.gather(1, wanted)),
    )


def _array(values: torch.Tensor) -> Floats:
    array: Floats = values.cpu().double().numpy()
    return array


@contextmanager
def _answering(body: torch.nn.Module, outputs: Any) -> Iterator[None]:
    """Let `body` return `outputs` without computing."""
    body.forward = lambda *_, **__: outputs
    try:
        yield
    finally:
        del body.forward


def _load_model(folder: Path, dtype: str, device: str) -> transformers.PreTrainedModel:
    if dtype not in DTYPES:
        raise GoldenError(f"dtype {dtype!r} is not one of {', '.join(DTYPES)}")
    read_json(folder, "config.json")
    weight_files(folder)
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    loader: Any = transformers.AutoModelForCausalLM  # its annotations do not know output_loading_info
    try:
        model, report = loader.from_pretrained(
            folder, dtype=DTYPES[dtype], local_files_only=True, use_safetensors=True, output_loading_info=True
        )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise GoldenError(f"{folder}: the weights cannot be loaded: {error} (run `{REBUILD}`)") from error
    lost = sorted(report["missing_keys"])
    if lost:
        raise GoldenError(f"{folder}: the weights lack {len(lost)} tensors, {lost[0]} first (run `{REBUILD}`)")
    try:
        loaded: transformers.PreTrainedModel = model.eval().to(device)
    except (RuntimeError, AssertionError) as error:
        raise GoldenError(f"device {device!r} cannot be used: {error}; use auto or cpu") from error
    return loaded

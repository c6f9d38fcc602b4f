"""Scoring on several processes behind one port: a worker that dies takes no result with it.

Each worker is a process with an engine of its own, and a thread here that hands it blocks. What a dead worker had not
answered goes back to the queue, and a fresh worker takes its place.
"""

import multiprocessing
import queue
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Protocol

from monitor.errors import GoldenError
from monitor.ports import Scorer, Scores, ScoreTask
from monitor.results import Fingerprint

TRIES = 3
"""How many workers one block may kill before it is given up."""

Start = Callable[[int], Scorer]
"""Makes the engine of worker number n. Called in the worker, so it must be importable there."""


@dataclass(frozen=True, slots=True)
class Block:
    """Tasks that are scored together; ``places`` are their indices in the whole."""

    places: tuple[int, ...]
    tasks: tuple[ScoreTask, ...]
    top_k: int


class Executor(Protocol):
    """Where blocks are scored."""

    def run(self, blocks: Sequence[Block]) -> Iterator[tuple[Block, list[Scores]]]:
        """Yield each block with its scores as soon as it is done. Raises GoldenError when one cannot be scored."""
        ...

    def close(self) -> None:
        """Stop. Idempotent."""
        ...


class ProcessExecutor:
    """Scores on `n_workers` processes, which live until `close`.

    Raises
    ------
    GoldenError
        From `run`: what an engine refuses, or a block that kills `TRIES` workers in a row.
    """

    def __init__(self, start: Start, n_workers: int) -> None:
        self._start, self._n_workers = start, n_workers
        self._workers: list[_Worker | None] = [None] * n_workers
        self._running = threading.Lock()

    def run(self, blocks: Sequence[Block]) -> Iterator[tuple[Block, list[Scores]]]:
        """Yield each block with its scores as soon as it is done; one run at a time."""
        todo: queue.SimpleQueue[tuple[Block, int]] = queue.SimpleQueue()
        done: queue.SimpleQueue[tuple[Block, list[Scores]] | Exception] = queue.SimpleQueue()
        for block in blocks:
            todo.put((block, 1))
        with self._running:
            stop = threading.Event()
            threads = [
                threading.Thread(target=self._feed, args=(number, todo, done, stop), name=f"feed-{number}", daemon=True)
                for number in range(min(self._n_workers, len(blocks)))
            ]
            for thread in threads:
                thread.start()
            try:
                for _ in blocks:
                    found = done.get()
                    if isinstance(found, Exception):
                        raise found
                    yield found
            finally:
                stop.set()
                for thread in threads:
                    thread.join()

    def identify(self) -> Fingerprint:
        """Return the fingerprint of the engines, out of the first worker. Raises GoldenError when it has none."""
        with self._running:
            try:
                return self._worker(0).fingerprint
            except (EOFError, OSError) as error:
                self._drop(0)
                raise GoldenError("the first scoring worker ended while it loaded; is the memory full?") from error

    def close(self) -> None:
        """Stop all workers. Idempotent."""
        with self._running:
            for number, worker in enumerate(self._workers):
                if worker is not None:
                    worker.stop()
                self._workers[number] = None

    def _feed(self, number: int, todo: Any, done: Any, stop: threading.Event) -> None:
        """Hand blocks to worker `number` until `stop`; what it leaves behind goes back to `todo`."""
        while not stop.is_set():
            try:
                block, attempt = todo.get(timeout=0.05)
            except queue.Empty:
                continue
            try:
                done.put((block, self._worker(number).score(block)))
            except (EOFError, OSError):
                self._drop(number)
                if attempt < TRIES:
                    todo.put((block, attempt + 1))
                else:
                    n = len(block.tasks)
                    done.put(GoldenError(f"scoring {n} answers ended {TRIES} workers; is the memory full?"))
            except (GoldenError, RuntimeError) as error:
                self._drop(number)
                done.put(error)

    def _worker(self, number: int) -> "_Worker":
        worker = self._workers[number]
        if worker is None:
            worker = self._workers[number] = _Worker(self._start, number)
        return worker

    def _drop(self, number: int) -> None:
        worker, self._workers[number] = self._workers[number], None
        if worker is not None:
            worker.stop()


class _Worker:
    """A process with an engine, and the pipe to it."""

    def __init__(self, start: Start, number: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork would share locks and CUDA with its parent
        self._pipe, far = context.Pipe()
        self.process = context.Process(target=_serve, args=(start, number, far), daemon=True, name=f"golden-{number}")
        self.process.start()
        far.close()  # so that the end of the process is the end of the pipe
        self._fingerprint: Fingerprint | None = None

    @property
    def fingerprint(self) -> Fingerprint:
        """What the engine is, as soon as it is loaded. Raises EOFError when it dies, GoldenError when it refuses."""
        if self._fingerprint is None:
            self._fingerprint = self._received()
        return self._fingerprint

    def score(self, block: Block) -> list[Scores]:
        """Score in the process. Raises EOFError or OSError when it dies, GoldenError when it refuses."""
        if self._fingerprint is None:
            self._fingerprint = self._received()
        self._pipe.send((block.tasks, block.top_k))
        scores: list[Scores] = self._received()
        return scores

    def _received(self) -> Any:
        found = self._pipe.recv()
        if isinstance(found, Exception):
            raise found
        return found

    def stop(self) -> None:
        """End the process."""
        self._pipe.close()
        self.process.join(5)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()


def _serve(start: Start, number: int, pipe: Connection) -> None:
    """Tell the engine's fingerprint, then score what comes through `pipe` until its other end is closed.

    What cannot be done is answered with the error, which is raised over there.
    """
    with suppress(EOFError, KeyboardInterrupt, BrokenPipeError):
        try:
            engine = start(number)
        except GoldenError as error:
            pipe.send(error)
            return
        pipe.send(engine.fingerprint)
        while True:
            tasks, top_k = pipe.recv()
            pipe.send(_answer(engine, tasks, top_k))


def _answer(engine: Scorer, tasks: Sequence[ScoreTask], top_k: int) -> list[Scores] | Exception:
    try:
        return engine.score(tasks, top_k=top_k)
    except GoldenError as error:
        return error
    except Exception:  # noqa: BLE001  # our bug: the other side raises it, with the place where it happened
        return RuntimeError(traceback.format_exc())

"""Store, agent and judge as real processes on one configuration file, for tests."""

import asyncio
import os
import subprocess
import sys
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from typer.testing import CliRunner

from jobs.cli import build

ROOT = Path(__file__).parents[2]


@dataclass
class Processes:
    """What runs, and how to ask the command line about it. Logs of processes go to files in ``folder``."""

    folder: Path
    environ: Mapping[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "weighmaster.yaml"

    def start(self, name: str, *more: str) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            line = [sys.executable, "-m", "jobs.cli", name, *more, "--config", str(self.config)]
            where = {**os.environ, **self.environ}
            self.running.append(subprocess.Popen(line, stdout=log, stderr=log, cwd=ROOT, env=where))

    def ask(self, *words: str) -> str:
        """What a command prints. It runs in this process, which saves the imports."""
        done = CliRunner(env=self.environ).invoke(build(), [*words, "--config", str(self.config)])
        return done.output + "".join(traceback.format_exception(done.exception)) if done.exception else done.output

    def log(self, name: str) -> str:
        return (self.folder / f"{name}.log").read_text(encoding="utf-8")

    def end(self) -> None:
        for one in reversed(self.running):
            one.terminate()
        for one in self.running:
            try:
                one.wait(20)
            except subprocess.TimeoutExpired:
                one.kill()
                one.wait()


@asynccontextmanager
async def processes(folder: Path, environ: Mapping[str, str]) -> AsyncIterator[Processes]:
    """Ended at the end, in order."""
    made = Processes(folder, environ)
    try:
        yield made
    finally:
        await asyncio.to_thread(made.end)


async def until(condition: Callable[[], bool], what: str, seconds: float = 60) -> None:
    """Wait for a condition, asked in a thread so that servers in this process go on."""
    try:
        async with asyncio.timeout(seconds):
            while not await asyncio.to_thread(condition):
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"not within {seconds:g} s: {what}") from None

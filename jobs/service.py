"""Runs one process of the service until it is told to stop."""

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from jobs.alive import alerts_spool, judge_spool, life_of, showing_life
from jobs.backlog import Backlog
from jobs.clients import client_of
from jobs.clock import SystemClock
from jobs.event_loop import run
from jobs.healthz import answering
from jobs.only_one import only_one
from jobs.parent import end_with_supervisor
from jobs.reload import Following, with_each
from jobs.store_client import client_for
from monitor.alerting.facts import Mistake
from monitor.config_types import Config
from probes.heartbeat import Heartbeat
from storage.spool import SqliteSpool


def begin() -> None:
    """Prepare this process: logs go to standard error in UTC, and a supervised process ends with its supervisor."""
    end_with_supervisor(os.environ)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)sZ %(levelname)s %(name)s: %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )  # fmt: skip
    logging.Formatter.converter = time.gmtime
    # APScheduler tells every wake-up at INFO.
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    # httpx tells every address at INFO.
    logging.getLogger("httpx").setLevel(logging.WARNING)


def print_url(url: str) -> None:
    """Say on standard output where this process answers, as one line of JSON."""
    sys.stdout.write(json.dumps({"url": url}) + "\n")
    sys.stdout.flush()


CHANGE_S = 15.0
"""How long running probes may take to end when the configuration changes."""


def run_agent(file: Following, store_url: str) -> None:
    """Run the agent until SIGINT or SIGTERM. Raises StoreError when another agent uses the spool."""
    with only_one(Path(file.config.agent.spool), "an agent"):
        run(_until_stopped(lambda stop: _agent(file, store_url, stop)))


def run_judge(file: Following, store_url: str, *, alerts: bool = True) -> None:
    """Run the judge, and the rules of alerting unless `alerts` is False, until SIGINT or SIGTERM."""
    run(_until_stopped(lambda stop: _judge(file, store_url, stop, alerts=alerts)))


async def _agent(file: Following, store_url: str, stop: asyncio.Event) -> None:
    from jobs.agent import Agent  # noqa: PLC0415  # the judge needs no scheduler
    from jobs.self_check import look_with  # noqa: PLC0415

    clock, path = SystemClock(), Path(file.config.agent.spool)
    spool = SqliteSpool(path, writer=f"agent-{file.config.vantage}")
    backlog = Backlog(spool)  # one for all configurations: it holds what a full spool did not take
    store = client_for(file.config.store, store_url)

    def said() -> dict[str, object]:
        return {**file.said(), "spool_full": backlog.full}

    async with (
        showing_life(path, clock, more=said), Heartbeat(clock).beating() as heartbeat,
        answering(file.config.agent.listen, "agent", lambda: life_of(path, clock.now()), print_url),
    ):  # fmt: skip

        async def probe(config: Config, turn: asyncio.Event) -> None:
            agent = Agent(
                config, backlog, store, clock,
                lambda entry: client_of(entry, clock, heartbeat), lag=look_with(heartbeat),
            )  # fmt: skip
            await agent.run(turn, patience_s=lambda: 0.0 if stop.is_set() else CHANGE_S)

        # A full collection over all that is loaded stops the loop for 20 to 40 ms (docs/benchmarks.md).
        gc.collect()
        gc.freeze()
        try:
            await with_each(file, stop, probe)
        finally:
            backlog.say_what_is_lost()
            await store.aclose()
            spool.close()


async def _judge(file: Following, store_url: str, stop: asyncio.Event, *, alerts: bool) -> None:
    from jobs.judge import Judge  # noqa: PLC0415  # the agent must not import scipy
    from jobs.references import scorer_for  # noqa: PLC0415  # nor tokenizers

    clock, path = SystemClock(), judge_spool(Path(file.config.agent.spool))
    spool = SqliteSpool(path, writer="judge")
    store = client_for(file.config.store, store_url)
    judge = Judge(file.config, spool, store, clock, scorer_for)

    async def work(config: Config, turn: asyncio.Event) -> None:
        judge.take(config)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(judge.run(turn))
            if alerts:
                tasks.create_task(_notify(config, store_url, turn, file))

    try:
        async with (
            showing_life(path, clock, more=file.said),
            answering(file.config.judge.listen, "judge", lambda: life_of(path, clock.now()), print_url),
        ):
            await with_each(file, stop, work)
    finally:
        judge.close()
        await store.aclose()
        spool.close()


async def _notify(config: Config, store_url: str, stop: asyncio.Event, file: Following) -> None:
    from jobs.notify import Notifier  # noqa: PLC0415  # nor httpx's client for routes
    from jobs.notify_routes import sender_of  # noqa: PLC0415

    clock, path = SystemClock(), alerts_spool(Path(config.agent.spool))
    with only_one(path, "a judge that looks after alerts"):
        spool, store = SqliteSpool(path, writer="alerts"), client_for(config.store, store_url)
        senders = {route.name: sender_of(route, clock) for route in config.alerts.routes}
        try:
            await Notifier(config, spool, store, clock, senders, file=lambda: _mistake(file)).run(stop)
        finally:
            await store.aclose()
            spool.close()


def _mistake(file: Following) -> Mistake | None:
    if file.invalid is None or file.invalid_since is None:
        return None
    return Mistake(since=file.invalid_since, text=file.invalid)


async def _until_stopped(work: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, stop.set)
    await work(stop)

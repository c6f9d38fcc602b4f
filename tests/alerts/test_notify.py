"""The notifier over the real store: what is told to whom, over restarts and with dead routes."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from monitor.alerting.nouns import Ack, Silence
from monitor.errors import StoreError
from monitor.slot import Slot, SlotState
from storage.store import DuckStore
from tests.alerts.receiver import receiver
from tests.alerts.service import Notebook, Service, config, run_of, verdict


@pytest.fixture
async def service(tmp_path: Path) -> AsyncIterator[Service]:
    store = DuckStore(tmp_path / "store.duckdb")
    yield Service(tmp_path, store)
    store.close()


FIRED = ("fired", "acme/a", "weights")
RESOLVED = ("resolved", "acme/a", "weights")


def swap(service: Service, status: str, cause: str | None = "weights") -> None:
    service.put("verdict", [verdict("acme/a", "fidelity", service.clock.now(), status, cause)])


async def test_swapped_weights_are_told_once_to_each_route_and_resolved_with_the_same_id(service: Service) -> None:
    async with service.notifier() as notifier:
        for _ in range(3):
            swap(service, "fail")
            await service.look(notifier)
        swap(service, "pass", None)
        await service.look(notifier)
        await service.look(notifier)
    for route in service.routes.values():
        assert route.told() == [FIRED, RESOLVED]
        fired, resolved = (one.message.events[0].incident for one in route.got)
        assert fired.incident_id == resolved.incident_id
        assert (fired.effect, fired.low, fired.high, fired.n) == (0.31, 0.2, 0.42, 40)
    assert len({one.delivery_id for route in service.routes.values() for one in route.got}) == 4
    (incident,) = service.store.incidents(None, open_only=False)["incidents"]
    assert incident["closed_at"] is not None
    assert service.store.counts()["rejected"] == 0


async def test_ttft_times_two_against_the_own_week(service: Service) -> None:
    """The baseline comes from the store: a day and a half of runs before the fault, without the hour of the window."""
    for _ in range(36):
        service.runs(ttft_ms=300.0, n=25)
        service.clock.forward(hours=1)
    async with service.notifier() as notifier:
        await service.look(notifier, minutes=0)
        for _ in range(7):
            service.runs(["acme/a"], ttft_ms=600.0)
            service.runs(["acme/b"])
            await service.look(notifier)
        assert service.routes["one"].told() == [("fired", "acme/a", "slower_start")]
        reason = service.routes["one"].got[0].message.events[0].incident.reason
        assert "600 ms" in reason
        assert "2.00 times the 300 ms of 35 hours of its own past" in reason
        for _ in range(9):
            service.runs()
            await service.look(notifier)
    assert service.routes["one"].told()[1:] == [("resolved", "acme/a", "slower_start")]


async def test_a_provider_that_is_down_is_one_incident_and_shows_at_its_endpoints(service: Service) -> None:
    async with service.notifier() as notifier:
        for outcome in ("ok", "ok", "connect_error", "connect_error", "connect_error"):
            service.runs(outcome=outcome)
            await service.look(notifier)
        overview = {one["endpoint"]: one for one in service.store.overview()["endpoints"]}
        shown = [[one["cause"] for one in overview[name]["incidents"]] for name in ("acme/a", "acme/b")]
        assert shown == [["provider_down"], ["provider_down"]]
        for _ in range(9):
            service.runs()
            await service.look(notifier)
    assert service.routes["two"].told() == [
        ("fired", "provider acme", "provider_down"), ("resolved", "provider acme", "provider_down"),
    ]  # fmt: skip
    assert service.store.counts()["incidents"] == 1


async def test_what_changed_before_it_is_in_the_message(service: Service) -> None:
    service.runs(["acme/a"], fingerprint="fp_1", providers=("up-1",))
    service.clock.forward(minutes=10)
    service.runs(["acme/a"], fingerprint="fp_2", providers=("up-2",))
    swap(service, "fail")
    async with service.notifier() as notifier:
        await service.look(notifier)
        await service.look(notifier)
    assert service.routes["one"].got[0].message.events[0].changes == (
        "system fingerprint: fp_1 before, fp_2 since", "upstream: up-1 before, up-2 since",
    )  # fmt: skip


async def test_a_restart_changes_nothing(service: Service) -> None:
    for status in ("fail", "fail", "pass", "pass"):
        swap(service, status, "weights" if status == "fail" else None)
        async with service.notifier() as notifier:
            await service.look(notifier)
    assert service.routes["one"].told() == [FIRED, RESOLVED]
    assert service.store.counts()["incidents"] == 1


async def test_a_dead_route_holds_no_other_and_gets_all_in_order_later(service: Service) -> None:
    service.routes["two"].up = False
    async with service.notifier() as notifier:
        swap(service, "fail")
        await service.look(notifier)
        await service.look(notifier)
        swap(service, "pass", None)
        await service.look(notifier)
        assert service.routes["one"].told() == [FIRED, RESOLVED]
        assert service.routes["two"].told() == []
        service.routes["two"].up = True
        for _ in range(3):
            await service.look(notifier, minutes=31)
    assert service.routes["two"].told() == [FIRED, RESOLVED]


async def test_the_error_budget_is_counted_by_the_store(service: Service) -> None:
    """10 requests every 5 minutes, then 4 of 10 fail: 40 times too fast, over both windows of the first pair."""
    service.config = config(YAML_WITH_REMINDERS.replace(
        "group_wait: 1s", "group_wait: 1s\n  default_rules: false\n  rules: {budget: {kind: burn_rate}}"
    ))  # fmt: skip
    async with service.notifier() as notifier:
        for failing in (*[0] * 14, *[4] * 6):
            service.put("run", [run_of("acme/a", service.clock.now(), n=10 - failing)])
            if failing:
                later = service.clock.now() + timedelta(seconds=30)
                service.put("run", [run_of("acme/a", later, n=failing, outcome="http_5xx")])
            service.put("run", [run_of("acme/b", service.clock.now(), n=10)])
            await service.look(notifier, minutes=5)
    assert service.routes["one"].told() == [("fired", "acme/a", "unavailable")]
    incident = service.routes["one"].got[0].message.events[0].incident
    assert "of 120 failed" in incident.reason
    assert (incident.effect or 0) >= 14.4


async def test_a_route_that_hangs_holds_no_other(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.notify.DRAIN_EVERY_S", 0.01)
    one, two = service.routes.values()
    two.held = asyncio.Event()
    swap(service, "fail")
    async with service.notifier() as notifier:
        stop = asyncio.Event()
        running = asyncio.create_task(notifier.run(stop))
        for n, status in enumerate(("fail", "pass"), 1):
            swap(service, status, "weights" if status == "fail" else None)
            await until(lambda n=n: _passing(service, one, n))  # type: ignore[misc]
        assert two.got == []
        two.held.set()
        stop.set()
        await running
    assert one.told() == [FIRED, RESOLVED]
    assert two.told()[:1] == [FIRED]
    assert two.n_attempts <= 2


def _passing(service: Service, route: Notebook, n: int) -> bool:
    """Time goes by while one waits for the route's n-th message."""
    service.clock.forward(seconds=5)
    return len(route.told()) >= n


async def test_back_off_grows_and_is_kept_over_a_restart(service: Service) -> None:
    service.routes["two"].up = False
    swap(service, "fail")
    for seconds, attempts in ((0, 0), (2, 1), (1, 1), (5, 2), (5, 2), (5, 3), (15, 3), (6, 4)):
        service.clock.forward(seconds=seconds)
        async with service.notifier() as notifier:
            await notifier.look()
            await notifier.deliver()
            await notifier.look()
        assert service.routes["two"].n_attempts == attempts, seconds


async def test_a_store_that_is_down_decides_nothing(service: Service) -> None:
    swap(service, "fail")
    async with service.notifier() as notifier:
        service.up = False
        with pytest.raises(StoreError):
            await notifier.look()
        service.up = True
        await service.look(notifier)
        await service.look(notifier)
    assert service.routes["one"].told() == [FIRED]


async def test_silences_and_acknowledgements_come_from_the_store(service: Service) -> None:
    now = service.clock.now()
    quiet = Silence(
        silence_id="s1", match="acme/*", until=now + timedelta(minutes=25), reason="upgrade", by="ann", made_at=now
    )
    service.put("silence", [quiet])
    service.config = config(YAML_WITH_REMINDERS)
    swap(service, "fail")
    async with service.notifier() as notifier:
        await service.look(notifier)
        await service.look(notifier)
        assert service.routes["one"].told() == []
        await service.look(notifier)
        assert service.routes["one"].told() == [FIRED]
        await service.look(notifier, minutes=61)
        assert service.routes["one"].told()[1:] == [("reminder", "acme/a", "weights")]
        (incident,) = service.store.incidents(None, open_only=True)["incidents"]
        service.put("ack", [Ack(incident_id=incident["incident_id"], at=service.clock.now(), by="ann")])
        await service.look(notifier, minutes=61)
    assert len(service.routes["one"].told()) == 2


async def test_routes_take_what_they_are_for(service: Service) -> None:
    service.config = config(YAML_WITH_REMINDERS.replace("two: {", "two: {topics: [speed], "))
    swap(service, "fail")
    async with service.notifier() as notifier:
        await service.look(notifier)
        await service.look(notifier)
    assert (len(service.routes["one"].told()), service.routes["two"].told()) == (1, [])


async def test_a_maintenance_window_mutes_verdicts_and_says_so(service: Service) -> None:
    at = service.clock.now()
    kept = run_of("acme/a", at)
    service.put("run", [replace(kept, run=replace(kept.run, maintenance="they move"))])
    seen = verdict("acme/a", "fidelity", at, "fail", "weights")
    service.put("verdict", [replace(seen, run_ids=(kept.run.run_id, "another"))])
    async with service.notifier() as notifier:
        await service.look(notifier)
        await service.look(notifier)
    assert service.routes["one"].told() == []
    (incident,) = service.store.incidents(None, open_only=True)["incidents"]
    assert incident["muted"] == "maintenance: they move"


@pytest.mark.parametrize(
    ("state", "reason", "told"),
    [
        ("skipped", "over budget: 5 of 5 USD are spent", []),
        ("skipped", "agent offline: nothing can be connected to", [("fired", "agent berlin", "agent_offline")]),
        ("missed", "nothing ran", [("fired", "agent berlin", "agent_offline")]),
    ],
)
async def test_an_agent_is_missed_when_it_cannot_measure_and_not_when_it_need_not(
    service: Service, state: SlotState, reason: str, told: list[tuple[str, str, str]]
) -> None:
    service.runs()
    async with service.notifier() as notifier:
        for _ in range(7):
            at = service.clock.now()
            slot = Slot(endpoint="acme/a", probe="speed", slot_at=at, state=state, reason=reason, vantage="berlin")
            service.put("slot", [slot])
            await service.look(notifier)
    assert service.routes["one"].told() == told


@pytest.mark.parametrize("how", ["outage", "restart", "clock"])
async def test_nobody_is_missed_for_a_time_in_which_nobody_could_be_heard(service: Service, how: str) -> None:
    """Two hours; the agent's results arrive after the first look. Later it is gone for good, and missed."""
    service.runs()
    async with AsyncExitStack() as stack:
        notifier = await stack.enter_async_context(service.notifier())
        for _ in range(3):
            await service.look(notifier)
            service.runs()
        if how == "outage":
            service.up = False
            with pytest.raises(StoreError):
                await service.look(notifier)
            service.up = True
        if how == "restart":
            await stack.aclose()
            notifier = await stack.enter_async_context(service.notifier())
        await service.look(notifier, minutes=120)
        for _ in range(3):
            service.runs()
            await service.look(notifier)
        assert service.routes["one"].told() == []
        for _ in range(6):
            await service.look(notifier)
    assert service.routes["one"].told() == [("fired", "agent berlin", "agent_offline")]


async def test_the_heartbeat_stays_away_when_nobody_can_look(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jobs.notify.DRAIN_EVERY_S", 0.01)
    with receiver() as hook:
        beat = f'heartbeat: {{url: "{hook.url}", every: 1s, allow_private: true}}'
        service.config = config(YAML_WITH_REMINDERS.replace("group_wait: 1s", f"every: 1s\n  {beat}"))
        async with service.notifier() as notifier:
            stop = asyncio.Event()
            running = asyncio.create_task(notifier.run(stop))
            await until(lambda: len(hook.got) == 1)
            service.clock.forward(seconds=2)
            await until(lambda: len(hook.got) == 2)
            service.up = False
            service.clock.forward(seconds=2)
            await asyncio.sleep(0.2)
            stop.set()
            await running
        assert len(hook.got) == 2


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0.01)


YAML_WITH_REMINDERS = """
vantage: berlin
endpoints:
  - {name: acme/a, base_url: "http://h/v1", model: m}
  - {name: acme/b, base_url: "http://h/v1", model: m}
alerts:
  group_wait: 1s
  remind: 1h
  routes:
    one: {kind: webhook, url: "https://one.example/", secret: "${KEY}"}
    two: {kind: webhook, url: "https://two.example/", secret: "${KEY}"}
"""

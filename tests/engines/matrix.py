"""The capability matrix of a real server, as the product measures it."""

from jobs.clients import http_client
from jobs.clock import SystemClock
from monitor.capabilities import Capability, capabilities
from monitor.ports import Probe
from monitor.results import RunRecord
from monitor.types import Endpoint
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.parameters import Parameters
from probes.run import run_probe


async def asked(url: str, model: str, probe: Probe) -> RunRecord:
    """One run of `probe` against `model` at `url`, one request at a time."""
    clock = SystemClock()
    endpoint = Endpoint(name="lab/served", provider="lab", base_url=url, model=model)
    async with Heartbeat(clock).beating() as heartbeat:
        client = http_client(endpoint, None, clock, heartbeat, Limits(first_byte_s=300, stall_s=300))
        record, _ = await run_probe(
            probe, endpoint, client, clock=clock, seed=1, vantage="test", prober_version="0", concurrency=1
        )
        await client.aclose()
    return record


async def matrix(url: str, model: str) -> dict[str, Capability]:
    """Ask short questions and print each standing: it is a measurement."""
    record = await asked(url, model, Parameters(tokens=48, thinking_tokens=48, context_tokens=400, series=0))
    found = capabilities(record.exchanges)
    for name, one in found.items():
        print(f"  {name}: {one.standing} ({one.why})")  # noqa: T201  # for people
    return found

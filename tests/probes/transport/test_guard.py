"""Where clients connect to. Oracle: which of the real servers on loopback was asked, and what `monitor.addresses` says.

Look-ups are faked by an argument: a name leads where the test says.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence

import pytest

from jobs.clients import http_client
from jobs.clock import SystemClock
from monitor.types import Capture, Endpoint, Request
from monitor.wire.dispatch import decode, speaker
from probes.client import HttpClient, Sender, WireSender
from probes.heartbeat import Heartbeat
from probes.limits import Limits
from probes.transport.guard import Address, Guard, RefusedAddressError, look_up
from probes.transport.stock import StockSender
from probes.transport.wire import WireTransport
from tests.probes.transport.servers import client_tls, read_request, sends, server_tls, serving

ASK = Request(prompt_id="p", messages=({"role": "user", "content": "hi"},), max_tokens=4)
BODY = b'{"choices":[{"index":0,"message":{"content":"hi"},"finish_reason":"stop"}]}'
LIMITS = Limits(connect_s=2, first_byte_s=2, stall_s=2, total_s=4)
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(BODY) + BODY
SENDERS = ["wire", "stock"]


def leading_to(*addresses: str) -> Callable[[str, int], Awaitable[Sequence[Address]]]:
    async def look_up(_host: str, port: int) -> list[Address]:
        return [(socket.AF_INET6 if ":" in one else socket.AF_INET, (one, port)) for one in addresses]

    return look_up


def sender(kind: str, guard: Guard) -> Sender:
    clock = SystemClock()
    if kind == "wire":
        return WireSender(WireTransport(clock.monotonic_ns, guard=guard))
    return StockSender(clock.monotonic_ns, guard=guard)


async def ask(url: str, kind: str, guard: Guard) -> Capture:
    clock = SystemClock()
    endpoint = Endpoint(name="test/one", provider="test", base_url=f"{url}/v1", model="m")
    async with Heartbeat(clock).beating() as heartbeat:
        client = HttpClient(
            endpoint, speaker(endpoint), key=None, clock=clock, heartbeat=heartbeat, limits=LIMITS,
            sender=sender(kind, guard),
        )  # fmt: skip
        try:
            return await client.send(ASK)
        finally:
            await client.aclose()


@pytest.mark.parametrize("kind", SENDERS)
@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "::"]
)
async def test_a_name_that_leads_into_the_own_network_is_not_followed(kind: str, address: str) -> None:
    capture = await ask("http://api.acme.example:81", kind, Guard(look_up=leading_to(address)))
    assert (capture.end, capture.status, decode(capture).outcome) == ("address_refused", None, "address_refused")
    assert (capture.error or "").startswith("refused: its name leads to")
    assert address not in (capture.error or "")


@pytest.mark.parametrize("kind", SENDERS)
@pytest.mark.parametrize("address", ["169.254.169.254", "fd00:ec2::254", "fe80::1", "100.100.100.200"])
async def test_metadata_is_refused_whatever_is_allowed(kind: str, address: str) -> None:
    capture = await ask("http://api.acme.example:81", kind, Guard(allow_private=True, look_up=leading_to(address)))
    assert capture.error == "refused: its name leads to a link-local or metadata address, which is always refused"
    written = f"[{address}]" if ":" in address else address
    capture = await ask(f"http://{written}:81", kind, Guard(allow_private=True))
    assert capture.error == "refused: it is a link-local or metadata address, which is always refused"


@pytest.mark.parametrize("kind", SENDERS)
async def test_allow_private_lets_a_name_lead_here(kind: str) -> None:
    async with serving(sends([ANSWER])) as url:
        named = url.replace("127.0.0.1", "engine.lan")
        guard = Guard(allow_private=True, look_up=leading_to("127.0.0.1"))
        capture = await ask(named, kind, guard)
    assert (capture.status, capture.end, capture.error) == (200, "complete", None)


@pytest.mark.parametrize("kind", SENDERS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "lab.localhost"])
async def test_the_own_machine_by_name_or_number_needs_no_permission(kind: str, host: str) -> None:
    async with serving(sends([ANSWER])) as url:
        guard = Guard(look_up=leading_to("127.0.0.1"))
        capture = await ask(url.replace("127.0.0.1", host), kind, guard)
    assert (capture.status, capture.end) == (200, "complete")


@pytest.mark.parametrize("kind", SENDERS)
async def test_only_the_good_ones_of_many_addresses_are_tried(kind: str) -> None:
    """169.254.169.254 comes first and would be asked first; 127.0.0.9 does not listen, 127.0.0.1 does."""
    async with serving(sends([ANSWER])) as url:
        guard = Guard(allow_private=True, look_up=leading_to("169.254.169.254", "127.0.0.9", "127.0.0.1"))
        capture = await ask(url.replace("127.0.0.1", "engine.lan"), kind, guard)
    assert (capture.status, capture.end) == (200, "complete")


@pytest.mark.parametrize("kind", SENDERS)
@pytest.mark.parametrize(("host", "end"), [("localhost", "complete"), ("other.localhost", "tls_trust")])
async def test_the_certificate_is_checked_against_the_name_and_not_the_address(kind: str, host: str, end: str) -> None:
    clock, guard = SystemClock(), Guard(look_up=leading_to("127.0.0.1"))
    async with serving(sends([ANSWER]), server_tls()) as url, Heartbeat(clock).beating() as heartbeat:
        endpoint = Endpoint(name="t/o", provider="t", base_url=url.replace("127.0.0.1", host), model="m")
        tls = client_tls()
        own: Sender = WireSender(WireTransport(clock.monotonic_ns, tls=tls, guard=guard))
        if kind == "stock":
            own = StockSender(clock.monotonic_ns, tls=tls, guard=guard)
        client = HttpClient(
            endpoint, speaker(endpoint), key=None, clock=clock, heartbeat=heartbeat, limits=LIMITS, sender=own, tls=tls
        )
        try:
            assert (await client.send(ASK)).end == end
        finally:
            await client.aclose()


async def test_the_address_that_answered_is_asked_again_on_the_same_connection() -> None:
    """The order of addresses changes with every look-up, as with many names."""
    turns = [("127.0.0.1", "127.0.0.9"), ("127.0.0.9", "127.0.0.1"), ("127.0.0.9", "127.0.0.1")]
    peers: set[object] = set()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            peers.add(writer.get_extra_info("peername"))
            writer.write(ANSWER)
            await writer.drain()

    async def rotating(host: str, port: int) -> Sequence[Address]:
        return await leading_to(*turns.pop(0))(host, port)

    clock = SystemClock()
    async with serving(handler) as url, Heartbeat(clock).beating() as heartbeat:
        endpoint = Endpoint(name="t/o", provider="t", base_url=url.replace("127.0.0.1", "lab.localhost"), model="m")
        client = HttpClient(
            endpoint, speaker(endpoint), key=None, clock=clock, heartbeat=heartbeat, limits=LIMITS,
            sender=sender("stock", Guard(look_up=rotating)),
        )  # fmt: skip
        try:
            assert [(await client.send(ASK)).end for _ in range(3)] == ["complete"] * 3
        finally:
            await client.aclose()
    assert (len(peers), turns) == (1, [])


async def test_a_number_in_disguise_is_a_name() -> None:
    """2130706433 is 127.0.0.1 to the system, but nobody who means their own machine writes that."""
    with pytest.raises(RefusedAddressError):
        await Guard(look_up=leading_to("127.0.0.1")).addresses("2130706433", 80)


async def test_a_name_that_leads_nowhere_is_as_before() -> None:
    capture = await ask("http://does-not-exist.invalid", "wire", Guard(look_up=look_up))
    assert capture.end == "connect_error"
    assert "refused" not in (capture.error or "")


async def test_the_default_client_is_guarded() -> None:
    """`jobs.clients` gives the endpoint's own permission to the client. 2130706433 leads to 127.0.0.1."""
    clock = SystemClock()
    async with serving(sends([ANSWER])) as url, Heartbeat(clock).beating() as heartbeat:
        endpoint = Endpoint(name="t/o", provider="t", base_url=url.replace("127.0.0.1", "2130706433"), model="m")
        for allowed, end in ((False, "address_refused"), (True, "complete")):
            client = http_client(endpoint, None, clock, heartbeat, LIMITS, allow_private=allowed)
            try:
                assert (await client.send(ASK)).end == end
            finally:
                await client.aclose()


@pytest.mark.parametrize("kind", SENDERS)
async def test_an_address_that_never_answers_leaves_time_for_the_next(kind: str) -> None:
    """A listener whose queue is full drops what comes: the first of the name's two addresses is one."""
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.9", 0))
        deaf.listen(0)
        async with serving(sends([ANSWER]), port=deaf.getsockname()[1]) as url:
            with socket.create_connection(deaf.getsockname(), timeout=5):
                guard = Guard(allow_private=True, look_up=leading_to("127.0.0.9", "127.0.0.1"))
                capture = await ask(url.replace("127.0.0.1", "engine.lan"), kind, guard)
    assert (capture.status, capture.end, capture.error) == (200, "complete", None)

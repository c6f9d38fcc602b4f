"""What a foreign line may do: leave words behind, or end the reading. Oracle: one odd value at each place of a line."""

import asyncio
import copy
import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from jobs.ingest import Tally, events_in, exchanges_of
from jobs.ingest_lines import LINE_BYTES, lines_in, lines_of
from jobs.ingest_server import _unpacked, keep_flushing
from jobs.ingest_waiting import Receiver, RefusedError
from monitor.codec import decode, encode
from monitor.errors import UsageError
from monitor.shape_traffic import NoEventError
from monitor.types import Exchange
from storage.spool import SqliteSpool
from tests.detectors.made import endpoint
from tests.shape.logs import document, line, reply, span

WORDS = "the zanzibar words, which nobody may keep"
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
ODD = [
    WORDS, {WORDS: 1}, {"a": WORDS}, [WORDS], None, -1, True, [], {}, 1e300, 2**63 - 1, "9" * 30, {"intValue": 10**19},
    "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", {"stringValue": {"a": 1}}, {"intValue": "9" * 21},
]  # fmt: skip


def full_line() -> dict[str, Any]:
    body = reply(tool_calls=[CALL], reasoning_content="so")
    body["usage"] |= {"note": "n", "completion_tokens_details": {"reasoning_tokens": 1}}
    body |= {"system_fingerprint": "fp", "provider": "p", "id": "c", "service_tier": "t"}
    return {**line(body=body), "error": "e", "user": "u"}


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*at, key)
        yield from places(one, (*at, key))


def with_value(value: Any, at: tuple[Any, ...], odd: Any) -> Any:
    made = copy.deepcopy(value)
    inner = made
    for key in at[:-1]:
        inner = inner[key]
    inner[at[-1]] = odd
    return made


def written(data: bytes) -> bytes:
    """What would be kept, as the spool gets it; the store can read it again."""
    try:
        found = events_in(data, keep=False)
    except NoEventError as error:
        return str(error).encode()
    assert all(decode(Exchange, encode(one)) for one in found)
    return b"".join(map(encode, found))


@pytest.mark.parametrize("value", [full_line(), document(span(error__type="x", gen_ai__input__messages="[]"))])
def test_one_odd_value_leaves_no_words_and_raises_nothing(value: dict[str, Any]) -> None:
    for at in places(value):
        for odd in ODD:
            try:
                data = orjson.dumps(with_value(value, at, odd))
            except TypeError:  # a number that JSON cannot say
                continue
            assert b"zanzibar" not in written(data).lower(), (at, odd)


def test_usage_keeps_numbers_alone() -> None:
    usage = {"prompt_tokens": "12", "completion_tokens": 9, "total_tokens": 21, "cost": 1, "tier": "gold",
             "completion_tokens_details": {"reasoning_tokens": 3, "of": "zanzibar"}}  # fmt: skip
    body = {**reply(), "usage": usage}
    (one,) = events_in(orjson.dumps(line(body=body)), keep=False)
    details = {"reasoning_tokens": 3}
    assert one.usage == {
        "prompt_tokens": 12, "completion_tokens": 9, "total_tokens": 21, "completion_tokens_details": details
    }  # fmt: skip


def test_names_that_are_tokens_stay_and_sentences_do_not() -> None:
    body = {**reply(finish="odd_end"), "model": "acme/model-1", "provider": "Google AI Studio"}
    (one,) = events_in(orjson.dumps(line(body=body)), keep=False)
    assert (one.models, one.choice.finish) == (("acme/model-1",), "other:odd_end")
    (other,) = events_in(orjson.dumps(line(body={**reply(finish=WORDS), "model": WORDS})), keep=False)
    assert (other.models, other.choice.finish) == ((), "other")


BAD = [
    orjson.dumps(line(time="0001-01-01T00:00:00+14:00", body={**reply(), "created": None})),
    orjson.dumps(line(time="9999-12-31T23:59:59-14:00", body={**reply(), "created": None})),
    b"[" * 100_000, b'{"a":' * 2000 + b"1" + b"}" * 2000, b'"resourceSpans"', b"\xff\xfe",
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=range(len(BAD)))
def test_a_bad_line_is_refused_and_the_good_ones_stay(bad: bytes) -> None:
    tally, good = Tally(), orjson.dumps(line())
    found = list(exchanges_of([good, bad, good], tally, keep=False, log=io.StringIO()))
    assert (len(found), tally.refused) == (2, 1)


def test_a_span_with_a_number_of_more_than_64_bits_can_be_written() -> None:
    sent = document(span(gen_ai__usage__input_tokens=10**20, gen_ai__usage__output_tokens=7))
    (one,) = events_in(orjson.dumps(sent), keep=False)
    assert one.usage == {"completion_tokens": 7}
    assert encode(one)


@pytest.mark.parametrize(("kind", "outcome"), [("504", "http_5xx"), ("524", "http_5xx"), ("404", "http_4xx")])
def test_a_status_is_read_as_a_number(kind: str, outcome: str) -> None:
    (one,) = events_in(orjson.dumps(document(span(status=2, error__type=kind))), keep=False)
    assert one.outcome == outcome


def test_a_log_that_speaks_of_spans_is_a_log() -> None:
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"properties": {"resourceSpans": {}}}}}]
    value = line()
    value["request"]["tools"] = tools
    assert len(events_in(orjson.dumps(value), keep=False)) == 1


def test_a_line_that_is_too_long_is_one_refusal() -> None:
    tally = Tally()
    data = io.BytesIO(b"x" * (3 * LINE_BYTES) + b"\n" + orjson.dumps(line()) + b"\n")
    found = list(exchanges_of(lines_of(io.BufferedReader(data)), tally, keep=False, log=io.StringIO()))
    assert (len(found), tally.refused) == (1, 1)


def test_gzip_of_two_members_is_read_whole_and_half_of_one_is_refused() -> None:
    one, other = b"1\n" * 3, b"2\n" * 4
    packed = gzip.compress(one) + gzip.compress(other)
    assert _unpacked(packed, "gzip") == one + other
    for end in (len(packed) - 1, len(packed) - 9, 12):
        with pytest.raises(RefusedError) as refused:
            _unpacked(packed[:end], "gzip")
        assert refused.value.status == 400


def taken(path: Path) -> tuple[int, int, str]:
    tally, log = Tally(), io.StringIO()
    found = list(exchanges_of(lines_in(path), tally, keep=False, log=log))
    return len(found), tally.refused, log.getvalue()


def test_rotated_logs_and_logs_with_a_mark_are_read(tmp_path: Path) -> None:
    data = b"".join(orjson.dumps(line(at=at)) + b"\r\n" for at in range(3))
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + data)
    (tmp_path / "a.jsonl.1.gz").write_bytes(gzip.compress(data) + gzip.compress(data[:-2]))
    assert taken(tmp_path / "a.jsonl") == (3, 0, "")
    assert taken(tmp_path / "a.jsonl.1.gz") == (6, 0, "")


@pytest.mark.parametrize("spoilt", [lambda data: data[:-20], lambda data: data[:10] + b"xxx" + data[13:]])
def test_damaged_gzip_is_said_to_be(tmp_path: Path, spoilt: Any) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(spoilt(gzip.compress(b"".join(orjson.dumps(line(at=at)) + b"\n" for at in range(50)))))
    with pytest.raises(UsageError, match="damaged gzip"):
        taken(path)


def test_what_is_no_log_at_all_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "pretty.json").write_bytes(orjson.dumps(line(), option=orjson.OPT_INDENT_2))
    n_found, _, told = taken(tmp_path / "pretty.json")
    assert (n_found, told.splitlines()[-1].partition(":")[0]) == (0, "no line could be used")
    (tmp_path / "empty").write_bytes(b"")
    assert taken(tmp_path / "empty")[2].startswith("there is no line: give one answer a line")
    for path, why in ((tmp_path, "directory"), (tmp_path / "none", "No such file")):
        with pytest.raises(UsageError, match=f"{path}: cannot be read: .*{why}"):
            taken(path)


async def test_the_receiver_goes_on_and_loses_nothing_whatever_fails(tmp_path: Path) -> None:
    class Odd(SqliteSpool):
        broken = False

        def append(self, *given: Any, **named: Any) -> int:
            if self.broken:
                raise TypeError("odd")
            return super().append(*given, **named)

    spool = Odd(tmp_path / "t.sqlite", writer="t")
    receiver = Receiver(endpoint=endpoint(), spool=spool, name="shop", vantage="here")
    receiver.take(events_in(orjson.dumps(line()), keep=False))
    spool.broken = True
    tries, sent = asyncio.Event(), asyncio.Event()

    async def push() -> None:
        sent.set()

    flush = receiver.flush

    class Watched:
        def flush(self) -> int:
            tries.set()
            return flush()

    flushing = asyncio.create_task(keep_flushing(Watched(), 0.01, push))  # type: ignore[arg-type]
    await tries.wait()
    assert not sent.is_set()
    spool.broken = False
    await sent.wait()
    flushing.cancel()
    assert (receiver.waiting, len(spool.pending(10))) == ([], 1)
    spool.close()

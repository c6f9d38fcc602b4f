"""``weighmaster decode``. Oracle: the corpus' expected records and the exit codes of DESIGN section 7."""

import io
import pathlib
from dataclasses import replace

import orjson
import pytest

from jobs.decode import run
from monitor.errors import UsageError
from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.files import dump, load
from monitor.wire.guess import guessed
from tests.wire.decoded import decode_file
from tests.wire.golden import FOLDER, cases
from tests.wire_protocols.cases import FOLDER as PROTOCOL_FOLDER
from tests.wire_protocols.cases import read_case

PROTOCOL_FILES = [path for path in sorted(PROTOCOL_FOLDER.rglob("*.*")) if path.suffix != ".json"]


def test_json_is_one_document_with_the_record() -> None:
    out = io.StringIO()
    assert run(FOLDER / "TM-01.timed", "timed", as_json=True, out=out) == 0
    document = orjson.loads(out.getvalue())
    assert (document["content"], document["first_event_ms"], document["ttft_ms"]) == ("Go!", 40, 350)
    assert document["tool_calls"] == []
    assert document["usage"] is None


def test_no_answer_is_exit_one() -> None:
    assert run(FOLDER / "TE-02.sse", "sse", as_json=True, out=io.StringIO()) == 1


def test_text_is_printable_whatever_the_model_wrote(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.sse"
    choice = {"index": 0, "delta": {"content": "\x1b[2J\u202eevil\n'\""}, "finish_reason": "stop"}
    path.write_bytes(b"data: " + orjson.dumps({"choices": [choice]}) + b"\n\ndata: [DONE]\n\n")
    out = io.StringIO()
    assert run(path, "sse", as_json=False, out=out) == 0
    assert all(line.isascii() and line.isprintable() for line in out.getvalue().splitlines())
    assert "           outcome  ok\n" in out.getvalue()
    assert r"\x1b[2J\u202eevil\n" in out.getvalue()


def test_unusable_files(tmp_path: pathlib.Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.sse: No such file"):
        decode_file(tmp_path / "missing.sse", "sse")
    (tmp_path / "bad.timed").write_bytes(b"{}")
    with pytest.raises(UsageError, match=r"bad\.timed: line 1: "):
        decode_file(tmp_path / "bad.timed", "timed")
    with pytest.raises(UsageError, match="unknown capture format"):
        decode_file(tmp_path / "bad.timed", "pcap")


def test_every_protocol_is_decoded_from_a_file_that_names_none() -> None:
    """Oracle: the decoder of the folder's protocol, which the golden records of that folder hold to."""
    for path in PROTOCOL_FILES:
        case = read_case(path)
        exchange = decode_file(path, path.suffix[1:], protocol=path.parent.name)
        assert exchange == decode(replace(case.capture, sent=b""))  # a file of bytes does not hold the request


def test_a_guess_is_never_wrong() -> None:
    """Oracle: the folders' names. Where nothing is guessed the answer is read as a chat."""
    found = {path: guessed(read_case(path).capture) for path in PROTOCOL_FILES}
    assert {path.name: kind for path, kind in found.items() if kind not in {None, path.parent.name}} == {}
    told = {path.parent.name for path, kind in found.items() if kind is not None}
    assert told == {path.parent.name for path in PROTOCOL_FILES}


def test_a_chat_is_never_taken_for_something_else() -> None:
    """Oracle: the whole corpus of chat answers, hostile ones among them."""
    for param in cases():
        case = param.values[0]
        assert guessed(load(case.data, case.format)) is None, case.name


@pytest.mark.parametrize(
    ("body", "protocol"),
    [
        (b'event: message_start\ndata: {"type":"message_start","message":{}}\n\n', "anthropic_messages"),
        (b'data: {"type":"ping"}\n\ndata: {"type":"message_start","message":{}}\n\n', "anthropic_messages"),
        (b'{"type":"message","role":"assistant","content":[]}', "anthropic_messages"),
        (b'{\n "type": "message",\n "content": []\n}', "anthropic_messages"),
        (b'data: {"type":"response.created","response":{}}\n\n', "openai_responses"),
        (b'{"object":"response","output":[]}', "openai_responses"),
        (b'{"model":"m","message":{"content":"a"},"done":false}\n{"message":{},"done":true}\n', "ollama_chat"),
        (b'{"model":"m","response":"a","done":false}\n', "ollama_generate"),
        (b'data: {"object":"text_completion","choices":[{"text":"a"}]}\n\n', "openai_completions"),
        (b'data: {"object":"text_completion","choices":[{"text":"a","delta":{"content":"a"}}]}\n\n', None),
        (b'data: {"object":"text_completion","choices":[{"delta":{"content":"a"}}]}\n\n', None),
        (b'{"error":{"type":"message","message":"no"}}', None),
        (b'{"type":"message_start"}', None),
        (b'{"done":true,"choices":[],"message":{}}', None),
        (b"[1]", None),
        (b"", None),
    ],
)
def test_what_tells_a_protocol(body: bytes, protocol: str | None) -> None:
    assert guessed(load(body, "sse")) == protocol


def test_a_flag_beats_what_the_file_says(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.sse"
    path.write_bytes(b'{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}]}')
    assert decode_file(path, "sse").choice.content == "hi"
    assert decode_file(path, "sse", protocol="openai_chat").choice.content == ""
    with pytest.raises(UsageError, match=r"no such protocol 'grpc': use one of anthropic_messages, "):
        decode_file(path, "sse", protocol="grpc")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        (b'"protocol":"openai_chat"', b'"protocol":"nope"', "no such protocol 'nope': say --protocol, one of anthr"),
        (b'"status":200', b'"status":"9999999999999999999999"', "damaged capture file: status: "),
        (b'"status":200', b'"status":99999', "damaged capture file: status: 99999 is no HTTP status"),
        (b'"status":200', b'"status":-1', "damaged capture file: status: -1 is no HTTP status"),
        (b'"t0_ns":0', b'"t0_ns":"99999999999999999999999"', "damaged capture file: t0_ns: "),
        (b'"attempt":1', b'"attempt":"99999999999999999999999"', "damaged capture file: attempt: "),
        (b'"base_ns":0', b'"base_ns":1e300', "damaged capture file: base_ns: no number"),
        (b'"at_ms":0.0', b'"at_ms":1e200', "damaged capture file: reads.0: no object with the number"),
    ],
)
def test_a_capture_with_impossible_values_is_one_line(
    field: bytes, value: bytes, words: str, tmp_path: pathlib.Path
) -> None:
    """A usage error, which the command line turns into one line and exit code 2."""
    path = tmp_path / "x.capture"
    data = dump(Capture(status=200, t0_ns=0, reads=(Read(0, b"{}"),))).replace(b": ", b":")
    assert field in data
    path.write_bytes(data.replace(field, value))
    with pytest.raises(UsageError) as caught:
        decode_file(path, "capture")
    assert str(caught.value).startswith(f"{path}: {words}")
    assert "\n" not in str(caught.value)


def test_a_capture_names_its_own_protocol(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "x.capture"
    body = b'{"type":"message","content":[{"type":"text","text":"hi"}]}'
    path.write_bytes(dump(replace(load(body, "sse"), protocol="ollama_chat")))
    assert decode_file(path, "capture").protocol == "ollama_chat"
    assert decode_file(path, "capture", protocol="anthropic_messages").choice.content == "hi"

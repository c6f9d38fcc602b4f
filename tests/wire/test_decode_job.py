"""``weighmaster decode``. Oracle: the corpus' expected records and the exit codes of DESIGN section 7."""

import io
import pathlib

import orjson
import pytest

from jobs.decode import decode_file, run
from monitor.errors import UsageError
from tests.wire.golden import FOLDER


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

"""The command line as a user runs it: exit codes, messages, JSON. Each test is one process."""

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "golden" / "wire"


def cli(*arguments: str, cwd: Path | None = None, **environ: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "jobs.cli", *arguments],
        capture_output=True, text=True, check=False, cwd=cwd, env={**os.environ, **environ}, timeout=120,
    )  # fmt: skip


def config(folder: Path, base_url: str, *, extra: str = "") -> Path:
    path = folder / "weighmaster.yaml"
    path.write_text(
        "endpoints:\n"
        f'  - {{name: acme/one, base_url: "{base_url}", model: m{extra}}}\n'
        "probes:\n"
        "  - {kind: speed, every: 10m, n_requests: 6, max_tokens: 4}\n"
        "  - {kind: logprobs, every: 1h, one_token: 8, greedy: 2, greedy_tokens: 2}\n"
    )
    return path


class Answer(BaseHTTPRequestHandler):
    """Answers every chat request with the class attributes: ``events``, where there are some, if it asks to stream."""

    status = 200
    body: bytes = b""
    events: tuple[dict[str, object], ...] = ()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        streams = bool(self.events) and bool(asked.get("stream"))
        events = "".join(f"data: {json.dumps(event)}\n\n" for event in self.events) + "data: [DONE]\n\n"
        body = events.encode() if streams else self.body
        self.send_response(self.status)
        self.send_header("content-type", "text/event-stream" if streams else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the name is given
        return


class WrongKey(Answer):
    status = 401
    body = b'{"error": {"message": "invalid key sk-test-abcdef", "type": "invalid_request_error"}}'


class NoLogprobs(Answer):
    body = json.dumps({
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
    }).encode()  # fmt: skip
    events = (
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m",
         "choices": [{"index": 0, "delta": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]},
        {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [],
         "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}},
    )  # fmt: skip


@pytest.fixture
def served(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that answers as the parameter (a handler class) says; yields its base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), request.param)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


def test_four_mistakes_and_a_key_without_a_value_are_five_messages(tmp_path: Path) -> None:
    (tmp_path / "weighmaster.yaml").write_text(
        "endpoints:\n"
        "  - name: acme/one\n"
        "    base_url: ftp://example.com\n"  # 1: not http
        "    model: 4.10\n"  # 2: not quoted
        "    api_key: ${NOT_SET_ANYWHERE}\n"  # 3: unset
        "    referense: x\n"  # 4: unknown key
        "probes:\n"
        "  - {kind: sped, every: 10m}\n"  # 5: unknown kind
    )
    done = cli("check", cwd=tmp_path)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if "(line" in line]
    assert len(lines) == 5, done.stderr
    assert "4 mistakes and 1 key without a value in the configuration:" in done.stderr
    for part in ("base_url", '"4.10"', "NOT_SET_ANYWHERE", "reference", "speed"):
        assert part in done.stderr


def test_check_shows_the_plan(tmp_path: Path) -> None:
    path = config(tmp_path, "http://127.0.0.1:1/v1", extra=", price_in_usd: 1.0, price_out_usd: 2.0")
    shown = json.loads(cli("check", "--json", "--config", str(path)).stdout)
    assert shown["total"]["requests_per_day"] == 6 * 144 + 10 * 24
    assert shown["total"]["usd_per_day"] > 0
    assert cli("check", "--config", str(path)).returncode == 0


def test_check_in_a_narrow_window_cuts_no_number(tmp_path: Path) -> None:
    path = config(tmp_path, "http://127.0.0.1:1/v1", extra=", price_in_usd: 1.0, price_out_usd: 2.0")
    shown = json.loads(cli("check", "--json", "--config", str(path)).stdout)
    done = cli("check", "--config", str(path), COLUMNS="60")
    assert max(len(line) for line in done.stdout.splitlines()) <= 60
    assert f"{shown['total']['tokens_in_per_day']:,.0f} tokens in" in " ".join(done.stdout.split())
    assert "…" not in done.stdout


def test_version() -> None:
    done = cli("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"weighmaster {metadata.version('weighmaster')}\n", "")


def test_schema_is_json_schema() -> None:
    schema = json.loads(cli("schema").stdout)
    assert "endpoints" in schema["properties"]


def test_missing_file_names_the_remedy(tmp_path: Path) -> None:
    done = cli("check", cwd=tmp_path)
    assert done.returncode == 2
    assert "weighmaster init" in done.stderr


def test_decode_prints_the_record() -> None:
    done = cli("decode", str(CASES / "FR-01.sse"), "--json")
    record = json.loads(done.stdout)
    assert (done.returncode, record["content"], record["outcome"]) == (0, "Green tea", "ok")


def test_decode_of_a_cut_stream_is_a_measured_failure(tmp_path: Path) -> None:
    path = tmp_path / "cut.sse"
    path.write_bytes(b'data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n')
    assert cli("decode", str(path)).returncode == 1
    assert cli("decode", str(tmp_path / "none.sse")).returncode == 2


class StuckAtLogprobs(Answer):
    """Answers until it is asked for logprobs; from then on it says nothing."""

    body = NoLogprobs.body
    stuck = threading.Event()
    go = threading.Event()

    def do_POST(self) -> None:
        asked = self.rfile.read(int(self.headers["content-length"]))
        if b"logprobs" in asked:
            self.stuck.set()
            self.go.wait(60)
            return
        self.rfile = io.BytesIO(asked)
        super().do_POST()


@pytest.mark.parametrize("served", [StuckAtLogprobs], indirect=True)
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_probe_that_is_stopped_keeps_what_it_has(served: str, how: signal.Signals, tmp_path: Path) -> None:
    StuckAtLogprobs.stuck.clear()
    StuckAtLogprobs.go.clear()
    arguments = ["probe", "acme/one", "--config", str(config(tmp_path, served)), "--json", "--out", "out"]
    with subprocess.Popen(
        [sys.executable, "-m", "jobs.cli", *arguments],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert StuckAtLogprobs.stuck.wait(120)
        process.send_signal(how)
        out, err = process.communicate(timeout=60)
    StuckAtLogprobs.go.set()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "stopped; finished runs kept in out: 1"
    assert "Traceback" not in err
    kept = sorted(path.name for path in (tmp_path / "out" / "acme__one").glob("*/*"))
    assert kept == [*(f"{index:03}.capture" for index in range(6)), "record.json"]


def test_dead_endpoint_fails_with_its_cause(tmp_path: Path) -> None:
    path = config(tmp_path, "http://127.0.0.1:9/v1")
    done = cli("probe", "acme/one", "--config", str(path), "--json", "--out", str(tmp_path / "out"))
    row = json.loads(done.stdout)["endpoints"][0]
    assert (done.returncode, row["status"], row["cause"]) == (1, "fail", "connect_error")
    assert row["ttft_ms_p50"] is None


@pytest.mark.parametrize("served", [WrongKey], indirect=True)
def test_wrong_key_could_not_be_measured(served: str, tmp_path: Path) -> None:
    path = config(tmp_path, served, extra=", api_key: '${TEST_KEY}'")
    done = cli(
        "probe", "acme/*", "--config", str(path), "--json", "--out", str(tmp_path / "out"), TEST_KEY="sk-test-abcdef"
    )
    row = json.loads(done.stdout)["endpoints"][0]
    assert (done.returncode, row["status"]) == (3, "inconclusive")
    assert "auth_error" in row["cause"]
    kept = b"".join(file.read_bytes() for file in (tmp_path / "out").rglob("*") if file.is_file())
    assert b"sk-test-abcdef" not in kept
    assert "sk-test-abcdef" not in done.stdout + done.stderr


@pytest.mark.parametrize("served", [NoLogprobs], indirect=True)
def test_endpoint_without_logprobs_is_inconclusive_and_says_so(served: str, tmp_path: Path) -> None:
    path = config(tmp_path, served)
    done = cli("probe", "acme/one", "--config", str(path), "--json", "--out", str(tmp_path / "out"))
    row = json.loads(done.stdout)["endpoints"][0]
    assert (done.returncode, row["status"]) == (3, "inconclusive")
    assert "no_logprobs" in row["cause"]


def test_unknown_endpoint_lists_the_known_ones(tmp_path: Path) -> None:
    path = config(tmp_path, "http://127.0.0.1:9/v1")
    done = cli("probe", "acme/two", "--config", str(path))
    assert done.returncode == 2
    assert "acme/one" in done.stderr


def test_unwritable_out_is_said_before_anything_is_sent(tmp_path: Path) -> None:
    path = config(tmp_path, "http://127.0.0.1:9/v1")
    (tmp_path / "file").write_text("")
    done = cli("probe", "acme/one", "--config", str(path), "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "choose another --out" in done.stderr


def test_status_without_a_store(tmp_path: Path) -> None:
    done = cli("status", "--config", str(config(tmp_path, "http://127.0.0.1:9/v1")), "--store-url", "http://127.0.0.1:9")
    assert done.returncode == 3
    assert "is the store running?" in done.stderr


def test_init_refuses_to_overwrite(tmp_path: Path) -> None:
    config(tmp_path, "http://127.0.0.1:9/v1")
    done = cli("init", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert done.returncode == 2
    assert "exists already" in done.stderr

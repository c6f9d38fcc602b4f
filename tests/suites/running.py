"""A customer's folder, a configuration of two endpoints, and the command line in this process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

import jobs.suite_run
from jobs.cli import build
from jobs.suite_store import key_name, new_key
from monitor.results import Fingerprint
from monitor.types import Capture, Read, Request

KEYS = {"acme": new_key(), "globex": new_key()}


def cases(n: int, *, privacy: str = "keep", repeats: int = 1, word: str = "word") -> str:
    """`n` cases that want the number in their prompt."""
    rows = [
        {"id": f"{word}-{at}", "prompt": f"Say {at}.", "oracles": [{"kind": "exact", "value": str(at)}],
         "privacy": privacy, "repeats": repeats, "parameters": {"temperature": 0.0, "max_tokens": 8}}
        for at in range(n)
    ]  # fmt: skip
    return "".join(orjson.dumps(row).decode() + "\n" for row in rows)


def number(body: dict[str, Any]) -> int:
    """The number that a request of `cases` asks for."""
    return int(str(body["messages"][-1]["content"]).removeprefix("Say ").rstrip("."))


def write_config(folder: Path, *urls: str, reference: bool = False) -> Path:
    """A configuration whose endpoints are called acme/0, acme/1, ..."""
    named = "".join(
        f"  - {{name: acme/{at}, base_url: {url}, model: m{', reference: golden' if reference else ''}}}\n"
        for at, url in enumerate(urls)
    )
    references = f"references:\n  golden: {{path: {folder}}}\n" if reference else ""
    path = folder / "weighmaster.yaml"
    path.write_text(f"{references}endpoints:\n{named}")
    return path


@dataclass(frozen=True, slots=True)
class Golden:
    """A golden engine that knows every answer but those above `knows`; as a client it gives whole chat bodies."""

    knows: int = 1000

    @property
    def fingerprint(self) -> Fingerprint:
        return Fingerprint(
            digest=f"golden-{self.knows}", weights_sha256="0", tokenizer_sha256="0", template_sha256="0", dtype="f",
            engine="fake",
        )  # fmt: skip

    async def send(self, request: Request) -> Capture:
        asked = number({"messages": request.messages})
        message = {"role": "assistant", "content": str(asked) if asked < self.knows else "no idea"}
        body = orjson.dumps({"model": "golden", "choices": [{"message": message, "finish_reason": "stop"}]})
        return Capture(request=request, status=200, headers=(("content-type", "application/json"),),
                       reads=(Read(2, body),), t0_ns=1, sent_ns=1, first_byte_ns=2, eof_ns=3)  # fmt: skip

    async def aclose(self) -> None:
        return

    def close(self) -> None:
        return


def with_golden(monkeypatch: pytest.MonkeyPatch, golden: Golden) -> None:
    """Have runs find `golden` for their reference, instead of weights."""

    @contextmanager
    def scorers(_config: Any, entries: Sequence[Any], _console: Any) -> Iterator[dict[str, Any]]:
        yield {"golden": golden} if entries else {}

    monkeypatch.setattr(jobs.suite_run, "scorers", scorers)


def weighmaster(*arguments: str, customers: Sequence[str] = ("acme",)) -> Result:
    """Run a command with the keys of `customers` in its environment."""
    environ = {key_name(one): KEYS[one] for one in customers}
    return CliRunner().invoke(build(), list(arguments), env=environ)


def document(result: Result) -> dict[str, Any]:
    """The one document that --json promises."""
    found: dict[str, Any] = orjson.loads(result.stdout)
    return found

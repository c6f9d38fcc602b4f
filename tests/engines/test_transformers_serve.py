"""The capability matrix of a real `transformers serve`. Oracle: its own log, which names the fields that it ignores.

Not part of a plain test run: ``make test-serve`` installs what serving needs and runs this.
"""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from tests.engines.matrix import matrix

pytestmark = [pytest.mark.serve, pytest.mark.timeout(1200)]

_IGNORED = re.compile(r"Ignoring unsupported fields in the request: \{(.*)\}")
_FIELDS = {
    "n": "n", "logprobs": "logprobs", "response_format": "json_object", "tool_choice": "tool_choice_required",
}  # fmt: skip
"""Fields of a request, and a feature that shows whether they are kept."""


class Served(NamedTuple):
    """A running server: its address, the folder that it serves, and its log."""

    url: str
    folder: Path
    log: Path


@pytest.fixture(scope="module")
def served(golden_home: Path, golden_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    python = golden_home / "transformers-serve" / "bin" / "python"
    if not python.exists():
        pytest.fail("run tests/engines/install_transformers_serve.sh", pytrace=False)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    log = tmp_path_factory.mktemp("serve") / "log"
    command = [python, Path(sys.executable).with_name("transformers"), "serve", "--host", "127.0.0.1", "--port", port,
               "--device", "cpu", "--dtype", "float32", golden_folder]  # fmt: skip
    with log.open("wb") as file:
        process = subprocess.Popen(
            list(map(str, command)), stdout=file, stderr=file, env={**os.environ, "HF_HUB_OFFLINE": "1"}
        )
    try:
        yield Served(f"http://127.0.0.1:{port}/v1", golden_folder, log)
    finally:
        process.terminate()
        process.wait()


async def up(url: str) -> None:
    async with httpx.AsyncClient(timeout=5) as client, asyncio.timeout(180):
        while True:
            try:
                if (await client.get(f"{url}/models")).status_code == 200:
                    return
            except httpx.TransportError:
                await asyncio.sleep(0.5)


async def test_what_the_server_says_it_ignores_is_measured_as_ignored_and_nothing_kept_is(served: Served) -> None:
    await up(served.url)
    found = await matrix(served.url, str(served.folder))
    text = served.log.read_text("utf-8", "replace")
    said = {name.strip(" '") for names in _IGNORED.findall(text) for name in names.split(",")}
    assert said >= set(_FIELDS)
    assert {field: found[feature].standing for field, feature in _FIELDS.items()} == dict.fromkeys(_FIELDS, "ignored")
    assert "['temperature']" in text, "it does not draw unless the model's own file says so, and says that too"
    assert found["temperature"].standing == "ignored"
    assert {found[name].standing for name in ("max_tokens", "usage", "model_echo")} == {"kept"}

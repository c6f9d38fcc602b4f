"""`suite run` with a real golden engine (a tiny random model): an endpoint that serves it passes, another one fails."""

import asyncio
from pathlib import Path
from typing import Any

import orjson
import pytest
import transformers

from monitor.types import Request
from reference.engine import TorchEngine
from tests.reference.tiny import save_tiny
from tests.suites.running import document, weighmaster
from tests.suites.server import serving
from tests.suites.test_run import arguments


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return save_tiny(tmp_path_factory.mktemp("suite") / "model")


def test_golden_relative_cases_beside_real_weights(folder: Path, tmp_path: Path) -> None:
    suite, config = tmp_path / "relative.jsonl", tmp_path / "weighmaster.yaml"
    rows = [{"prompt": f"Say {at}.", "oracles": [{"kind": "golden_relative"}, {"kind": "regex", "pattern": "."}],
             "parameters": {"temperature": 0.0, "max_tokens": 6}} for at in range(48)]  # fmt: skip
    suite.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    engine = TorchEngine.load(folder, device="cpu", threads=1)

    def serves_it(body: dict[str, Any]) -> str:
        request = Request(prompt_id="a", messages=tuple(body["messages"]), max_tokens=6, temperature=0.0)
        capture = asyncio.run(engine.send(request))
        return str(orjson.loads(capture.body)["choices"][0]["message"]["content"])

    with serving(serves_it) as faithful, serving(lambda _: "something else") as other:
        config.write_text(
            f"references:\n  golden: {{path: {folder}, device: cpu}}\nendpoints:\n"
            f"  - {{name: acme/0, base_url: '{faithful.url}', model: m, reference: golden}}\n"
            f"  - {{name: acme/1, base_url: '{other.url}', model: m, reference: golden}}\n"
        )
        fine = weighmaster(*arguments(suite, config, "--json"))
        wrong = weighmaster(*arguments(suite, config, "--json", endpoint="acme/1"))
    engine.close()
    assert (fine.exit_code, document(fine)["difference"]["value"]) == (0, 0.0)
    assert (wrong.exit_code, document(wrong)["difference"]["value"]) == (1, -1.0)
    assert document(fine)["reference"] == document(wrong)["reference"] == engine.fingerprint.digest

"""Golden folders out of a model hub. Oracle: the folder that a hub on loopback serves, and what it was asked."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from jobs.hub import fetch
from monitor.errors import GoldenError
from reference.fingerprint import verify
from reference.tokenizer import GoldenTokenizer
from tests.fakes.hub import COMMIT, REPO, Hub, serving_hub
from tests.reference.tiny import save_tiny

TOKEN = "hf_TopSecretTokenOfSomebody"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, with all that must not be fetched beside it."""
    folder = save_tiny(tmp_path_factory.mktemp("served"))
    (folder / "onnx").mkdir()
    for name in ("modeling_tiny.py", "pytorch_model.bin", "tokenizer.pkl", "tokenizer.pickle",
                 "tokenizer.joblib", "README.md", "consolidated.safetensors",
                 "onnx/model.safetensors"):  # fmt: skip
        (folder / name).write_bytes(b"nobody reads this")
    return folder


def build(tmp_path: Path, address: str, *arguments: str, **environ: str) -> "subprocess.CompletedProcess[str]":
    """`reference build` as its own process, with nothing of this machine's hub settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "TRANSFORMERS_"))}
    own = {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_DISABLE_TELEMETRY": "1"}
    return subprocess.run(
        [sys.executable, "-m", "jobs.cli", "reference", "build", *arguments],
        capture_output=True, text=True, check=False, env={**kept, **own, **environ}, timeout=120,
    )  # fmt: skip


def test_fetches_data_of_the_commit_and_seals_it(tmp_path: Path, served: Path) -> None:
    hub, folder = Hub(served), tmp_path / "golden"
    with serving_hub(hub) as address:
        done = build(tmp_path, address, str(folder), "--hub", REPO, "--revision", "main", HF_TOKEN=TOKEN)
        again = build(tmp_path, address, str(folder), "--hub", REPO)
    assert (done.returncode, done.stdout) == (0, f"{folder}\n"), done.stderr
    assert again.returncode == 0, again.stderr
    sealed = verify(folder, revision=COMMIT)
    assert (sealed["source"], sealed["revision"]) == (REPO, COMMIT)
    fetched = {path.name for path in folder.iterdir() if not path.name.startswith(".")} - {"weighmaster.json"}
    assert fetched == {
        "config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json",
        "chat_template.jinja",
    }  # fmt: skip
    for name in fetched:
        assert (folder / name).read_bytes() == (served / name).read_bytes()
    assert GoldenTokenizer.load(folder).encode("river") == GoldenTokenizer.load(served).encode("river")
    assert not [path for path in hub.seen if path.endswith((".py", ".bin", ".pkl", ".pickle", ".joblib", "README.md"))]
    # One HEAD and one GET: the second run fetched nothing.
    assert sum(path.endswith("/model.safetensors") for path in hub.seen) <= 2


def test_the_token_is_sent_and_told_to_nobody(tmp_path: Path, served: Path) -> None:
    hub, folder = Hub(served), tmp_path / "golden"
    with serving_hub(hub) as address:
        done = build(tmp_path, address, str(folder), "--hub", REPO, HF_TOKEN=TOKEN, HF_DEBUG="")
        hub.error = (403, "GatedRepo")
        refused = build(tmp_path, address, str(tmp_path / "other"), "--hub", REPO, HF_TOKEN=TOKEN)
    assert f"Bearer {TOKEN}" in hub.keys
    assert refused.returncode != 0
    assert TOKEN not in done.stdout + done.stderr + refused.stdout + refused.stderr
    assert not [path for path in folder.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["--hub", "acme/none"], None, "acme/none: HUB has no such model, or it is private"),
        (["--hub", REPO, "--revision", "none"], None, "acme/tiny: HUB knows no branch, tag or commit none of it"),
        (["--hub", REPO], (403, "GatedRepo"), "acme/tiny: gated; accept its terms on HUB"),
        # No status that the hub's library tries again for half a minute.
        (["--hub", REPO], (501, ""), "acme/tiny: HUB answers HTTP 501"),
        (["--hub", "a b/c"], None, "--hub a b/c: no name of a model; write ORG/NAME"),
        (["--hub", REPO, "--gguf", "x.gguf"], None, "--gguf and --hub are two sources"),
    ],
)
def test_refusals_are_one_line(
    tmp_path: Path, served: Path, arguments: list[str], error: tuple[int, str] | None, *, said: str
) -> None:
    with serving_hub(Hub(served, error=error)) as address:
        done = build(tmp_path, address, str(tmp_path / "golden"), *arguments)
    expected = f"weighmaster: {said.replace('HUB', address.removeprefix('http://'))}"
    assert done.stderr.splitlines()[-1].startswith(expected), done.stderr
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (2, "", False)
    assert not (tmp_path / "golden" / "weighmaster.json").exists()


def test_a_transfer_that_breaks_off_is_said_and_a_bug_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are a RuntimeError; only that of the transfer is about the network."""
    names = ("config.json", "tokenizer.json", "model.safetensors")
    info = SimpleNamespace(sha=COMMIT, siblings=[SimpleNamespace(rfilename=name) for name in names])
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: SimpleNamespace(model_info=lambda *_, **__: info))
    monkeypatch.setattr("huggingface_hub.snapshot_download", broken)
    with pytest.raises(GoldenError, match=r"^acme/tiny: the transfer broke off \(RuntimeError\); try again"):
        fetch(REPO, None, tmp_path, lambda _line: None)
    with pytest.raises(RuntimeError, match="a bug of ours"):
        fetch(REPO, None, tmp_path, lambda _line: broken("a bug of ours"))


def broken(words: str, **_: object) -> None:
    raise RuntimeError(words)


@pytest.mark.parametrize(
    ("environ", "said"),
    [({"HF_HUB_OFFLINE": "1"}, "while HF_HUB_OFFLINE is set"), ({}, "127.0.0.1:9 cannot be reached (ConnectError)")],
)
def test_without_a_network(tmp_path: Path, environ: dict[str, str], said: str) -> None:
    done = build(tmp_path, "http://127.0.0.1:9", str(tmp_path / "golden"), "--hub", REPO, **environ)
    assert done.returncode != 0
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_model_without_safetensors_and_a_folder_of_another_model(tmp_path: Path, served: Path) -> None:
    pickled, mixed = tmp_path / "pickled", tmp_path / "mixed"
    pickled.mkdir()
    mixed.mkdir()
    (mixed / "model-00002-of-00002.safetensors").write_bytes(b"old")
    for name in ("config.json", "tokenizer.json", "pytorch_model.bin"):
        (pickled / name).write_text(json.dumps({}))
    with serving_hub(Hub(pickled)) as address:
        bare = build(tmp_path, address, str(tmp_path / "golden"), "--hub", REPO)
    with serving_hub(Hub(served)) as address:
        other = build(tmp_path, address, str(mixed), "--hub", REPO)
    assert f"acme/tiny at {COMMIT}: has no *.safetensors, which a golden folder needs" in bare.stderr
    assert "model-00002-of-00002.safetensors: not part of acme/tiny at that revision" in other.stderr
    assert (bare.returncode, other.returncode) == (2, 2)

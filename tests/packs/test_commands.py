"""The commands, on a tiny model with room for the prompts of the probe."""

import json
from pathlib import Path

import pytest
import transformers
from typer.testing import CliRunner

from jobs.cli import build
from jobs.references import scorer_for
from monitor.config_types import ReferenceConfig
from monitor.errors import GoldenError, UsageError
from monitor.ports import ScoreTask
from tests.reference.tiny import save_tiny


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=4096, eos_token_id=2,
    )  # fmt: skip
    return save_tiny(tmp_path_factory.mktemp("tiny") / "model", config=config)


def run(*arguments: str | Path) -> str:
    done = CliRunner().invoke(build(), [*map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_pack_is_made_inspected_and_used(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "tiny.pack"
    options = ("--folder", folder, "--top-k", "40", "--samples", "1", "--sample-tokens", "3", "--variants", "bf16")
    made = json.loads(run("reference", "pack", "-o", path, *options, "--json"))
    assert made["prompts"] == 72  # 32 of logprobs, 40 of greedy
    assert made["samples"] == 72
    assert made["deviations"] == made["positions"] > 72
    found = json.loads(run("reference", "pack-inspect", path, "--against", folder, "--json"))
    assert (found["sha256"], found["top_k"], found["against"]) == (made["sha256"], 40, str(folder))
    assert found["about"]["variants"] == ["bf16"]
    assert found["about"]["probes"] == {"logprobs": 1, "greedy": 1}
    assert "72 prompts" in run("reference", "pack-inspect", path)
    config = ReferenceConfig(engine="pack", path=str(path), sha256=made["sha256"])
    assert scorer_for(config).fingerprint.digest == made["fingerprint"]
    with pytest.raises(GoldenError, match="pinned"):
        scorer_for(ReferenceConfig(engine="pack", path=str(path), sha256="0"))


def test_a_pack_is_signed_with_a_key_of_ones_own(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a key in a file and with the same key in the environment; inspected with and without knowing the signer."""
    key, path = tmp_path / "key.pem", tmp_path / "tiny.pack"
    public = run("reference", "pack-key", key).strip()
    options = ("--folder", folder, "--top-k", "9", "--model", "Org/Tiny")
    made = json.loads(run("reference", "pack", "-o", path, *options, "--sign", key, "--json"))
    assert (made["signer"], made["model"], made["triggers"]) == (public, "Org/Tiny", 0)
    text = run("reference", "pack-inspect", path, "--key", public)
    assert f"signed by {public}, signature valid" in text
    assert "model Org/Tiny, revision unknown" in text
    monkeypatch.setenv("PACK_KEY", key.read_text("utf-8"))
    again = json.loads(run("reference", "pack", "-o", tmp_path / "b", *options, "--sign-env", "PACK_KEY", "--json"))
    assert again["signer"] == public
    with pytest.raises(UsageError, match="exists already"):
        run("reference", "pack-key", key)
    other = json.loads(run("reference", "pack-key", tmp_path / "other.pem", "--json"))["public_key"]
    with pytest.raises(GoldenError, match="none of the 1 in `keys`"):
        run("reference", "pack-inspect", path, "--key", other)
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    done = CliRunner().invoke(build(), ["reference", "pack-inspect", str(path)])
    assert done.exit_code == 1
    assert "signature NOT VALID" in done.stdout
    path.write_bytes(b"PK\x03\x04 no zip" + path.read_bytes()[-112:])
    done = CliRunner().invoke(build(), ["reference", "pack-inspect", str(path), "--against", str(folder)])
    assert (done.exit_code, done.stderr) == (1, "")
    assert f"nothing in it was read, so it was not compared with {folder} (--against)" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sign", "key.pem", "--sign-env", "X"), "not both"),
        (("--sign-env", "NO_SUCH_VARIABLE"), "NO_SUCH_VARIABLE is not set"),
        (("--sign", "/no/such/key"), "no such file"),
        (("--probe", "telepathy"), "no probe of kind telepathy; there are .*logprobs"),
    ],
)
def test_mistakes_are_found_before_anything_is_computed(
    options: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=words):
        run("reference", "pack", "-o", tmp_path / "x", "--folder", tmp_path / "nowhere", *options)


def test_what_is_asked_for_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checked: list[Path] = []
    monkeypatch.setattr("jobs.pack.require_writable", checked.append)
    with pytest.raises(GoldenError, match="nowhere"):
        run("reference", "pack", "-o", tmp_path / "x", "--folder", tmp_path / "nowhere")
    assert checked == [tmp_path / "x"]


def test_variants_that_change_more_than_weights_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="more than weights"):
        run("reference", "pack", "-o", tmp_path / "x", "--folder", folder, "--variants", "kv-4")


def test_answers_in_a_file_are_scored(folder: Path, tmp_path: Path) -> None:
    """Oracle: the same ids scored directly."""
    path = tmp_path / "answers.jsonl"
    rows = [{"prompt_ids": [5, 6, 7], "completion_ids": [8, 9]},
            {"messages": [{"role": "user", "content": "boats"}], "text": "12 boats"}]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    lines = [json.loads(line) for line in run("reference", "score", path, "--folder", folder).splitlines()]
    by_line = {line["line"]: line for line in lines}
    scorer = scorer_for(ReferenceConfig(path=str(folder)))
    (expected,) = scorer.score([ScoreTask(prompt_ids=(5, 6, 7), completion_ids=(8, 9))])
    assert by_line[1]["logprob"] == pytest.approx(expected.logprob.tolist(), abs=1e-5)
    assert by_line[1]["rank"] == expected.rank.tolist()
    assert by_line[2]["ids"] == scorer.tokenizer.encode("12 boats")


def test_processes_and_spreading_exclude_each_other(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="leave `workers` at 1"):
        run("reference", "score", tmp_path / "x", "--folder", folder, "--device", "balanced", "--workers", "2")


def test_a_line_of_another_shape_is_refused_with_its_number(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"prompt_ids": [1], "completion_ids": [2]}\n{"text": "x"}', "utf-8")
    with pytest.raises(UsageError, match="line 2: needs prompt_ids"):
        run("reference", "score", path, "--folder", folder)
    with pytest.raises(UsageError, match="cannot be read"):
        run("reference", "score", tmp_path / "none", "--folder", folder)

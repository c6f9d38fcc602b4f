"""A sealed golden folder that anybody might have: a tiny random Llama with room for the probe's prompts."""

from pathlib import Path

import pytest
import transformers
from safetensors.numpy import load_file, save_file

from reference.fingerprint import seal
from reference.tokenizer import GoldenTokenizer
from tests.reference.tiny import SPECIAL, llama_config, save_tiny

_EMBEDDINGS = "model.embed_tokens.weight"


@pytest.fixture(scope="session")
def sealed_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Copy it before changing anything."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    config = llama_config()
    config.max_position_embeddings = 512
    folder = save_tiny(tmp_path_factory.mktemp("sealed") / "tiny-llama", config=config)
    _speak_ascii(folder)
    seal(folder, source="tiny", source_sha256=None, versions={})
    return folder


def _speak_ascii(folder: Path) -> None:
    """Make all other tokens unlikely: an end is no answer, and llama.cpp joins tokens that end inside a character."""
    tokenizer = GoldenTokenizer.load(folder)
    tensors = load_file(folder / "model.safetensors")
    for identifier in range(tokenizer.n_vocab):
        if identifier < len(SPECIAL) or not tokenizer.token_bytes(identifier).isascii():
            tensors[_EMBEDDINGS][identifier] = 0
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

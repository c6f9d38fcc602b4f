"""A tiny model whose heads are wide enough for the blocks of a KV cache."""

from pathlib import Path

import pytest
import transformers

from tests.reference.tiny import CONTEXT, EOS, save_tiny


@pytest.fixture(scope="session")
def wide_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four layers, heads of 32, inputs of 64 and 96. Copy it before changing anything."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    config = transformers.LlamaConfig(
        hidden_size=64, intermediate_size=96, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=1,
        head_dim=32, max_position_embeddings=CONTEXT, tie_word_embeddings=True, bos_token_id=1, eos_token_id=EOS,
    )  # fmt: skip
    return save_tiny(tmp_path_factory.mktemp("wide") / "model", config=config, seed=3)

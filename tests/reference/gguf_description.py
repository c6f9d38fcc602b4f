"""A GGUF file that describes a llama folder but holds no weights: where writers take their metadata from."""

import json
from pathlib import Path

import gguf

from tests.reference.tiny import EOS, SPECIAL, TEMPLATE


def save_description(folder: Path, path: Path, *, pre: str = "smollm") -> Path:
    """Write the description of the model in `folder` as `path`; `pre` is what llama.cpp calls its pre-tokenizer."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_freq_base(10000.0)
    model = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].__getitem__)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(tokens)
    writer.add_token_types([3 if token in SPECIAL else 1 for token in tokens])
    writer.add_token_merges([" ".join(pair) for pair in model["merges"]])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(EOS)
    writer.add_unk_token_id(0)
    writer.add_chat_template(TEMPLATE)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_Q4_1)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path

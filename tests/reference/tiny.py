"""A complete random model in two seconds: a Llama of two layers with its own byte-level tokenizer and template."""

import json
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers
from tokenizers import decoders, models, pre_tokenizers, trainers

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
EOS = 2
CONTEXT = 96
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_TEXT = [
    "The river is wide and the bridge over the river is narrow.",
    "12 boats, 345 stones: naïve café 日本 🙂",
    "def add(a, b): return a + b",
]


def make_tokenizer() -> tokenizers.Tokenizer:
    """A byte-level BPE of about 340 pieces."""
    tokenizer = tokenizers.Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(_TEXT * 4, trainer)
    return tokenizer


def save_tokenizer(folder: Path) -> int:
    """Write the tokenizer's files; return the size of its vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = make_tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    (folder / "chat_template.jinja").write_text(TEMPLATE, "utf-8")
    return tokenizer.get_vocab_size()


def save_tiny(folder: Path, *, seed: int = 0, config: transformers.PretrainedConfig | None = None) -> Path:
    """Write a model folder with random weights that spread its logits."""
    n_vocab = save_tokenizer(folder)
    chosen = config or llama_config(n_vocab)
    chosen.vocab_size = n_vocab
    torch.manual_seed(seed)
    model: Any = transformers.AutoModelForCausalLM.from_config(chosen)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim > 1:
                weight.mul_(4.0)
    model.save_pretrained(folder)
    return folder


def llama_config(n_vocab: int = 300) -> transformers.PretrainedConfig:
    """Two layers, width 64, four heads over two key-value heads."""
    return transformers.LlamaConfig(
        vocab_size=n_vocab,
        hidden_size=64,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=CONTEXT,
        tie_word_embeddings=True,
        bos_token_id=1,
        eos_token_id=EOS,
    )

"""Token ids, bytes and end tokens; transformers and the tokenizers library are the oracles."""

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import decoders, models, normalizers, processors

from monitor.errors import GoldenError
from reference.token_bytes import byte_alphabet
from reference.tokenizer import GoldenTokenizer
from tests.reference.tiny import EOS, make_tokenizer, save_tokenizer

HELLO = [{"role": "user", "content": "The river 12 🙂"}]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> GoldenTokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return GoldenTokenizer.load(folder)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(max_size=40))
def test_text_survives_encode_and_decode(tiny: GoldenTokenizer, text: str) -> None:
    ids = tiny.encode(text)
    assert tiny.decode(ids) == text
    assert b"".join(tiny.token_bytes(identifier) for identifier in ids) == text.encode()


def test_the_alphabet_is_the_one_of_the_tokenizers_library() -> None:
    """Oracle: the library's own byte-level encoding of every one-byte and two-byte text."""
    from tokenizers.pre_tokenizers import ByteLevel

    assert set(byte_alphabet()) == set(ByteLevel.alphabet())
    alphabet = byte_alphabet()
    splitter = ByteLevel(add_prefix_space=False, use_regex=False)
    for point in range(1, 0x250):
        ((piece, _),) = splitter.pre_tokenize_str(chr(point))
        assert bytes(alphabet[character] for character in piece) == chr(point).encode()


def test_every_token_is_found_by_its_bytes(tiny: GoldenTokenizer) -> None:
    for identifier in range(tiny.n_vocab):
        raw = tiny.token_bytes(identifier)
        assert tiny.token_id(raw.decode("utf-8", "replace"), tuple(raw)) == identifier


def test_tokens_of_an_api_answer(tiny: GoldenTokenizer) -> None:
    river = tiny.encode(" river")
    assert len(river) == 1
    assert tiny.token_id(" river") == river[0]
    assert tiny.token_id("anything", list(b" river")) == river[0]
    assert tiny.token_id("<|im_end|>") == EOS  # as vLLM writes the end
    assert tiny.token_id("", []) == EOS  # as llama.cpp writes it
    assert tiny.token_id("") == EOS
    part = tiny.token_id("\ufffd", [0xE6])  # the first byte of 日 alone
    assert part is not None
    assert tiny.token_bytes(part) == b"\xe6"


@pytest.mark.parametrize(
    ("token", "raw"),
    [("\ufffd", None), ("no such token", None), ("x", [0xE6, 0x01]), ("x", [999]), ("x", [-1]), (chr(0xDC80), None)],
)
def test_what_is_not_exactly_one_token_is_none(tiny: GoldenTokenizer, token: str, raw: list[int] | None) -> None:
    assert tiny.token_id(token, raw) is None


def test_a_start_token_is_never_doubled(tmp_path: Path) -> None:
    """The tokenizer would add one by itself, the template writes one: exactly one comes out, as in transformers."""
    save_tokenizer(tmp_path)
    codec = make_tokenizer()
    codec.post_processor = processors.TemplateProcessing(
        single="<|im_start|> $A <|im_end|>", special_tokens=[("<|im_start|>", 1), ("<|im_end|>", 2)]
    )
    codec.enable_truncation(4)
    codec.enable_padding(length=99)
    codec.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "chat_template.jinja").write_text("{{ bos_token }}{{ messages[0].content }}", "utf-8")
    ids = GoldenTokenizer.load(tmp_path).prompt_ids(HELLO)
    oracle: Any = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path, local_files_only=True)
    assert ids == oracle.apply_chat_template(HELLO, return_dict=False)
    assert ids.count(1) == 1
    assert EOS not in ids


def test_end_tokens_are_gathered_from_all_files(tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    (tmp_path / "generation_config.json").write_text('{"eos_token_id": [0, 2]}', "utf-8")
    (tmp_path / "config.json").write_text('{"eos_token_id": 7}', "utf-8")
    tokenizer = GoldenTokenizer.load(tmp_path)
    assert tokenizer.eos_ids == {0, 2, 7}
    assert tokenizer.token_id("", ()) == 2  # the tokenizer's own


def test_special_tokens_written_as_objects(tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    config = {"bos_token": None, "eos_token": {"content": "<|im_end|>", "lstrip": False}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    assert GoldenTokenizer.load(tmp_path).eos_ids == {EOS}


def test_sentencepiece_pieces_and_byte_tokens(tmp_path: Path) -> None:
    pieces = {"<unk>": 0, "<s>": 1, "</s>": 2, "<0x20>": 3, "<0xE6>": 4, "\u2581": 5, "\u2581a": 6, "a": 7}
    codec = tokenizers.Tokenizer(models.BPE(pieces, [("\u2581", "a")], unk_token="<unk>", byte_fallback=True))
    codec.normalizer = normalizers.Replace(" ", "\u2581")
    codec.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()])
    codec.add_special_tokens(["<s>", "</s>"])
    codec.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "</s>"}', "utf-8")
    tokenizer = GoldenTokenizer.load(tmp_path)
    assert tokenizer.token_id(" a") == 6
    assert tokenizer.token_id(" ") == 5  # the piece, not the byte token
    assert tokenizer.token_id("\ufffd", [0xE6]) == 4
    assert tokenizer.token_id("</s>") == tokenizer.token_id("", ()) == 2


def test_visible_text_leaves_special_tokens_out(tiny: GoldenTokenizer) -> None:
    ids = [1, *tiny.encode("boats"), EOS]
    assert tiny.visible_text(ids) == "boats"
    assert tiny.decode(ids) == "<|im_start|>boats<|im_end|>"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("tokenizer.json", None, r"tokenizer\.json: not found.*weighmaster reference build"),
        ("tokenizer.json", "{", r"tokenizer\.json: cannot be read as JSON"),
        ("tokenizer.json", "[]", r"tokenizer\.json: holds list"),
        ("tokenizer.json", "{}", r"tokenizer\.json: cannot be used"),
        ("tokenizer_config.json", "{}", "no end token"),
    ],
)
def test_damaged_files_are_golden_errors(name: str, text: str | None, words: str, tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    (tmp_path / name).unlink()
    if text is not None:
        (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(GoldenError, match=words):
        GoldenTokenizer.load(tmp_path)


@pytest.mark.golden
def test_the_golden_prompt_is_the_one_of_transformers(golden_folder: Path) -> None:
    tokenizer = GoldenTokenizer.load(golden_folder)
    oracle: Any = transformers.AutoTokenizer.from_pretrained(golden_folder, local_files_only=True)
    messages = [{"role": "user", "content": "What is the capital of France?"}]
    ids = tokenizer.prompt_ids(messages)
    assert ids == oracle.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
    assert len(ids) == 37  # with the default system message; measured on llama.cpp and vLLM
    assert tokenizer.n_vocab == 49152
    assert [len(tokenizer.encode(number)) for number in ("7", "345", "2026")] == [1, 3, 4]

"""The golden tokenizer and chat template, from the files of a Hugging Face folder. Needs no weights and no torch."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import tokenizers

from monitor.errors import GoldenError
from reference import prompt_parts
from reference.folder import REBUILD, read_json, read_json_if_any, templates
from reference.template import ChatTemplate
from reference.token_bytes import vocabulary_bytes


class GoldenTokenizer:
    """Text to token ids and back, as the golden model was trained to see them (port `monitor.ports.Tokenizer`).

    Special tokens are never added behind the template's back: a template that wants a start token writes it, and one
    written by both template and tokenizer would stand there twice. vLLM and transformers do the same.
    """

    def __init__(
        self, codec: tokenizers.Tokenizer, template: ChatTemplate, by_id: Mapping[int, bytes], eos: Sequence[int]
    ) -> None:
        self._codec = codec
        self._template = template
        self._bytes = by_id
        # Where two tokens stand for the same bytes, the later holds: sentencepiece has its byte tokens first.
        self._ids = {raw: identifier for identifier, raw in sorted(by_id.items())}
        self._eos = tuple(eos)

    @classmethod
    def load(
        cls,
        folder: Path,
        *,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> Self:
        """Read ``tokenizer.json``, the chat template and the end tokens in `folder`.

        Parameters
        ----------
        folder : Path
            A Hugging Face model folder.
        now : Callable
            The clock behind ``strftime_now`` in templates that write the date into the prompt. A clock that stands
            still pins the date.
        options : Mapping
            More variables of the template, named as its model has them: ``{"enable_thinking": False}`` turns thinking
            off for Qwen3, ``{"date_string": "26 Jul 2024"}`` pins the date of Llama 3.

        Raises
        ------
        GoldenError
            When ``tokenizer.json`` is missing or unusable, a template cannot be parsed, or no end token is known.
        """
        document = read_json(folder, "tokenizer.json")
        config = read_json_if_any(folder, "tokenizer_config.json")
        try:
            codec = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # tokenizers raises bare Exception
            raise GoldenError(f"{folder / 'tokenizer.json'}: cannot be used: {error} (run `{REBUILD}`)") from error
        codec.no_truncation()
        codec.no_padding()
        special = _special_tokens(config)
        template = ChatTemplate(templates(folder, config), {**special, **options}, now)
        by_id = vocabulary_bytes(document, codec.get_vocab(with_added_tokens=True))
        return cls(codec, template, by_id, _eos_ids(folder, codec, special))

    def render(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> str:
        """Return the text of the conversation in the golden chat template, ready for an answer.

        Raises GoldenError when there is no template, or it refuses the conversation.
        """
        return self._template.render(messages, tools)

    def prompt_ids(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> list[int]:
        """Return the token ids of `render`."""
        return self.encode(self.render(messages, tools))

    def prompt_parts(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> dict[str, int]:
        """Return how many of the prompt's tokens are system, tools, history and stub; see `prompt_parts.counts`."""
        return prompt_parts.counts(self._template, messages, tools, lambda text: len(self.encode(text)))

    def encode(self, text: str) -> list[int]:
        """Return the canonical token ids of `text`; special tokens written in it are recognised, none is added."""
        return list(self._codec.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of `ids`, special tokens included; bytes that are no UTF-8 become U+FFFD."""
        return str(self._codec.decode(list(ids), skip_special_tokens=False))

    def visible_text(self, ids: Sequence[int]) -> str:
        """Return the text of `ids` without special tokens, as endpoints return it."""
        return str(self._codec.decode(list(ids), skip_special_tokens=True))

    def token_bytes(self, identifier: int) -> bytes:
        """Return the bytes that a token stands for; empty for an id that the vocabulary does not name."""
        return self._bytes.get(identifier, b"")

    def token_id(self, token: str, raw: Sequence[int] | None = None) -> int | None:
        """Return the id of the one token that is exactly these bytes, or None.

        `raw` decides where it is given. llama.cpp writes the end of an answer as ``""`` with no bytes: the end token.
        A `token` with U+FFFD and no `raw` cannot be told apart from its neighbours: None.
        """
        if not token and not raw:
            return self._eos[0]
        if not raw:
            return None if "\ufffd" in token else self._ids.get(token.encode("utf-8", "surrogatepass"))
        if not all(0 <= byte < 256 for byte in raw):
            return None
        return self._ids.get(bytes(raw))

    @property
    def eos_ids(self) -> frozenset[int]:
        """Ids that end an answer: of the generation config, the model config and the tokenizer together."""
        return frozenset(self._eos)

    @property
    def n_vocab(self) -> int:
        """Number of tokens, added ones included."""
        return len(self._bytes)


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    named = {key: value for key, value in config.items() if key.endswith("_token")}
    texts = {key: value.get("content") if isinstance(value, dict) else value for key, value in named.items()}
    return {key: text for key, text in texts.items() if isinstance(text, str)}


def _eos_ids(folder: Path, codec: tokenizers.Tokenizer, special: Mapping[str, str]) -> list[int]:
    found: list[Any] = [codec.token_to_id(special["eos_token"])] if "eos_token" in special else []
    for name in ("generation_config.json", "config.json"):
        value = read_json_if_any(folder, name).get("eos_token_id")
        found += value if isinstance(value, list) else [value]
    eos = [identifier for identifier in dict.fromkeys(found) if isinstance(identifier, int)]
    if not eos:
        raise GoldenError(f"{folder}: no end token in tokenizer_config.json, generation_config.json or config.json")
    return eos

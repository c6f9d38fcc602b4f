"""One choice while its events come in."""

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from monitor.types import Choice, TokenLogprob
from monitor.wire.bounds import MAX_LOGPROBS, NAME_CHARS
from monitor.wire.delta import Delta, read_delta
from monitor.wire.finish import normalised
from monitor.wire.logprobs import entries
from monitor.wire.thinking import CLOSE, OPEN, split
from monitor.wire.tool_calls import CallSlots


@dataclass(slots=True)
class ChoiceState:
    """Accumulates one choice; `built` returns it.

    ``content_at`` holds the stamp of each piece of content (None where it was not streamed), so that the first
    visible one can be found when all is known.
    """

    index: int
    flags: dict[str, None]
    content: list[str] = field(default_factory=list)
    content_at: list[int | None] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    calls: CallSlots = field(init=False)
    logprobs: list[TokenLogprob] | None = None
    n_logprobs: int = 0
    finish: str | None = None
    finish_raw: str | None = None
    message: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        self.calls = CallSlots(self.flags)

    def add_delta(self, raw: Any, at_ns: int) -> bool:
        """Take a delta; return whether it holds a token payload."""
        if type(raw) is dict and len(raw) == 1 and type(text := raw.get("content")) is str:  # nearly all deltas
            if text:
                self.add_content(text, at_ns)
            return bool(text)
        if not isinstance(raw, dict):
            self.flags["delta_missing" if raw is None else "odd_type:delta"] = None
            return False
        delta = read_delta(raw, self.flags)
        if delta.content and delta.reasoning:
            self.flags["mixed_delta"] = None
        self.add(delta, at_ns, whole=False)
        return delta.is_token

    def add_content(self, text: str, at_ns: int | None) -> None:
        """Take visible text that is not empty."""
        self.content.append(text)
        self.content_at.append(at_ns)

    def add_reasoning(self, text: str, _at_ns: int | None) -> None:
        """Take reasoning that is not empty."""
        self.reasoning.append(text)

    def add_message(self, raw: Any) -> None:
        """Take a whole message: the answer itself when nothing was streamed, else a copy of it."""
        if isinstance(raw, dict):
            self.add(read_delta(raw, self.flags), None, whole=True)
        else:
            self.flags["message_missing" if raw is None else "odd_type:message"] = None

    def add(self, delta: Delta, at_ns: int | None, *, whole: bool) -> None:
        """Take what a delta, or a `whole` message, carries."""
        if delta.content:
            self.add_content(delta.content, at_ns)
        if delta.reasoning:
            self.add_reasoning(delta.reasoning, at_ns)
        for call in delta.calls:
            self.calls.add(call, whole=whole)

    def add_finish(self, raw: Any) -> None:
        """Take a finish reason. The first terminal one counts; the empty string is none."""
        if raw is None:
            return
        if not isinstance(raw, str):
            self.flags["odd_type:finish_reason"] = None
            return
        raw = raw[:NAME_CHARS]
        reason = normalised(raw)
        if reason is None:
            self.flags["finish_empty_string"] = None
        elif self.finish is None:
            self.finish, self.finish_raw = reason, raw
            if reason.startswith("other:"):
                self.flags["unknown_finish_reason"] = None
        elif reason != self.finish:
            self.flags["several_finish_reasons"] = None

    def add_logprobs(self, raw: Any) -> int:
        """Take logprobs; return the number of entries."""
        if raw is None:
            return 0
        got = entries(raw, self.flags)
        if got is None:
            return 0
        if self.logprobs is None:
            self.logprobs = []
        for entry in got:
            self.n_logprobs += 1 + len(entry.top)
        if self.n_logprobs > MAX_LOGPROBS:
            self.flags["too_many_logprobs"] = None
        else:
            self.logprobs.extend(got)
        return len(got)

    @property
    def has_delta_text(self) -> bool:
        """Whether anything was streamed."""
        return bool(self.content or self.reasoning or self.calls.slots)

    def built(self) -> tuple[Choice, int | None]:
        """Return the choice and the stamp of its first visible content (None without)."""
        self._settle_message()
        text, thought, visible_from = "".join(self.content), "".join(self.reasoning), 0
        if CLOSE in text or OPEN in text:
            parts = split(text, orphan=not thought)
            text, visible_from = parts.content, parts.visible_from
            if parts.reasoning:
                thought += parts.reasoning
                self.flags["reasoning_field:think_tags"] = None
            if parts.flag:
                self.flags[parts.flag] = None
        choice = Choice(
            index=self.index,
            content=text,
            reasoning=thought,
            tool_calls=self.calls.calls(cut=self.finish in {None, "length"}),
            finish=self.finish,
            finish_raw=self.finish_raw,
            logprobs=None if self.logprobs is None else tuple(self.logprobs),
        )
        return choice, self._visible_at(visible_from) if text else None

    def _visible_at(self, offset: int) -> int | None:
        """Stamp of the piece of content that holds the character at `offset`."""
        ends = list(accumulate(len(piece) for piece in self.content))
        return self.content_at[bisect_right(ends, offset)]

    def _settle_message(self) -> None:
        """Use a snapshot that came within a stream only when nothing was streamed, else compare with it."""
        if self.message is None:
            return
        self.flags["full_message_chunk"] = None
        if not self.has_delta_text:
            self.add_message(self.message)
        elif read_delta(self.message, {}).content not in {"", "".join(self.content)}:
            self.flags["message_differs"] = None

"""Alternatives that become objects only when looked at: of the thousands in an answer, few ever are."""

from collections.abc import Iterator, Sequence
from typing import Any, overload

from monitor.types import TopToken


class Alternatives(Sequence[TopToken]):
    """The alternatives at one position: the logprob of each text, and its bytes as reported, in the same order.

    Equal to the tuple of the same `TopToken`, hashed, shown and written like it. Not to be changed.
    """

    __slots__ = ("_logprobs", "_made", "_spelled")

    def __init__(self, logprobs: dict[str, float], spelled: list[bytes]) -> None:
        self._logprobs, self._spelled = logprobs, spelled
        self._made: tuple[TopToken, ...] | None = None

    def _all(self) -> tuple[TopToken, ...]:
        if self._made is None:
            pairs = zip(self._logprobs.items(), self._spelled, strict=True)
            self._made = tuple([TopToken(token, value, tuple(raw)) for (token, value), raw in pairs])
        return self._made

    def __len__(self) -> int:
        return len(self._spelled)

    @overload
    def __getitem__(self, at: int) -> TopToken: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[TopToken, ...]: ...
    def __getitem__(self, at: int | slice) -> TopToken | tuple[TopToken, ...]:
        return self._all()[at]

    def __iter__(self) -> Iterator[TopToken]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Alternatives):
            return self._all() == other._all()
        return self._all() == other if isinstance(other, tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[Any, ...]:
        return Alternatives, (self._logprobs, self._spelled)

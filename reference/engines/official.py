"""The vendor's own API as reference: it answers like any endpoint, but nobody can make it score given tokens."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from monitor.errors import GoldenError
from monitor.ports import Client, ScoreTask, Tokenizer
from monitor.results import Fingerprint
from monitor.types import Capture, Request

CANNOT_SCORE = (
    "an official API cannot score given tokens: it can be compared by its own answers only; for logprob checks use the "
    "engine torch, a server of your own, or a pack"
)


@dataclass(frozen=True, kw_only=True, eq=False)
class OfficialEngine:
    """Passes requests on to the vendor (port `Client`). As `Scorer` it only knows the tokenizer and refuses to score.

    ``fingerprint`` says which address and model were taken at their word.
    """

    fingerprint: Fingerprint
    tokenizer: Tokenizer
    client: Client

    async def send(self, request: Request) -> Capture:
        """Pass `request` on."""
        return await self.client.send(request)

    def close(self) -> None:
        """Nothing is open but what `send` opened, which belongs to its loop: `aclose`."""

    async def aclose(self) -> None:
        """Close the connections. Idempotent."""
        await self.client.aclose()

    def score(self, tasks: Sequence[ScoreTask], *, top_k: int = 20) -> NoReturn:
        """Refuse.

        Raises
        ------
        GoldenError
            Always; says what to use instead.
        """
        del tasks, top_k
        raise GoldenError(CANNOT_SCORE)

"""What an audit asks, round by round: other prompts each time, few tokens, since one may stop after each round."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jobs.settings import catalogues
from monitor.errors import UsageError
from monitor.ports import Probe, Scorer
from probes.prompt_pool import N_PROMPTS, named_prompts

PER_ROUND = 8
"""Requests of a round."""

Ask = Callable[[int, bool], Probe | None]
"""Makes the probe of the n-th round, with logprobs or (True) by text; None when all prompts were asked."""


def questions(*, text_only: bool, chosen: Sequence[str] | None = None) -> dict[str, Ask]:
    """What makes the probe of the n-th round of a kind.

    Each kind has a half of the pool for itself: an audit asks no prompt twice. Where only the prompts `chosen` can be
    asked, since a pack knows no others, they are asked greedily, with longer answers, because there are few of them.
    """
    kinds: Mapping[str, Any] = catalogues(detectors=False).probes

    def made(kind: str, at: int, first: int, options: Mapping[str, Any]) -> Probe | None:
        asked = at * PER_ROUND
        if asked + PER_ROUND > N_PROMPTS // 2:
            return None
        probe: Probe = kinds[kind](prompts=PER_ROUND, skip=first + asked, **options)
        return probe

    def greedy(at: int, by_text: bool) -> Probe | None:
        # With logprobs every token says much, and other prompts say more than longer answers; text says little.
        options = {"tokens": 12, "top_k": None} if text_only or by_text else {"tokens": 4}
        return made("greedy", at, 0, options)

    def known(at: int, by_text: bool) -> Probe | None:
        left = (chosen or ())[at * PER_ROUND :]
        if not left:
            return None
        options = {"tokens": 32, "top_k": None} if text_only or by_text else {"tokens": 12}
        names = tuple(left[:PER_ROUND])
        probe: Probe = kinds["greedy"](prompts=len(names), chosen=names, **options)
        return probe

    if chosen is not None:
        return {"greedy": known, "sample": lambda _at, _by_text: None}
    drawn = {"per_prompt": 1, "tokens": 24}
    return {"greedy": greedy, "sample": lambda at, _by_text: made("sample", at, N_PROMPTS // 2, drawn)}


def known_prompts(scorer: Scorer, name: str) -> tuple[str, ...] | None:
    """The prompts of the pool that `scorer` knows, in the order of its recording; None when it can score any.

    Raises
    ------
    UsageError
        When it is a pack of which an audit could ask nothing; `name` is the reference's.
    """
    from reference.engines.pack import PackEngine  # noqa: PLC0415  # pyarrow only where a pack is read

    if not isinstance(scorer, PackEngine):
        return None
    found = tuple(one.prompt_id for one in scorer.pack.prompts if _is_of_pool(one.prompt_id, one.messages))
    if not found:
        raise UsageError(
            f"reference {name}: its pack holds no prompt that an audit asks; record one with "
            "`weighmaster reference pack --probe greedy --probe logprobs`"
        )
    return found


def _is_of_pool(prompt_id: str, messages: Sequence[Mapping[str, Any]]) -> bool:
    try:
        return list(named_prompts([prompt_id])[prompt_id]) == list(messages)
    except ValueError:
        return False

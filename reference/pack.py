"""A pack: golden answers, recorded once by who has the weights, for everybody who has not.

It holds the tokenizer and template, and for a set of prompts the golden distribution (its most likely tokens) along the
golden greedy answer. That answers what `accounting` and `logprob_fidelity` ask, without weights and without torch.
`jobs.pack_file` reads and writes the file; docs/reference.md describes its format.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from monitor.ports import Floats, Ints
from monitor.results import Fingerprint

FORMAT = "weighmaster-pack"
VERSION = 1
"""Version of the format; a reader refuses any other."""

FILES = ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json", "config.json")
"""Files of the golden folder that a pack carries: what it takes to count and split tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackPrompt:
    """A conversation, and the token ids that the golden template and tokenizer make of it."""

    prompt_id: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackPosition:
    """The golden distribution after prompt number ``prompt`` and the answer tokens in ``path``.

    ``top_ids`` and ``top_logprobs`` (k,) are its most likely tokens in descending order, ``entropy_nats`` is exact.
    """

    prompt: int
    path: tuple[int, ...]
    entropy_nats: float
    top_ids: Ints
    top_logprobs: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackSample:
    """An answer drawn from the golden weights at temperature 1, with its golden scores (all of one length)."""

    prompt: int
    ids: tuple[int, ...]
    finish: str
    logprob: Floats
    rank: Ints
    entropy_nats: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class PackTrigger:
    """How often golden answers to a prompt with tools call one: ``k`` of ``n`` samples.

    ``family`` says how the model writes calls, and so which parser read them (`reference.tool_parsers`).
    Per sample, in their order: ``called`` says whether a call was begun, ``parsed`` whether all of it could be read. An
    answer that was cut before a call began has not called: record samples that are long enough.
    """

    prompt: int
    family: str
    called: tuple[bool, ...]
    parsed: tuple[bool, ...]

    @property
    def k(self) -> int:
        """Samples that called a tool."""
        return sum(self.called)

    @property
    def n(self) -> int:
        """Samples."""
        return len(self.called)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PackDeviation:
    """What variant ``variant`` of the golden weights would answer instead, along the golden greedy answer.

    ``deviation`` is the variant's logprob minus the golden one, of the first tokens of the position's ``top_ids``.
    """

    variant: str
    prompt: int
    position: int
    deviation: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pack:
    """All that was recorded. ``about`` says how (probes, seed, versions), for people.

    ``model`` is the name by which the pack is chosen among several, None in old ones. ``template`` are the variables
    that the template was rendered with, ``files`` the golden folder's files by name.
    """

    fingerprint: Fingerprint
    model: str | None = None
    created_at: datetime
    top_k: int
    about: Mapping[str, Any]
    template: Mapping[str, Any]
    files: Mapping[str, bytes]
    prompts: tuple[PackPrompt, ...]
    positions: tuple[PackPosition, ...]
    samples: tuple[PackSample, ...] = ()
    deviations: tuple[PackDeviation, ...] = ()
    triggers: tuple[PackTrigger, ...] = ()

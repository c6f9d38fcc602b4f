"""How often golden answers call a tool: counted in the samples of a pack, by our own parser of the model's family."""

from collections.abc import Sequence

from monitor.errors import UsageError
from monitor.ports import Tokenizer
from reference.pack import PackPrompt, PackSample, PackTrigger
from reference.tool_parsers.families import formats, parse
from reference.tool_parsers.harmony import CALL_END


def known_family(family: str | None) -> str:
    """Return `family`. Raises UsageError when it is None, or none that has a parser."""
    known = ", ".join(sorted(formats()))
    if family is None:
        raise UsageError(f"prompts with tools need the family that says how the model writes calls: one of {known}")
    if family not in formats():
        raise UsageError(f"tool-call family {family!r} is not one of {known}")
    return family


def triggers_of(
    tokenizer: Tokenizer, prompts: Sequence[PackPrompt], samples: Sequence[PackSample], family: str | None
) -> tuple[PackTrigger, ...]:
    """Count the samples that call a tool, for each prompt that has tools and samples.

    Raises
    ------
    UsageError
        When there is such a prompt and `family` is None or unknown.
    """
    by_prompt: dict[int, list[PackSample]] = {}
    for sample in samples:
        if prompts[sample.prompt].tools:
            by_prompt.setdefault(sample.prompt, []).append(sample)
    return tuple(_trigger(tokenizer, prompts[at], at, drawn, known_family(family)) for at, drawn in by_prompt.items())


def _trigger(
    tokenizer: Tokenizer, prompt: PackPrompt, at: int, drawn: Sequence[PackSample], family: str
) -> PackTrigger:
    # Special tokens stay in the text: several families begin their calls with one.
    said = [parse(_text(sample.ids, tokenizer), family, prompt.tools) for sample in drawn]
    return PackTrigger(
        prompt=at, family=family, called=tuple(one.called for one in said), parsed=tuple(one.readable for one in said)
    )


def _text(ids: tuple[int, ...], tokenizer: Tokenizer) -> str:
    """The text of an answer without its end token, unless that ends a call too."""
    if ids and ids[-1] in tokenizer.eos_ids and tokenizer.decode(ids[-1:]) != CALL_END:
        return tokenizer.decode(ids[:-1])
    return tokenizer.decode(ids)

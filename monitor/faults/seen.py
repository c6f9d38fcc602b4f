"""An exchange beside what was asked: what all finders look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from monitor.faults.catalogue import BY_NAME
from monitor.faults.kinds import Found
from monitor.faults.profiles import Profile
from monitor.tools.case import named_in, parameters_of
from monitor.types import Exchange, Request


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One exchange under one policy. ``golden_prompt`` is golden's count of the prompt, ``context`` the declared one.

    ``tools`` are the schemas of the declared tools by name. ``mode`` is ``auto``, ``none``, ``required`` or ``named``.
    """

    exchange: Exchange
    profile: Profile
    golden_prompt: int | None = None
    context: int | None = None

    @cached_property
    def request(self) -> Request:
        """What was asked; an empty request where that is not known."""
        return self.exchange.request or Request(prompt_id="", messages=(), max_tokens=0)

    @cached_property
    def tools(self) -> Mapping[str, Any]:
        """Schemas of the declared tools, by name."""
        return parameters_of(self.request.tools)

    @cached_property
    def named(self) -> str | None:
        """The function that ``tool_choice`` names."""
        return named_in(self.request.extra.get("tool_choice"))

    @property
    def mode(self) -> str:
        """What ``tool_choice`` asks for."""
        choice = self.request.extra.get("tool_choice")
        return "named" if self.named is not None else choice if isinstance(choice, str) else "auto"

    def has(self, *flags: str) -> str | None:
        """Return the first of `flags` that the decoder raised; one that ends in a colon stands for all of its kind."""
        return next(
            (one for one in self.exchange.flags for flag in flags
             if one == flag or (flag.endswith(":") and one.startswith(flag))),
            None,
        )  # fmt: skip

    def found(self, name: str, where: str, sign: str) -> Found:
        """Return the finding that `sign` is there, with the standing that the profile gives it."""
        return Found(name=BY_NAME[name].name, standing=self.profile.standing(name), where=where, sign=sign)

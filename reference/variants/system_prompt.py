"""Another system prompt than the template's default, put before conversations that bring none.

``text`` None drops the default system turn of the golden template. It is found by rendering: the text that a
conversation without a system message gets and that stands before its first turn. Where the template has no default,
dropping changes nothing.
"""

import json
from dataclasses import dataclass
from typing import ClassVar, Self

from reference.prompt_parts import default_system
from reference.template import ChatTemplate
from reference.variants.variant import Part, Variant

_OTHER = "You are a careful assistant of the Meridian company. Answer briefly."


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemPrompt(Variant):
    """Conversations without a system message get ``text``, or none at all."""

    kind: ClassVar[str] = "system_prompt"
    changes: ClassVar[Part] = "template"
    text: str | None = None

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """The default dropped, and a hidden prompt of the provider's own."""
        return cls(text=None), cls(text=_OTHER)

    @property
    def name(self) -> str:
        """``no-system`` or ``other-system``."""
        return "no-system" if self.text is None else "other-system"

    @property
    def family(self) -> str:
        """A matter of the template."""
        return "template"

    def template(self, source: str) -> str:
        """Wrap the golden template."""
        if self.text is not None:
            turn = f"[{{'role': 'system', 'content': {json.dumps(self.text)}}}]"
            put = f"{{%- if messages[0]['role'] != 'system' %}}{{%- set messages = {turn} + messages %}}{{%- endif %}}"
            return put + source
        default = default_system(ChatTemplate.of(source))
        if not default:
            return source
        return f"{{%- set whole -%}}{source}{{%- endset -%}}{{{{- whole | replace({json.dumps(default)}, '') -}}}}"


VARIANT = SystemPrompt

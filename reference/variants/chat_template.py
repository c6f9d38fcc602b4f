"""Another chat template: plain headings instead of the model's control tokens, as a generic fallback writes them."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

from reference.variants.variant import Part, Variant

HEADINGS = (
    "{% for turn in messages %}{{ '## ' + turn['role'] + '\\n' + (turn['content'] or '') + '\\n\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '## assistant\\n' }}{% endif %}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template(Variant):
    """The template in ``path``; None takes plain headings."""

    kind: ClassVar[str] = "chat_template"
    changes: ClassVar[Part] = "template"
    path: str | None = None

    @classmethod
    def standard(cls) -> tuple[Self, ...]:
        """Plain headings."""
        return (cls(),)

    @property
    def name(self) -> str:
        """``other-template``, with the file's name where one is given."""
        return "other-template" if self.path is None else f"template-{Path(self.path).stem}"

    @property
    def family(self) -> str:
        """A matter of the template."""
        return "template"

    def template(self, source: str) -> str:
        """Put the other template in place of the golden one."""
        del source
        return HEADINGS if self.path is None else Path(self.path).read_text("utf-8")


VARIANT = Template

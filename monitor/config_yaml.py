"""Text to YAML nodes, with what the configuration does without: tags that are written out, and anchors."""

from dataclasses import dataclass

import yaml


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The top node, None of an empty text; and the ids of nodes with a tag written out, and of those with an anchor.

    Ids hold while ``node`` lives. An anchor that something refers to is left out: the alias is told where it stands.
    """

    node: yaml.Node | None
    tagged: frozenset[int]
    anchored: frozenset[int]


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.tagged: set[int] = set()
        self.named: dict[str, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        node = super().compose_node(parent, index)
        if isinstance(event, yaml.AliasEvent):
            self.named.pop(str(event.anchor), None)
            return node
        if event.anchor is not None:
            self.named[event.anchor] = id(node)
        if getattr(event, "tag", None) is not None:
            self.tagged.add(id(node))
        return node


def compose(text: str) -> Composed:
    """Compose the only document of `text`. Raises yaml.YAMLError, or RecursionError where it is nested too deeply."""
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    finally:
        loader.dispose()
    return Composed(node=node, tagged=frozenset(loader.tagged), anchored=frozenset(loader.named.values()))

"""Tool calls joined from deltas. One policy for all the ways in which servers number, repeat and split them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from monitor.types import ToolCall
from monitor.wire.bounds import MAX_CALLS

_CHECKED = 64 * 2**20
"""Characters of arguments that are read, all in all, to see whether a call is complete."""


class CallDelta(NamedTuple):
    """One entry of ``tool_calls``; empty strings where a part is absent. ``number`` is its index, None if not given."""

    number: int | None
    id: str
    name: str
    arguments: str


@dataclass(slots=True)
class _Slot:
    id: str
    name: str = ""
    parts: list[str] = field(default_factory=list)
    size: int = 0

    @property
    def arguments(self) -> str:
        return "".join(self.parts)


def read_call(entry: Any, flags: dict[str, None]) -> CallDelta | None:
    """Return the delta in `entry`, or None when it is no object; odd types are flagged and left out."""
    if not isinstance(entry, dict):
        flags["odd_type:tool_calls"] = None
        return None
    function = entry.get("function")
    if not isinstance(function, dict):
        if function is not None:
            flags["odd_type:function"] = None
        function = {}
    index = entry.get("index")
    return CallDelta(
        index if isinstance(index, int) and not isinstance(index, bool) else None,
        _text(entry, "id", flags),
        _text(function, "name", flags),
        _arguments(function.get("arguments"), flags),
    )


def _text(source: Mapping[str, Any], key: str, flags: dict[str, None]) -> str:
    value = source.get(key)
    if value is None or isinstance(value, str):
        return value or ""
    flags[f"odd_type:{key}"] = None
    return ""


def _arguments(value: Any, flags: dict[str, None]) -> str:
    if isinstance(value, dict | list):
        flags["arguments_object"] = None
        try:
            return orjson.dumps(value).decode()
        except orjson.JSONEncodeError:  # nested too deeply to be written
            value = 0
    if value is None or isinstance(value, str):
        return value or ""
    flags["odd_type:arguments"] = None
    return ""


@dataclass(slots=True)
class CallSlots:
    """The calls of one choice, in the order in which they were opened."""

    flags: dict[str, None]
    slots: list[_Slot] = field(default_factory=list)
    by_index: dict[int, _Slot] = field(default_factory=dict)
    by_id: dict[str, _Slot] = field(default_factory=dict)
    checked: int = 0

    def add(self, call: CallDelta, *, whole: bool = False) -> None:
        """Take one delta, or one `whole` call of a message that was not streamed."""
        slot = None if whole else self._slot_of(call)
        if slot is None:
            slot = _Slot(call.id)
            if len(self.slots) >= MAX_CALLS:
                self.flags["too_many_calls"] = None
                return
            self.slots.append(slot)
        if call.number is not None:
            self.by_index[call.number] = slot
        self._name(slot, call)
        slot.id = slot.id or call.id
        self.by_id[slot.id] = slot
        if call.arguments:
            slot.parts.append(call.arguments)
            slot.size += len(call.arguments)

    def add_arguments(self, number: int, text: str, _at_ns: int | None = None) -> None:
        """Take a further piece of the arguments of the call that came last under the index `number`."""
        slot = self.by_index[number]
        slot.parts.append(text)
        slot.size += len(text)

    def _slot_of(self, call: CallDelta) -> _Slot | None:
        """The open slot that `call` continues, or None when it opens one."""
        if call.number is None:
            self.flags["missing_index"] = None
            return self._slot_without_index(call)
        slot = self.by_index.get(call.number)
        if slot is not None and not call.id and not slot.id and self._begins(call) and self._finished(slot, call):
            self.flags["index_reused"] = None
            return None
        if slot is None or not call.id or not slot.id or call.id == slot.id:
            return slot
        if call.name and self._finished(slot, call):
            self.flags["index_reused"] = None
            return None
        self.flags["id_unstable"] = None
        return slot

    def _begins(self, call: CallDelta) -> bool:
        """Whether a delta has what only the first one of a call has: a name, and arguments from their start."""
        return bool(call.name) and call.arguments.lstrip().startswith("{")

    def _slot_without_index(self, call: CallDelta) -> _Slot | None:
        if call.id:
            return self.by_id.get(call.id)
        if not self.slots or (call.name and self._finished(self.slots[-1], call)):
            return None
        return self.slots[-1]

    def _finished(self, slot: _Slot, call: CallDelta) -> bool:
        """Whether a delta with a name cannot belong to `slot` any more.

        That takes reading all of its arguments; hostile answers that want it done with every delta are not obliged.
        """
        self.checked += slot.size
        arguments = slot.arguments.strip() if self.checked <= _CHECKED else "{"
        return _is_json(arguments) if arguments else call.name != slot.name and bool(call.id)

    def _name(self, slot: _Slot, call: CallDelta) -> None:
        if not call.name:
            return
        if not slot.name:
            slot.name = call.name
        elif call.name == slot.name:
            self.flags["name_repeated"] = None
        elif not slot.parts:
            self.flags["name_in_parts"] = None
            slot.name += call.name
        else:
            self.flags["name_changed"] = None

    def calls(self, *, cut: bool) -> tuple[ToolCall, ...]:
        """Return the joined calls. `cut` says that the answer ended early, so absent arguments mean nothing."""
        return tuple(self._call(slot, cut) for slot in self.slots)

    def _call(self, slot: _Slot, cut: bool) -> ToolCall:
        arguments = slot.arguments
        if not slot.name:
            self.flags["call_without_name"] = None
        if not arguments.strip() and not cut:
            self.flags["arguments_empty"] = None
            arguments = "{}"
        elif not _is_json(arguments):
            self.flags["arguments_invalid"] = None
        return ToolCall(id=slot.id or None, name=slot.name or None, arguments=arguments)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True

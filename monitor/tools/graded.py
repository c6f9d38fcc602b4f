"""One answer, graded: what it did, what each call is worth, and what is wrong with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from monitor.tools.calls import CallVerdict, judged
from monitor.tools.case import Case, Form, case_of, form_of
from monitor.tools.layers import LAYERS, Layer, Symptom, ended_by_length, symptoms
from monitor.tools.predicates import Predicates, predicates
from monitor.types import NOT_THE_ENDPOINTS_FAULT, Exchange


@dataclass(frozen=True, kw_only=True)
class Graded:
    """An exchange as the answer to a case."""

    exchange: Exchange
    case: Case
    form: Form
    predicates: Predicates
    calls: tuple[CallVerdict, ...]
    symptoms: tuple[Symptom, ...]

    @cached_property
    def faults(self) -> tuple[Symptom, ...]:
        """Symptoms that count against the endpoint, in the order of the layers."""
        return tuple(one for one in self.symptoms if one.is_fault)

    @property
    def layer(self) -> Layer | None:
        """The layer of the first fault; None without one."""
        return self.faults[0].layer if self.faults else None

    @property
    def arrived(self) -> bool:
        """Whether a complete answer came (an empty one is one)."""
        return self.exchange.answered or self.exchange.outcome in {"empty", "unconfirmed"}

    @property
    def finished(self) -> bool:
        """Whether the answer came to an end that it tells: an empty one that says `stop` decided for no call."""
        return self.arrived and (self.exchange.outcome != "empty" or self.exchange.choice.finish is not None)

    @property
    def scored(self) -> bool:
        """Whether the answer says anything of the endpoint: not where somebody else kept it from answering."""
        return self.exchange.outcome not in NOT_THE_ENDPOINTS_FAULT

    @property
    def decided(self) -> bool | None:
        """Whether the model decided for a call; None where that is not known (no answer, or cut before one)."""
        if not self.finished:
            return None
        if self.predicates.called:
            return True
        return None if ended_by_length(self.exchange) else False


def grade(exchange: Exchange, case: Case | None = None, *, beside: Iterable[Symptom] = ()) -> Graded | None:
    """Grade `exchange` as the answer to `case` (else to the one in its request); None where no request is known.

    `beside` are symptoms that the answer alone does not show (`monitor.tools.forms`).
    """
    if exchange.request is None:
        return None
    asked = case or case_of(exchange.request)
    schemas: Mapping[str, Any] = asked.parameters
    calls = tuple(judged(call, schemas) for call in exchange.choice.tool_calls)
    found = sorted((*symptoms(exchange, asked, calls), *beside), key=lambda one: LAYERS.index(one.layer))
    return Graded(
        exchange=exchange, case=asked, form=form_of(exchange.request), predicates=predicates(exchange, schemas),
        calls=calls, symptoms=tuple(found),
    )  # fmt: skip

"""Valid nouns of alerts and agents for tests of the store."""

from datetime import timedelta

from monitor.agent_sign import AgentSign
from monitor.alerting.nouns import Ack, Event, Mark, Message, Silence, Track
from monitor.alerting.outbox import Delivery
from tests.storage.factories import START, incident


def track() -> Track:
    """A rule that fires, with one mark."""
    mark = Mark(at=START, key="v1", bad=True, since=START)
    return Track(
        track_id="t1", rule="verdicts#fidelity", subject="lab/degraded", provider="lab", firing=True,
        boundary_at=START, recent=(mark,),
    )  # fmt: skip


def delivery() -> Delivery:
    """A message that has not arrived yet."""
    message = Message(message_id="m1", at=START, group="lab", events=(Event(kind="fired", incident=incident()),))
    return Delivery(delivery_id="m1-hook", route="hook", created_at=START, next_at=START, message=message)


def silence() -> Silence:
    """An hour of silence."""
    return Silence(
        silence_id="s1", match="lab/*", until=START + timedelta(hours=1), reason="maintenance", by="me", made_at=START
    )


def ack() -> Ack:
    """Somebody knows."""
    return Ack(incident_id="incident-1", at=START, by="me")


def sign() -> AgentSign:
    """An agent that is alive."""
    return AgentSign(
        vantage="berlin", version="0.1.0", at=START, waiting=3, clock_offset_s=0.25, clock_error_s=0.01
    )  # fmt: skip

"""Causes as a newcomer reads them: what is meant by the one word that a verdict or an incident names."""

from monitor.incident import Incident

MEANINGS = {
    "weights": "other weights than declared answer, such as coarser ones",
    "weights or kv_cache": "other weights than declared answer, or a cache that is too coarse: too few answers to tell",
    "routing": "a part of the requests is answered by something else than the rest",
    "template": "the text around the messages that the model reads, such as its default system prompt, is not golden's",
    "tokenizer": "prompts are cut into other tokens than golden's",
    "template or tokenizer": "the prompt that the model gets is not golden's",
    "different_model": "another model answers",
    "engine": "the engine computes something else than the model",
    "kv_cache": "keys and values are kept too coarsely: answers get worse as they grow longer",
    "sampler": "tokens are drawn otherwise than asked for",
    "unavailable": "too many requests got no usable answer",
    "provider_down": "all endpoints of a provider fail at once",
    "protocol": "complete answers break the protocol",
    "framing": "events or bytes of answers break the protocol",
    "parser": "tool calls do not arrive as such",
    "schema": "arguments of tool calls do not fit the schema that was sent",
    "decision": "tools are called, or not, against what was asked for",
    "agent_offline": "the agent that probes was not heard of",
    "agent_twice": "two agents probe under the name of one place",
    "config_invalid": "the configuration cannot be read",
    "no_answers": "nothing was answered",
    "unexplained": "it differs from golden, and nothing that is known explains how",
}
"""Cause, up to a colon, to what it means."""


def meaning(cause: str) -> str:
    """Return what a cause means; empty where no more is known than its name."""
    return MEANINGS.get(cause.partition(":")[0], "")


def incident_title(incident: Incident) -> str:
    """Return what is wrong, in words behind the name of the cause."""
    name = incident.cause or incident.detector
    said = meaning(name)
    return f"{name}: {said}" if said and ":" not in name else f"{name} ({said})" if said else name

"""The part of the file's JSON Schema that describes ``alerts``."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from monitor.alerting.conditions import CONDITIONS
from monitor.config_alerts import TARGETS, AlertsSection, HeartbeatEntry, RouteEntry, RuleEntry, SilenceEntry
from monitor.config_check import model_of


def alerts_schema() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the schema of the section and the definitions that it refers to."""
    section, silence, ping = (model_of(kind, describe=True) for kind in (AlertsSection, SilenceEntry, HeartbeatEntry))
    conditions: Mapping[str, type] = CONDITIONS
    targets: Mapping[str, type] = TARGETS
    rules = {kind: model_of(one, RuleEntry, describe=True) for kind, one in conditions.items()}
    routes = {kind: model_of(one, RouteEntry, describe=True) for kind, one in targets.items()}
    models: list[type[BaseModel]] = [section, silence, ping, *rules.values(), *routes.values()]
    refs, rest = models_json_schema([(model, "validation") for model in models])
    ref = {model: refs[(model, "validation")] for model in models}
    defs: dict[str, Any] = rest["$defs"]
    schema: dict[str, Any] = defs.pop(ref[section]["$ref"].rpartition("/")[2])
    keys = schema["properties"]
    for name, kinds in (("rules", rules), ("routes", routes)):
        choices = [_of_kind(kind, ref[one]) for kind, one in sorted(kinds.items())]
        keys[name]["additionalProperties"] = {"oneOf": choices}
    keys["silences"]["items"] = ref[silence]
    keys["heartbeat"]["anyOf"] = [ref[ping], {"type": "null"}]
    return schema, defs


def _of_kind(kind: str, ref: dict[str, Any]) -> dict[str, Any]:
    return {"allOf": [ref, {"properties": {"kind": {"const": kind}}}]}

"""Reads the configuration file: text, environment and catalogues in; a `Config` or all of its mistakes out.

Reads no files and knows no probe. Sources of the rules: cases OP-08 and OP-09 (keys), and what YAML does to names.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from monitor.config_alerts import alerts_of
from monitor.config_alerts_schema import alerts_schema
from monitor.config_check import Checker, model_of
from monitor.config_dialect import check_dialect
from monitor.config_fields import Address
from monitor.config_schedule import budget, cadences, check_times, windows
from monitor.config_source import Document, Path, read_document
from monitor.config_store import RetentionConfig, check_store
from monitor.config_times import parse_instant
from monitor.config_types import (
    AgentConfig,
    Catalogues,
    Config,
    DashboardConfig,
    DecisionConfig,
    EndpointConfig,
    EndpointEntry,
    FileShape,
    JudgeConfig,
    MaintenanceEntry,
    PlanEntry,
    ProbePlan,
    ReferenceConfig,
    StoreConfig,
)
from monitor.errors import ConfigError
from monitor.types import Endpoint

__all__ = [
    "AgentConfig", "Catalogues", "Config", "DashboardConfig", "EndpointConfig", "ProbePlan", "ReferenceConfig",
    "StoreConfig", "json_schema", "load",
]  # fmt: skip


def load(text: str, environ: Mapping[str, str], catalogues: Catalogues, *, source: str = "weighmaster.yaml") -> Config:
    """Return the configuration that `text` describes.

    Parameters
    ----------
    text
        YAML, see docs/configuration.md.
    environ
        What ``${NAME}`` stands for; ``file:PATH`` as a name is what a secret file holds.
    catalogues
        The probes, detectors and protocols that exist.
    source
        Name of the file for messages.

    Raises
    ------
    ConfigError
        With *all* mistakes, in the order of the file. No message contains the value of a variable or a secret.
    """
    document = read_document(text, environ, source)
    if not isinstance(document.value, dict):
        shapeless = Checker(document, {})
        shapeless.add((), "must be a mapping of keys to values")
        raise _error(shapeless)
    _drop_empty_sections(document)
    references = [name for name, _ in document.named(("references",))]
    known = {"protocol": catalogues.protocols, "dialect": catalogues.dialects, "reference": references}
    checker = Checker(document, known)
    top = checker.make(FileShape, ())
    parts: dict[str, Any] = {
        "store": check_store(checker, ("store",), _section(checker, StoreConfig, "store")),
        "dashboard": _section(checker, DashboardConfig, "dashboard"),
        "agent": _section(checker, AgentConfig, "agent"),
        "judge": _section(checker, JudgeConfig, "judge"),
        "decision": _section(checker, DecisionConfig, "decision"),
        "references": {name: checker.make(ReferenceConfig, ("references", name)) for name in references},
        "endpoints": _endpoints(checker, catalogues),
        "plans": _plans(checker, catalogues),
        "detectors": _detectors(checker, catalogues),
        "alerts": alerts_of(checker),
        "maintenance": windows(
            checker, document.listed(("maintenance",)), _providers(checker), lambda path: _matching(checker, path)
        ),
    }
    if top is None or checker.findings:
        for path, why in document.unset.items():
            checker.add(path, why, "no mistake of the file: this endpoint alone is skipped until then", aside=True)
        raise _error(checker)
    return Config(vantage=top.vantage, **parts)


def json_schema(catalogues: Catalogues) -> dict[str, Any]:
    """Return the JSON Schema of the file, with the fields of every probe and detector of `catalogues`."""
    described = partial(model_of, describe=True)
    file, reference, entry = described(FileShape), described(ReferenceConfig), described(EndpointEntry)
    window = described(MaintenanceEntry)
    single = {
        "store": StoreConfig, "dashboard": DashboardConfig, "agent": AgentConfig, "judge": JudgeConfig,
        "decision": DecisionConfig,
    }  # fmt: skip
    sections = {name: described(kind) for name, kind in single.items()}
    probes = {kind: described(probe, PlanEntry) for kind, probe in catalogues.probes.items()}
    detectors = {kind: described(detector) for kind, detector in (catalogues.detectors or {}).items()}
    models: list[type[BaseModel]] = [file, reference, entry, window]
    models += [*sections.values(), *probes.values(), *detectors.values()]
    refs, rest = models_json_schema([(model, "validation") for model in models], schema_generator=_Schema)
    ref = {model: refs[(model, "validation")] for model in models}
    schema: dict[str, Any] = rest["$defs"].pop(ref[file]["$ref"].rpartition("/")[2])
    rest["$defs"][EndpointEntry.__name__]["properties"]["protocol"]["enum"] = sorted(catalogues.protocols)
    rest["$defs"][EndpointEntry.__name__]["properties"]["dialect"]["enum"] = [*sorted(catalogues.dialects), None]
    keys = schema["properties"]
    for name, model in sections.items():
        keys[name] = ref[model]
    keys["references"]["additionalProperties"] = ref[reference]
    keys["endpoints"]["items"] = ref[entry]
    keys["maintenance"]["items"] = ref[window]
    keys["probes"]["items"] = {"oneOf": [_of_kind(kind, ref[model]) for kind, model in sorted(probes.items())]}
    keys["detectors"] |= {
        "properties": {kind: ref[model] for kind, model in sorted(detectors.items())},
        "additionalProperties": False,
    }
    keys["alerts"], of_alerts = alerts_schema()
    rest["$defs"] |= of_alerts
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "weighmaster.yaml"}
    return schema | head | {"$defs": rest["$defs"]}


class _Schema(GenerateJsonSchema):
    """Shows addresses the way that the file writes them."""

    def encode_default(self, dft: Any) -> Any:
        """Return the default as JSON."""
        if isinstance(dft, RetentionConfig):
            return {}
        return str(dft) if isinstance(dft, Address) else super().encode_default(dft)


def _of_kind(kind: str, ref: Mapping[str, Any]) -> dict[str, Any]:
    return {"allOf": [dict(ref), {"properties": {"kind": {"const": kind}}}]}


def _error(checker: Checker) -> ConfigError:
    return ConfigError(tuple(checker.document.problem(finding) for finding in checker.findings))


def _drop_empty_sections(document: Document) -> None:
    """Treat a section without content as absent: people comment out its last line."""
    known = {item.name for item in fields(FileShape)}
    empty = [key for key, value in document.value.items() if key in known and value is None]
    for key in empty:
        if (key,) not in document.spoiled:
            del document.value[key]


def _section(checker: Checker, kind: type, key: str) -> Any:
    value = checker.document.at((key,))
    return checker.make(kind, (key,)) if value is None or isinstance(value, dict) else None


def _endpoints(checker: Checker, catalogues: Catalogues) -> tuple[EndpointConfig, ...]:
    found: list[EndpointConfig] = []
    first: dict[str, int] = {}
    for i, content in checker.document.listed(("endpoints",)):
        path: Path = ("endpoints", i)
        name = content.get("name")
        if isinstance(name, str) and first.setdefault(name, i) != i:
            checker.add((*path, "name"), f"is the name of endpoints[{first[name]}] too", "names are unique")
        if isinstance(name, str) and "/" not in name and content.get("provider") is None:
            checker.add((*path, "provider"), "is missing", "or write the name as provider/model")
        entry = checker.make(EndpointEntry, path)
        if entry is not None:
            check_dialect(checker, path, entry, catalogues.dialects)
            _check_proxy(checker, (*path, "proxy"), entry)
            found.append(_endpoint(checker, path, entry))
    return tuple(found)


def _check_proxy(checker: Checker, path: Path, entry: EndpointEntry) -> None:
    """Refuse a password in the file, as for keys."""
    if entry.proxy and "@" in entry.proxy.get_secret_value() and path not in checker.document.filled:
        checker.add(path, "is a secret in clear text", "write ${NAME} and set NAME in the environment")


def _endpoint(checker: Checker, path: Path, entry: EndpointEntry) -> EndpointConfig:
    values = {item.name: getattr(entry, item.name) for item in fields(Endpoint)}
    values["provider"] = entry.provider or entry.name.partition("/")[0]
    return EndpointConfig(
        endpoint=Endpoint(**values), api_key=entry.api_key, http2=entry.http2, proxy=entry.proxy, since=entry.since,
        allow_private=entry.allow_private, disabled=checker.document.unset.get((*path, "api_key")),
        budget=budget(checker, path, entry),
    )  # fmt: skip


def _providers(checker: Checker) -> dict[str, str]:
    """Return the provider of each endpoint as written, also of endpoints that have mistakes."""
    found = [content for _, content in checker.document.listed(("endpoints",)) if isinstance(content.get("name"), str)]
    return {one["name"]: str(one.get("provider") or one["name"].partition("/")[0]) for one in found}


def _launched(checker: Checker) -> dict[str, datetime | None]:
    """Return the launch of each endpoint as written; a mistake in it is reported with the endpoint."""
    found: dict[str, datetime | None] = {}
    for _, content in checker.document.listed(("endpoints",)):
        try:
            found[str(content.get("name"))] = parse_instant(content.get("since"))
        except ValueError:
            some = datetime.max.replace(tzinfo=UTC)  # else the plans would complain as well
            found[str(content.get("name"))] = None if content.get("since") is None else some
    return found


def _plans(checker: Checker, catalogues: Catalogues) -> tuple[ProbePlan, ...]:
    plans: list[ProbePlan] = []
    taken: dict[tuple[str, str], str | int] = {}
    for i, content in checker.document.listed(("probes",)):
        path: Path = ("probes", i)
        kind = content.get("kind")
        if not isinstance(kind, str):
            checker.values(path, PlanEntry) if "kind" in content else checker.add((*path, "kind"), "is missing")
        elif kind not in catalogues.probes:
            checker.add_unknown((*path, "kind"), "probe", catalogues.probes)
        else:
            found = _plan(checker, path, catalogues.probes[kind])
            plans.extend(found)
            _check_overlap(checker, path, kind, [name for plan in found for name in plan.endpoints], taken)
    return tuple(plans)


def _plan(checker: Checker, path: Path, probe: type) -> list[ProbePlan]:
    values = checker.values(path, probe, PlanEntry)
    fits = check_times(checker, path)
    endpoints = _matching(checker, path)
    instance: Any = None if values is None else checker.build(probe, values, path)
    if values is None or not fits:
        return []
    found = cadences(checker, path, values, endpoints, _launched(checker))
    return [
        ProbePlan(probe=instance, cadence=cadence, endpoints=names, lane=values.get("lane"))
        for cadence, names in found
        if instance is not None
    ]


def _matching(checker: Checker, path: Path) -> tuple[str, ...]:
    """Return the names that the patterns of a probe match, in the order of the endpoints."""
    entries = [content.get("name") for _, content in checker.document.listed(("endpoints",))]
    names = [name for name in entries if isinstance(name, str)]
    patterns = checker.document.at((*path, "endpoints"))
    if not isinstance(patterns, list):
        return tuple(names)
    for j, pattern in enumerate(patterns):
        known = bool(entries) and len(names) == len(entries)  # else it may mean one whose name is the mistake
        if isinstance(pattern, str) and known and not any(fnmatchcase(name, pattern) for name in names):
            checker.add_unknown((*path, "endpoints", j), "endpoint", names)
    return tuple(name for name in names if any(isinstance(p, str) and fnmatchcase(name, p) for p in patterns))


def _check_overlap(
    checker: Checker, path: Path, kind: str, names: list[str], taken: dict[tuple[str, str], str | int]
) -> None:
    """Refuse the same kind of probe twice for one endpoint: slots are keyed by endpoint and kind (case OP-06)."""
    i = path[-1]
    for name in names:
        j = taken.setdefault((kind, name), i)
        if j != i:
            problem = f"probes[{j}] already asks {name} with the probe {kind}"
            checker.add(path, problem, "one plan per probe and endpoint")
            return


def _detectors(checker: Checker, catalogues: Catalogues) -> tuple[Any, ...]:
    if catalogues.detectors is None:
        return ()
    for kind, _ in checker.document.named(("detectors",)):
        if kind not in catalogues.detectors:
            checker.add_unknown(("detectors", kind), "detector", catalogues.detectors)
    section = checker.document.at(("detectors",))
    overrides = section if isinstance(section, dict) else {}
    fitting = {kind: t for kind, t in catalogues.detectors.items() if isinstance(overrides.get(kind, {}), dict)}
    return tuple(checker.make(detector, ("detectors", kind)) for kind, detector in sorted(fitting.items()))

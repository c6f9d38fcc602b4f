"""Families of samples as Prometheus text (exposition format 0.0.4). Pure."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line: labels, value, and what is appended to the family's name (``_bucket``, ``_sum``, ``_count``)."""

    labels: Mapping[str, str]
    value: float
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """All samples of one metric."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    text: str
    samples: tuple[Sample, ...]


def rendered(families: Iterable[Family]) -> str:
    """Return the text; families without samples are left out."""
    return "".join(_family(family) for family in families if family.samples)


def _family(family: Family) -> str:
    text = family.text.replace("\\", r"\\").replace("\n", r"\n")
    lines = [f"# HELP {family.name} {text}", f"# TYPE {family.name} {family.kind}"]
    lines += [f"{family.name}{one.suffix}{_labels(one.labels)} {_number(one.value)}" for one in family.samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    plain = value.encode("utf-8", "replace").decode()
    return plain.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 2**53 else repr(float(value))

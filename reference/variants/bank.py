"""All variants by name: the standard parameters of every scheme in this package, and others written out."""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import pydantic

import reference.variants
from monitor.catalogue import scan
from monitor.errors import UsageError
from reference.variants.variant import Variant


def schemes() -> dict[str, type[Variant]]:
    """Return the classes of all schemes by kind."""
    return scan(reference.variants, "VARIANT")


def bank() -> dict[str, Variant]:
    """Return the standard variants of all schemes by name."""
    return {variant.name: variant for scheme in schemes().values() for variant in scheme.standard()}


def find(spec: str) -> Variant:
    """Return the variant that `spec` means: a name of the bank, or ``kind:field=value,field=value``.

    Raises
    ------
    UsageError
        When there is none; the message lists the names.
    """
    known = bank()
    if spec in known:
        return known[spec]
    kind, colon, fields = spec.partition(":")
    scheme = schemes().get(kind)
    if not colon or scheme is None or kind == "mixture":
        raise UsageError(f"variant {spec!r} is neither one of {', '.join(known)} nor KIND:FIELD=VALUE,...")
    return _made(spec, scheme, dict(part.partition("=")[::2] for part in fields.split(",")))


def weights_only(specs: Sequence[str]) -> list[str]:
    """Return `specs`, each of which `find` must know as a variant that changes weights only; ``all`` means all those.

    Raises
    ------
    UsageError
        When one is unknown or changes something else, which weights in memory cannot show.
    """
    if list(specs) == ["all"]:
        return [name for name, variant in bank().items() if variant.changes == "weights"]
    for spec in specs:
        if find(spec).changes != "weights":
            raise UsageError(f"variant {spec!r} changes more than weights: its deviations cannot be predicted here")
    return list(specs)


def spec_of(variant: Variant) -> str:
    """Return what `find` finds `variant` by: its name, or its parameters written out."""
    if bank().get(variant.name) == variant:
        return variant.name
    values = {field.name: getattr(variant, field.name) for field in dataclasses.fields(variant)}
    return f"{variant.kind}:{','.join(f'{name}={_text(value)}' for name, value in values.items())}"


def _made(spec: str, scheme: type[Variant], given: dict[str, Any]) -> Variant:
    names = [field.name for field in dataclasses.fields(scheme)]
    wrong = [name for name in given if name not in names]
    if wrong:
        fields = ", ".join(names) or "none"
        raise UsageError(f"variant {spec!r}: {scheme.kind} has no field {wrong[0]!r}, only {fields}")
    try:
        made: Variant = pydantic.TypeAdapter(scheme).validate_python({name: _value(given[name]) for name in given})
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = first["loc"][0] if first["loc"] else scheme.kind
        raise UsageError(f"variant {spec!r}: {place}: {first['msg']}") from None
    return made


def _text(value: object) -> str:
    return "none" if value is None else str(value)


def _value(text: str) -> Any:
    """Read a number, ``null`` or ``none``; everything else is text."""
    try:
        return None if text == "none" else json.loads(text)
    except ValueError:
        return text

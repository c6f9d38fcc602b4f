"""What an endpoint of a declared precision may show: read out of a calibration (docs/calibration.md)."""

import re
from collections.abc import Mapping
from typing import Any

from monitor.errors import GoldenError
from monitor.results import Tolerances

FULL = "full"
COMPUTED_BY = "torch"
"""The engine of variants whose weights alone were degraded: their arithmetic was golden."""
PRECISIONS = ("f32", "f16", "bf16", "fp8", "int8", "int4", "nf4", "fp4", "mxfp4", "q8_0", "q4_k_m", "unknown")
"""How a configuration may declare a precision: the usual words, for messages; `is_precision` knows the others."""

_FULL = frozenset({
    "f32", "fp32", "float32", "f16", "fp16", "float16", "bf16", "bfloat16", "half", "full", "16bit", "32bit", "unknown",
})  # fmt: skip
_ALIASES = {"float8": "fp8", "e4m3": "fp8", "e5m2": "fp8", "w8a8": "int8", "w8a16": "int8", "8bit": "int8",
            "awq": "int4", "gptq": "int4", "w4a16": "int4", "w4a8": "int4", "4bit": "int4", "bnb_4bit": "nf4",
            "bnb_8bit": "int8"}  # fmt: skip

_NUMBERS = re.compile(r"(fp8|fp6|fp4|mxfp4|mxfp8|nvfp4|int8|int4|nf4)(_.+)?")
_GGUF = re.compile(r"(i?q\d_(?:\d|k|nl|xs|xxs|s|m))(_[sml]|_xl)?")


def precision_class(declared: str | None) -> str:
    """Return the name that tolerances go by; nothing declared, or ``unknown``, means full precision.

    What follows a number format (``fp8-dynamic``, ``int4-g128``) and the mix of a GGUF name (``q4_k_m``) are left out.
    """
    if declared is None:
        return FULL
    name = declared.strip().lower().replace("-", "_")
    found = _NUMBERS.fullmatch(name) or _GGUF.fullmatch(name)
    return FULL if name in _FULL else _ALIASES.get(name) or (found.group(1) if found else name)


def is_precision(declared: str) -> bool:
    """Whether `declared` is the name of a precision: a 16 or 32 bit float, a coarser number format, or GGUF's."""
    name = precision_class(declared)
    return name == FULL or bool(_NUMBERS.fullmatch(name) or _GGUF.fullmatch(name))


def weights_of(precision: str) -> str:
    """Return the name that tolerances go by where only weights of `precision` were computed with, and nothing served.

    An engine that serves them may round activations too, as llama.cpp does.
    """
    return f"weights of {precision}"


def read_tolerances(calibration: Mapping[str, Any]) -> Tolerances:
    """Return the tolerances in a calibration (the content of ``calibration.json``).

    Full precision gets the bound over the faithful ensemble. A lower precision gets what the variants of that name
    showed, the end of their interval, and never less than full precision. Variants that were computed and not served go
    by `weights_of` their precision.

    Raises
    ------
    GoldenError
        When `calibration` is not such a document.
    """
    try:
        weights = str(calibration["fingerprint"]["weights_sha256"])
        by_metric = {str(one["metric"]): _by_precision(one) for one in calibration["metrics"]}
    except (KeyError, TypeError, ValueError) as error:
        raise GoldenError(f"not a calibration: {error!r}; run `weighmaster reference calibrate`") from error
    return Tolerances(weights_sha256=weights, by_metric=by_metric)


def _by_precision(metric: Mapping[str, Any]) -> dict[str, float]:
    worse, end = (min, "low") if metric["better"] == "higher" else (max, "high")
    full = float(metric["tolerance"])
    found = {FULL: full}
    for member in metric["members"]:
        name = _class_of_variant(str(member["name"]))
        if name is not None and not member["faithful"]:
            seen = [float(value) for value in (member["value"], member[end]) if value is not None]
            name = weights_of(name) if member["engine"] == COMPUTED_BY else name
            found[name] = worse(found.get(name, full), *seen)
    return found


def _class_of_variant(name: str) -> str | None:
    """Precision of a variant of weights by its name: ``int8-g64`` is int8, ``Q4_0+emb-Q8_0`` q4_0; None for others."""
    scheme = name.partition("+")[0]
    found = precision_class(scheme)
    return found if is_precision(scheme) and found != FULL else None

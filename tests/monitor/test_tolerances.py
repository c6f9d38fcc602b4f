"""Tolerances out of a calibration written by hand: what each declared precision may show."""

from typing import Any

import pytest

from monitor.errors import GoldenError
from monitor.tolerances import PRECISIONS, is_precision, precision_class, read_tolerances, weights_of


def member(name: str, value: float, high: float | None, *, faithful: bool = False) -> dict[str, Any]:
    return {"name": name, "faithful": faithful, "family": "?", "engine": "e", "value": value, "low": None,
            "high": high, "beyond": True}  # fmt: skip


CALIBRATION: dict[str, Any] = {
    "fingerprint": {"weights_sha256": "w"},
    "metrics": [
        {"metric": "kl_nats", "better": "lower", "tolerance": 0.0013, "members": [
            member("torch bf16", 0.0009, 0.0011, faithful=True), member("int8-g64", 0.0011, 0.0012),
            member("fp8-channel", 0.016, 0.02), member("fp8-tensor", 0.018, None), member("Q8_0", 0.0042, 0.0053),
            member("Q4_0+emb-Q8_0", 0.2, 0.3), member("no-system", 0.1, 0.2), member("kv-8", 0.5, 0.6)]},
        {"metric": "top1_same", "better": "higher", "tolerance": 0.98, "members": [
            {**member("Q8_0", 0.97, None), "low": 0.95}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("metric", "precision", "allowed"),
    [
        ("kl_nats", None, 0.0013),
        ("kl_nats", "BF16", 0.0013),
        ("kl_nats", "fp8", 0.02),  # the worst end of all fp8 variants
        ("kl_nats", "fp8-e4m3", 0.02),
        ("kl_nats", "int8", 0.0013),  # never stricter than full precision
        ("kl_nats", "Q8_0", 0.0053),
        ("kl_nats", "q4_0", 0.3),
        ("kl_nats", "nf4", None),
        ("top1_same", "q8_0", 0.95),
        ("flip_rate", None, None),
    ],
)
def test_allowed(metric: str, precision: str | None, allowed: float | None) -> None:
    assert read_tolerances(CALIBRATION).allowed(metric, precision_class(precision)) == allowed


@pytest.mark.parametrize(
    ("declared", "name"),
    [
        (None, "full"), ("unknown", "full"), (" FP16 ", "full"), ("bfloat16", "full"), ("w4a16", "int4"),
        ("fp8-dynamic", "fp8"), ("int4-g128", "int4"), ("Q4_K_M", "q4_k"), ("q8_0", "q8_0"), ("IQ4_XS", "iq4_xs"),
        ("mxfp4", "mxfp4"), ("nf4", "nf4"),
    ],
)  # fmt: skip
def test_a_declared_precision_has_a_class(declared: str | None, name: str) -> None:
    assert precision_class(declared) == name
    assert declared is None or is_precision(declared)


@pytest.mark.parametrize("declared", ["bf61", "high", "8", "q4_k_x", "q4", "", "fp8dynamic", "default"])
def test_other_words_are_no_precision(declared: str) -> None:
    assert not is_precision(declared)


def test_all_that_messages_suggest_are_precisions() -> None:
    assert all(is_precision(name) for name in PRECISIONS)


def test_faults_that_are_no_precision_give_no_tolerance() -> None:
    assert set(read_tolerances(CALIBRATION).by_metric["kl_nats"]) == {"full", "int8", "fp8", "q8_0", "q4_0"}


def test_variants_that_were_computed_go_by_a_name_of_their_own() -> None:
    """Oracle: what a server of Q8_0 differs by is not known from its weights (0.0006 against 0.0042 nats, measured)."""
    (metric, _) = CALIBRATION["metrics"]
    computed = [{**one, "engine": one["engine"] if one["faithful"] else "torch"} for one in metric["members"]]
    found = read_tolerances({**CALIBRATION, "metrics": [{**metric, "members": computed}]})
    assert found.allowed("kl_nats", "full") == 0.0013
    assert found.allowed("kl_nats", "q8_0") is None
    assert found.allowed("kl_nats", weights_of("q8_0")) == 0.0053


@pytest.mark.parametrize("document", [{}, {"fingerprint": {"weights_sha256": "w"}, "metrics": [{"metric": "x"}]}])
def test_something_else_is_refused_with_the_remedy(document: dict[str, Any]) -> None:
    with pytest.raises(GoldenError, match="reference calibrate"):
        read_tolerances(document)

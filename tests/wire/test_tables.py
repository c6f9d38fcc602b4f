"""Small pure readers. Oracle: the tables of the fault corpus (FN-04, TK-04 to TK-06, TR-03, ID-01), by hand."""

from datetime import UTC, datetime
from typing import Any

import pytest

from monitor.wire.finish import normalised
from monitor.wire.lenient import NotJsonError, loads
from monitor.wire.logprobs import value_of
from monitor.wire.model_names import compare_models
from monitor.wire.retry_after import retry_after_s
from monitor.wire.timing import measurement
from monitor.wire.usage import read_usage


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        ("eos", "stop"), ("eos_token", "stop"), ("STOP", "stop"), ("end", "stop"), ("end_turn", "stop"),
        ("MAX_TOKENS", "length"), ("model_length", "length"), ("function_call", "tool_calls"),
        ("sensitive", "content_filter"), ("SAFETY", "content_filter"), ("abort", "error"),
        ("network_error", "error"), ("insufficient_system_resource", "error"), ("error", "error"),
        ("", None), ("  ", None), (" stop ", "stop"), ("finished_ok", "other:finished_ok"),
    ],
)  # fmt: skip
def test_finish_reasons(raw: str, want: str | None) -> None:
    assert normalised(raw) == want


def details(kind: str, name: str, count: Any) -> dict[str, Any]:
    return {f"{kind}_tokens_details": {name: count}}


@pytest.mark.parametrize(
    ("usage", "want"),
    [
        # TK-04
        ({"prompt_tokens": 100, "completion_tokens": 950, "total_tokens": 1050}
         | details("completion", "reasoning_tokens", 900), {"shape": "folded", "generated": 950, "visible": 50}),
        ({"prompt_tokens": 3110, "completion_tokens": 673, "total_tokens": 4691}
         | details("completion", "reasoning_tokens", 909), {"shape": "unfolded", "generated": 1582, "visible": 673}),
        ({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 70}
         | details("completion", "reasoning_tokens", 25),
         {"shape": "ambiguous", "generated": None, "visible": None, "flags": ("usage_ambiguous",)}),
        ({"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 31}
         | details("completion", "reasoning_tokens", 21), {"shape": "folded", "generated": 20, "visible": 0}),
        ({"prompt_tokens": 10, "completion_tokens": 20}, {"shape": "plain", "generated": 20, "visible": 20}),
        # TK-05
        ({"prompt_tokens": 148, "completion_tokens": 9} | details("prompt", "cached_tokens", 6600),
         {"input_total": 6748, "uncached": 148, "flags": ("cached_exceeds_prompt",)}),
        ({"prompt_tokens": 6748, "completion_tokens": 9} | details("prompt", "cached_tokens", 6600),
         {"input_total": 6748, "uncached": 148, "flags": ()}),
        ({"prompt_tokens": -1, "completion_tokens": 9} | details("prompt", "cached_tokens", 33),
         {"input_total": 33, "uncached": 0, "prompt": None, "flags": ("negative_prompt_tokens",)}),
        ({"prompt_tokens": -1, "completion_tokens": 9}, {"input_total": None, "uncached": None}),
        ({"prompt_tokens": 12, "completion_tokens": 9, "prompt_tokens_details": None},
         {"input_total": 12, "uncached": None}),
        # TK-06
        ({"prompt_tokens": 12.0, "completion_tokens": 2.25, "total_tokens": 14.25},
         {"prompt": 12, "completion": 2.25, "flags": ("usage_fractional",)}),
        ({"prompt_tokens": "12", "completion_tokens": "3"},
         {"prompt": 12, "completion": 3, "flags": ("usage_string",)}),
        *(({"prompt_tokens": 12, "completion_tokens": huge},
           {"prompt": 12, "completion": None, "generated": None, "flags": flags})
          for huge, flags in ((2**31 + 1, ("usage_implausible",)), (10**400, ("usage_implausible",)),
                              (1.2e29, ("usage_implausible",)),
                              ("123456789012345678901234567890", ("usage_string", "usage_implausible")))),
        ({"prompt_tokens": "n/a", "completion_tokens": 3}, {"prompt": None, "completion": 3}),
        ({"prompt_tokens": True, "completion_tokens": -4},
         {"prompt": None, "completion": None, "generated": None, "flags": ("negative_completion_tokens",)}),
    ],
)  # fmt: skip
def test_usage(usage: dict[str, Any], want: dict[str, Any]) -> None:
    reading = read_usage(usage)
    assert {name: getattr(reading, name) for name in want} == want


NOW = datetime(2026, 10, 21, 7, 27, 50, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "want"),
    [
        ("2", (2.0, False)), ("0.503", (0.503, False)), (" 7", (7.0, False)),
        ("Wed, 21 Oct 2026 07:28:00 GMT", (10.0, False)), ("Wed, 21 Oct 2026 07:20:00 GMT", (0.0, False)),
        ("Wed, 21 Oct 2026 09:28:00 +0200", (10.0, False)), ("Thu, 22 Oct 2026 07:28:00 GMT", (120.0, True)),
        ("-1", (None, False)), ("soon", (None, False)), ("86400", (120.0, True)), (None, (None, False)),
        ("", (None, False)), ("1e3", (None, False)), ("nan", (None, False)), ("inf", (None, False)),
        ("\u0663", (None, False)), ("9" * 400, (120.0, True)), ("Wed, 31 Feb 2026 07:28:00 GMT", (None, False)),
    ],
)  # fmt: skip
def test_retry_after(value: str | None, want: tuple[float | None, bool]) -> None:
    assert retry_after_s({"retry-after": value}.get, NOW) == want


def test_retry_after_in_ms_and_a_date_without_a_now() -> None:
    assert retry_after_s({"retry-after-ms": "1500", "retry-after": "2"}.get, NOW) == (1.5, False)
    assert retry_after_s({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}.get, None) == (None, False)


@pytest.mark.parametrize(
    ("requested", "answered", "want"),
    [
        ("vendor/probe-a", "probe-a", "same"), ("probe-a", "probe-a-2026-01-15", "same_dated"),
        ("probe-a", "Probe-A", "same"), ("probe-a", "probe-mini", "mismatch"),
        ("probe-a:free", "probe-a", "variant_dropped"), ("probe-a", "", "unknown"), ("probe-a", None, "unknown"),
        ("probe-a-2507", "probe-a", "mismatch"), ("probe-a-20260115", "probe-a-20260301", "same_dated"),
    ],
)  # fmt: skip
def test_model_names(requested: str, answered: str | None, want: str) -> None:
    assert compare_models(requested, answered) == want


@pytest.mark.parametrize(
    ("raw", "value", "flag"),
    [
        (-1.25, -1.25, None), (0, 0.0, None), (-0.0, 0.0, None), (1e-6, 0.0, None), (1.1e-6, None, "positive_logprob"),
        (1.0, None, "positive_logprob"), (-8999, -8999.0, None), (-9000, None, "masked_logprob"),
        (-9999.0, None, "masked_logprob"), (-3.4028234663852886e38, None, "masked_logprob"),
        (float("-inf"), None, "masked_logprob"), (float("nan"), None, "masked_logprob"),
        (None, None, "masked_logprob"), ("-1", None, "odd_type:logprob"), (True, None, "odd_type:logprob"),
    ],
)  # fmt: skip
def test_logprob_values(raw: Any, value: float | None, flag: str | None) -> None:
    flags: dict[str, None] = {}
    assert value_of(raw, flags) == value
    assert list(flags) == ([flag] if flag else [])


def test_lenient_json() -> None:
    assert loads(b'{"a":1}') == ({"a": 1}, ())
    assert loads(b'{"a":-Infinity}') == ({"a": float("-inf")}, ("nonstandard_json",))
    assert loads(b'"\\ud83d"') == ("\ufffd", ("nonstandard_json",))
    assert loads(b'"\\ud83d\\ude0a"') == ("\U0001f60a", ())
    assert loads(b'"a\xffb"') == ("a\ufffdb", ("invalid_utf8",))
    assert loads(b"[NaN, 123456789012345678901234567890]")[0][1] == 1.2345678901234568e29
    for broken in (b"", b"{", b'{"a":1', b"nope", b"[" * 100_000):
        with pytest.raises(NotJsonError):
            loads(broken)


@pytest.mark.parametrize(
    ("ttft", "bound", "timed", "want"),
    [
        (100.0, 5.0, True, "valid"), (100.0, 5.01, True, "error bound above 5%"), (100.0, 0.0, True, "valid"),
        (None, 1.0, True, "no token"), (100.0, None, True, "error bound unknown"), (None, None, False, "no clock"),
    ],
)  # fmt: skip
def test_measurement(ttft: float | None, bound: float | None, timed: bool, want: str) -> None:
    assert measurement(ttft, bound, timed=timed) == want

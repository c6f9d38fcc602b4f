"""Alternatives that are read together. Oracle: the same reading, one alternative at a time."""

import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.codec import decode, encode
from monitor.types import TokenLogprob, TopToken
from monitor.wire import logprobs
from monitor.wire.alternatives import Alternatives

VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [-1.5, -0.25, 0.0, -0.0, -1, 0, True, None, "x", 1e-7, 0.5, -9000.0, -9999.0, float("nan"), float("-inf")]
)
SPELLED: st.SearchStrategy[Any] = st.sampled_from(
    [[97], [98], [], None, [256], [-1], [True], [1.0], "", {}, [None], [[]], 3]
)
TOKENS: st.SearchStrategy[Any] = st.sampled_from(["a", "b", "c", "", "bytes:\\xf0", 5, None, ["a"]])
USUAL = st.fixed_dictionaries(
    {"token": st.sampled_from("abcdefgh"), "logprob": st.floats(-20, 0), "bytes": st.just([97, 255, 0])}
)
ANY: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {}, optional={"token": TOKENS, "logprob": VALUES, "bytes": SPELLED, "id": st.sampled_from([1, "1", None])}
) | st.sampled_from([None, "abc", 3, [1, 2, 3], {}])


@settings(max_examples=1500, deadline=None)
@given(st.lists(USUAL, max_size=6), st.lists(ANY, max_size=1), st.integers(0, 6))
def test_read_together_and_one_by_one(usual: list[Any], odd: list[Any], at: int) -> None:
    listed = usual[:at] + odd + usual[at:]
    raw = {"content": [{"token": "a", "logprob": -1.0, "top_logprobs": listed}]}
    together: dict[str, None] = {}
    one_by_one: dict[str, None] = {}
    found = logprobs.entries(raw, together)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logprobs, "_plain", lambda _listed: None)
        expected = logprobs.entries(raw, one_by_one)
    assert repr(found) == repr(expected)
    assert list(together) == list(one_by_one)


def test_the_usual_ones_are_read_together() -> None:
    listed = [{"token": token, "logprob": -1.0, "bytes": [ord(token)]} for token in "abc"]
    assert logprobs._plain(listed) == tuple(TopToken(token, -1.0, (ord(token),)) for token in "abc")


def test_alternatives_read_together_are_like_the_tuple_of_them() -> None:
    """Oracle: the tuple, and a record that holds it."""
    lazy: Any = Alternatives({"a": -1.0, "": -2.5}, [b"a", b""])
    eager = TopToken("a", -1.0, (97,)), TopToken("", -2.5, ())
    assert (len(lazy), list(lazy), lazy[1], lazy[-2:], eager[0] in lazy) == (2, list(eager), eager[1], eager, True)
    assert lazy == eager
    assert eager == lazy
    assert lazy == Alternatives({"a": -1.0, "": -2.5}, [b"a", b""])
    assert lazy != eager[:1]
    assert lazy != list(eager)
    assert (hash(lazy), repr(lazy)) == (hash(eager), repr(eager))
    assert lazy
    assert not Alternatives({}, [])
    assert lazy[0] is lazy[0]
    assert pickle.loads(pickle.dumps(lazy)) == eager  # noqa: S301  # made here
    entry, other = TokenLogprob("a", -1.0, top=lazy), TokenLogprob("a", -1.0, top=eager)
    assert (entry, hash(entry), encode(entry)) == (other, hash(other), encode(other))
    assert decode(TokenLogprob, encode(entry)) == entry
    assert type(decode(TokenLogprob, encode(entry)).top) is tuple


def test_alternatives_are_values() -> None:
    """Equal, hashed, shown, replaced and written like any other noun."""
    one, same = TopToken(token="a", logprob=-1.0, bytes=(97,)), TopToken(token="a", logprob=-1.0, bytes=(97,))
    assert one == same
    assert hash(one) == hash(same)
    assert one != dataclasses.replace(one, logprob=-2.0)
    assert repr(one) == "TopToken(token='a', logprob=-1.0, bytes=(97,), id=None)"
    entry = TokenLogprob(token="a", logprob=None, top=(one,))
    assert decode(TokenLogprob, encode(entry)) == entry
    assert b'"bytes":[97]' in encode(entry)
    assert not hasattr(one, "__dict__")

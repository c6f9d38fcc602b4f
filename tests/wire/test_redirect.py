"""A redirect says where it leads to, and no secret. Oracle: addresses with a canary where secrets stand."""

import pytest

from monitor.types import Capture, Read
from monitor.wire.dispatch import decode
from monitor.wire.redirect import place_of


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("https://acme.example/v2/chat?key=canary#canary", "https://acme.example/v2/chat"),
        ("https://me:canary@acme.example:81/", "https://acme.example:81/"),
        ("//acme.example/x?canary", "http://acme.example/x"),
        ("/login?token=canary", "/login at the same host"),
        ("?canary", "no address"), ("", "no address"), (None, "no address"), ("http://[canary", "what is no address"),
        ("https://a.example/\x1b[31m\n", "https://a.example/?[31m"),
    ],
)  # fmt: skip
def test_of_a_place_only_scheme_host_and_path_are_shown(location: str | None, place: str) -> None:
    assert place_of(location) == place


def test_a_long_place_is_cut() -> None:
    assert len(place_of(f"https://a.example/{'x' * 9000}")) == 203


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_record_of_a_redirect_tells_what_to_do_and_no_secret(status: int) -> None:
    """The page that comes with it repeats the address."""
    page = b'<a href="https://acme.example/v2?key=canary">moved</a>'
    headers = (("location", "https://acme.example/v2?key=canary"), ("content-type", "text/html"))
    record = decode(Capture(end="complete", status=status, headers=headers, reads=(Read(5, page),), t0_ns=0))
    assert (record.outcome, record.status) == ("redirect", status)
    assert record.error == (
        f"answers with a redirect ({status}) to https://acme.example/v2, which is not followed; "
        "put the final address into base_url"
    )
    assert "canary" not in repr(record)

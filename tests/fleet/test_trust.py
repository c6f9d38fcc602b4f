"""Certificates that cannot be used. Oracle: an error that names the key in the file, before anything listens."""

from collections.abc import Callable
from pathlib import Path

import pytest

from jobs.store_process import serve
from jobs.trust import trusting
from monitor.config_fields import Address
from monitor.config_store import StoreConfig
from monitor.errors import UsageError
from tests.probes.transport.servers import PEM


def never(_url: str) -> None:
    raise AssertionError("it must not serve")


@pytest.mark.parametrize(
    "files", [lambda folder: (folder / "none", PEM), lambda folder: (PEM, folder / "bad"), lambda _: (PEM, Path("/"))]
)
def test_half_a_key_pair_serves_nothing(files: Callable[[Path], tuple[Path, Path]], tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("no key")
    certificate, key = files(tmp_path)
    config = StoreConfig(
        path=str(tmp_path / "store.duckdb"), listen=Address(host="127.0.0.1", port=0),
        tls_certificate=str(certificate), tls_key=str(key),
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"store\.tls_certificate"):
        serve(config, 0, ready=never)


def test_roots_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("no certificate")
    for name in ("bad.pem", "none.pem"):
        with pytest.raises(UsageError, match=rf"store\.tls_ca .*{name}"):
            trusting(str(tmp_path / name))
    assert trusting(str(PEM)).get_ca_certs()


def test_the_address_says_how_it_is_spoken_to() -> None:
    at = Address(host="::1", port=1)
    assert StoreConfig(listen=at).url == "http://[::1]:1"
    assert StoreConfig(listen=at, tls_certificate="c", tls_key="k").url == "https://[::1]:1"

"""Whose certificates are believed."""

import ssl

from monitor.errors import UsageError


def trusting(ca: str | None) -> ssl.SSLContext:
    """Return what checks the certificate of a store: by the roots in the PEM file `ca`, or by those of the system.

    Raises
    ------
    UsageError
        When `ca` cannot be read.
    """
    try:
        return ssl.create_default_context(cafile=ca)
    except OSError as error:  # ssl's own errors are OSErrors too
        raise UsageError(f"store.tls_ca {ca}: no PEM file of certificates ({error.strerror or error})") from None

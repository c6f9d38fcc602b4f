"""The version of this program, part of every run."""

from importlib.metadata import version as _installed


def version() -> str:
    """Version of the installed distribution."""
    return _installed("weighmaster")

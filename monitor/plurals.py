"""Counted nouns as people write them."""


def plural(n: int, noun: str) -> str:
    """Return such as ``1 request``, ``1,200 requests``, ``0 prompts``; for nouns that take an s."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")

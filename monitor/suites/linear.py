"""Regular expressions that take time linear in the text, whatever the text is.

Answers are hostile: Python's `re` can be made to go back and forth for ever. pydantic carries the Rust engine, which
cannot; in return it knows no look-around and no back references.
"""

from functools import lru_cache
from typing import Annotated

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import SchemaError

MAX_PATTERN_CHARS = 2000


def problem(pattern: str) -> str | None:
    """Return why `pattern` cannot be used; None where it can."""
    if len(pattern) > MAX_PATTERN_CHARS:
        return f"a pattern of more than {MAX_PATTERN_CHARS} characters"
    try:
        _compiled(pattern)
    except SchemaError as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return f"no pattern that takes linear time (no look-around, no back references): {lines[-1]}"
    return None


def matches(pattern: str, text: str) -> bool:
    """Whether `pattern`, which has no `problem`, is found anywhere in `text`."""
    try:
        _compiled(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> TypeAdapter[str]:
    return TypeAdapter(Annotated[str, StringConstraints(pattern=pattern)])

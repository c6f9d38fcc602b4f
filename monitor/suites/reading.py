"""Suites as text: JSON lines or YAML. Nothing in them is executed, and all mistakes are told at once.

JSON lines: one case a line; a line ``{"suite": {...}}`` holds the name and defaults, one ``{"generated": {...}}`` a
family. YAML: a mapping with ``name``, ``defaults``, ``cases`` and ``generated``.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import orjson
import yaml

from monitor.errors import ConfigError, Problem, UsageError
from monitor.suites.case import Generated, Suite, SuiteCase
from monitor.suites.families.catalogue import families
from monitor.suites.oracle_mistakes import unknown
from monitor.suites.rows import RowError, Told, case_of, checked, counts_of, row_of

MAX_CASES = 100_000
MAX_DEPTH = 100
"""Lists and objects inside of each other, in one row or document. What walks them uses the stack of Python."""

_MAX_CHARS = 256 * 2**20
_HOLDERS = (Mapping, list, tuple)
_HEAD = ("name", "defaults")
_LISTS = ("cases", "generated")
_DEFAULTS = ("parameters", "repeats", "privacy")
_GENERATED = ("family", "n", "level", "repeats", "weight", "privacy", "parameters")


def read_suite(text: str, source: str, *, name: str) -> Suite:
    """Return the suite in `text`; `source` is its file as mistakes name it, `name` what it is called by default.

    Raises
    ------
    ConfigError
        With all mistakes, each with its place.
    UsageError
        When it is no suite at all.
    """
    if len(text) > _MAX_CHARS:
        raise UsageError(f"{source}: more than {_MAX_CHARS // 2**20} million characters; split the suite")
    is_yaml = source.lower().endswith((".yaml", ".yml"))
    problems: list[Problem] = []
    head, rows = _from_yaml(text, source) if is_yaml else _from_lines(text, source, problems.append)
    suite = _suite(head, rows, name, problems.append)
    if problems:
        raise ConfigError(tuple(problems), source)
    if not suite.cases and not suite.generated:
        raise UsageError(f"{source}: holds no case; write one object with `prompt` and `oracles` a line")
    return suite


def write_yaml(suite: Suite) -> str:
    """Return the suite as YAML, without aliases: what `read_suite` reads from a file of that name."""
    head, *rows = map(orjson.loads, write_suite(suite).splitlines())
    generated = [row["generated"] for row in rows if set(row) == {"generated"}]
    said = {**head["suite"], "cases": rows[: len(suite.cases)], "generated": generated}
    return yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=110)


def write_suite(suite: Suite) -> str:
    """Return the suite as JSON lines: what `read_suite` reads, and what its hash is of."""
    lines: list[Any] = [{"suite": {"name": suite.name}}, *map(row_of, suite.cases)]
    lines += [{"generated": {key: getattr(one, key) for key in _GENERATED}} for one in suite.generated]
    return "".join(orjson.dumps(line, option=orjson.OPT_SORT_KEYS).decode() + "\n" for line in lines)


def named(suite_name: str, cases: tuple[SuiteCase, ...], generated: tuple[Generated, ...] = ()) -> Suite:
    """Return the suite of these cases, with its hash: of all but its name."""
    lines = write_suite(Suite(name="", cases=cases, generated=generated))
    return Suite(name=suite_name, cases=cases, generated=generated, sha256=hashlib.sha256(lines.encode()).hexdigest())


def _from_lines(text: str, source: str, tell: Told) -> tuple[Any, Iterator[tuple[str, Any]]]:
    rows: list[tuple[str, Any]] = []
    broken: list[Problem] = []
    head: Any = {}
    # Not splitlines(): JSON may hold U+2028 and other separators inside of strings.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        row, fault = _line(line)
        if fault is not None:
            broken.append(Problem(f"line {number}", *fault))
        elif isinstance(row, dict) and set(row) == {"suite"}:
            head = row["suite"]
        else:
            rows.append((f"line {number}", row))
    if broken and not rows:
        raise UsageError(f"{source}, {broken[0]}")
    for one in broken:
        tell(one)
    return head, iter(rows)


def _line(line: str) -> tuple[Any, tuple[str, str] | None]:
    """The value in a line, or what is wrong with it and what to write instead."""
    try:
        row = orjson.loads(line)
        if too_deep(row):
            return None, (f"nested more than {MAX_DEPTH} deep", "write it flatter")
        json.loads(line, object_pairs_hook=_once)
    except orjson.JSONDecodeError as error:
        return None, (f"not JSON: {error}", "write one JSON object a line")
    except _TwiceError as error:
        return None, (f"has the key {error} twice", "one of them would be lost")
    return row, None


class _TwiceError(Exception):
    """An object has a key twice; it carries the key."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _TwiceError(repr(counts.most_common(1)[0][0]))
    return found


def _from_yaml(text: str, source: str) -> tuple[Any, Iterator[tuple[str, Any]]]:
    document = load_yaml(text, source)
    if not isinstance(document, dict) or not all(isinstance(document.get(key) or [], list) for key in _LISTS):
        raise UsageError(f"{source}: must hold `name`, `defaults`, `cases` (a list) and `generated` (a list)")
    generated = document.get("generated") or []
    rows = [(f"cases[{at}]", row) for at, row in enumerate(document.get("cases") or [])]
    rows += [(f"generated[{at}]", {"generated": one}) for at, one in enumerate(generated)]
    return {key: value for key, value in document.items() if key not in _LISTS}, iter(rows)


def too_deep(value: Any) -> bool:
    """Whether `value` has lists and objects nested more than `MAX_DEPTH` deep. It takes no stack itself."""
    level = [value]
    for _ in range(MAX_DEPTH):
        held = [one.values() if isinstance(one, Mapping) else one for one in level if isinstance(one, _HOLDERS)]
        level = [one for listed in held for one in listed if isinstance(one, _HOLDERS)]
        if not level:
            return False
    return True


def load_yaml(text: str, source: str, loader: type[yaml.SafeLoader] = yaml.SafeLoader) -> Any:
    """Return plain values, as JSON has them: a date becomes a text.

    Aliases are refused: a few lines of them become a document without end.

    Raises
    ------
    UsageError
        When it is no YAML, nested too deeply, or holds what JSON has not; it begins with `source`.
    """
    try:
        _require_plain(text, source)
        return orjson.loads(orjson.dumps(yaml.load(text, loader), option=orjson.OPT_NON_STR_KEYS))  # noqa: S506  # safe
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise UsageError(f"{source}{line}: not YAML: {getattr(error, 'problem', None) or 'unreadable'}") from None
    except TypeError as error:
        raise UsageError(f"{source}: holds a value that JSON has not: {error}") from None
    except (RecursionError, ValueError):
        raise UsageError(f"{source}: nested too deeply to be read, or with an impossible date") from None


def _require_plain(text: str, source: str) -> None:
    """Look at the events of a YAML text, one by one: at this depth nothing was built yet."""
    depth = 0
    keys: list[_Keys] = [_Keys(of_mapping=False)]
    for event in yaml.parse(text, yaml.SafeLoader):
        line = f", line {event.start_mark.line + 1}" if event.start_mark else ""
        if isinstance(event, yaml.CollectionEndEvent):
            keys.pop()
        elif isinstance(event, yaml.NodeEvent):
            name = event.value if isinstance(event, yaml.ScalarEvent) else None
            if keys[-1].has_twice(name):
                raise UsageError(f"{source}{line}: has the key {name!r} twice; one of them would be lost")
        if isinstance(event, yaml.CollectionStartEvent):
            keys.append(_Keys(of_mapping=isinstance(event, yaml.MappingStartEvent)))
        if isinstance(event, yaml.AliasEvent):
            raise UsageError(f"{source}: YAML aliases (*name) are not supported; write the value out")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise UsageError(f"{source}{line}: nested more than {MAX_DEPTH} deep; write it flatter")


class _Keys:
    """The keys of a collection, as its nodes come by: in a mapping every second one is a key."""

    def __init__(self, *, of_mapping: bool) -> None:
        self._of_mapping, self._is_key, self._seen = of_mapping, True, set[str]()

    def has_twice(self, name: str | None) -> bool:
        """Take the next node, a scalar of that name or None, and return whether it is a key that was there before."""
        is_key, self._is_key = self._is_key and self._of_mapping, not self._is_key
        if not is_key or name is None:
            return False
        was = name in self._seen
        self._seen.add(name)
        return was


def _suite(head: Any, rows: Iterator[tuple[str, Any]], name: str, tell: Told) -> Suite:
    head, defaults = _head(head, tell)
    cases, generated, seen = list[SuiteCase](), list[Generated](), set[str]()
    for number, (place, row) in enumerate(rows, start=1):
        if isinstance(row, dict) and set(row) == {"generated"}:
            generated.extend(_generated(row["generated"], place, defaults, tell))
            continue
        case_id = str(row.get("id", number)) if isinstance(row, Mapping) else place
        if case_id in seen:
            tell(Problem(f"{place}.id", f"another case has the id {case_id!r}"))
        seen.add(case_id)
        with suppress(RowError):
            cases.append(case_of(row, number, place, defaults, tell))
    if len(cases) > MAX_CASES:
        tell(Problem("cases", f"more than {MAX_CASES}", "split the suite"))
    return named(str(head.get("name") or name), tuple(cases), tuple(generated))


def _head(head: Any, tell: Told) -> tuple[dict[str, Any], dict[str, Any]]:
    """The head of a suite and the defaults in it, after a look at both."""
    if not isinstance(head, dict):
        tell(Problem("suite", "must be an object with `name` and `defaults`"))
        return {}, {}
    defaults = head.get("defaults") or {}
    if not isinstance(defaults, dict) or not isinstance(defaults.get("parameters") or {}, dict):
        tell(Problem("defaults", "must be an object, and `parameters` in it too"))
        return head, {}
    for one in (*unknown(head, _HEAD, "suite"), *unknown(defaults, _DEFAULTS, "defaults")):
        tell(one)
    mistakes: list[Problem] = []
    counts_of({}, defaults, "defaults", mistakes)
    checked(dict(defaults.get("parameters") or {}), "defaults", mistakes)
    for one in mistakes:  # told once, here: not again in every case
        tell(one)
    wrong = {one.path.split(".")[1] for one in mistakes}
    return head, {key: value for key, value in defaults.items() if key not in wrong}


def _generated(row: Any, place: str, defaults: Mapping[str, Any], tell: Told) -> Iterator[Generated]:
    if not isinstance(row, dict):
        tell(Problem(place, "must be an object with `family` and `n`"))
        return
    mistakes = [*unknown(row, _GENERATED, place)]
    family, n, level = families().get(str(row.get("family"))), row.get("n"), row.get("level", 1)
    if family is None:
        mistakes.append(Problem(f"{place}.family", f"must be one of {', '.join(sorted(families()))}"))
    elif not isinstance(level, int) or level not in range(1, family.levels + 1):
        mistakes.append(Problem(f"{place}.level", f"must be a whole number from 1 to {family.levels}"))
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MAX_CASES:
        mistakes.append(Problem(f"{place}.n", f"must be a whole number from 1 to {MAX_CASES}"))
    counts = counts_of(row, {"privacy": "drop", **defaults}, place, mistakes)
    said = row.get("parameters") or {}
    parameters = checked(dict(said), place, mistakes) if isinstance(said, dict) else {}
    for one in mistakes:
        tell(one)
    if not mistakes:
        yield Generated(family=row["family"], n=row["n"], level=level, parameters=parameters, **counts)

"""Configurations that are nearly right. Oracle: a `Config` whose plan can be made, or a `ConfigError` with its places.

Nothing else may come out, no secret may be in a message, and none may take for ever. The whole of it, with time and
memory: ``python -m tests.config.test_fuzz 100000``.
"""

import copy
import random
import resource
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from jobs.check import plan_rows, total
from jobs.settings import catalogues
from monitor.config import Catalogues, load
from monitor.errors import ConfigError, Problem
from monitor.schedule import Timetable

ROOT = Path(__file__).parents[2]
CANARY = "sk-canary-7f3a"
ENVIRON = {
    "ACME_KEY": CANARY, "KEY": CANARY, "WEIGHMASTER_TOKEN": CANARY, "HOOK_KEY": f"{CANARY}-0123456789abcdef0123",
    "REGION": "eu", "EMPTY": " ", "file:store_token": CANARY, "file:acme_key": CANARY, "PAGER_URL": f"slack://{CANARY}",
    "PING_ID": CANARY, "EU_TOKEN": f"{CANARY}-eu", "US_TOKEN": f"{CANARY}-us", "STORE_TOKEN": CANARY, "PROXY": f"http://me:{CANARY}@proxy.example:3128",
}  # fmt: skip
ONE = """\
endpoints:
  - {name: acme/m, base_url: 'https://acme.example/v1', model: m, api_key: '${KEY}', since: 2026-11-01T00:00:00Z}
  - {name: other/x, base_url: 'http://[::1]:9001/v1', model: '4.10', price_in_usd: 1, price_out_usd: 2}
"""
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ODD: list[Any] = [
    None, True, 0, -1, 1, 1.5, 1e308, 10**30, "", " ", "a", "*", "a/b", "acme/*", "\x00", "a" * 5000, "${KEY}", "${",
    "$$", "${EMPTY}", "${file:../x}", "1s", "3650d", "1h for 14d then 1d", "1s for 1s then 1s", "0 9 * * mon-fri",
    "* * * * *", "0 0 31 2 *", "60 24 * * *", "Europe/Berlin", "../../etc/passwd", "2026-03-29T02:30:00Z",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-12-01", "127.0.0.1:0", "[::1]:99999", "http://[::1",
    "https://a@b",
    "1 of 1", "9 of 3", [], {}, [[]], [None], {"": None}, {"kind": "speed"}, ["*"], [{"kind": "speed", "every": "10m"}],
    "\ud800",
]  # fmt: skip
TEXTS = [
    "\n", "\t", "  ", "- ", ": ", "#", "&a ", "*a", "<<: ", "!!python/object:os.system ", "---\n", "...\n", "|", ">",
    "'", '"', "[" * 50, "[" * 3000, "{a: " * 400, "- " * 2000, "\ufeff", "\x00", "\u2028", "\x85", "~", "? ",
    "%YAML 9\n", "0o7", "12:30:00", "1_0", ".inf", ".nan", "=", "${KEY}", "${", "}", "]",
]  # fmt: skip


def seeds() -> list[str]:
    """The file that is right, those of the documentation and of deployments, and as many with one mistake each."""
    folder = Path(__file__).parent
    wrong = [path.read_text(encoding="utf-8") for path in sorted((folder / "invalid").glob("*.yaml"))]
    files = [folder / "valid.yaml", *sorted((ROOT / "docs" / "deploy").glob("**/weighmaster.yaml"))]
    pages = [(ROOT / "docs" / f"{name}.md").read_text("utf-8") for name in ("configuration", "alerts", "scale")]
    shown = [part.partition("```")[0] for page in pages for part in page.split("```yaml\n")[1:]]
    right = [path.read_text(encoding="utf-8").replace("    modes: [cold, warm]\n", "") for path in files]
    right += [text if "endpoints:" in text.splitlines() else f"{ONE}{text}" for text in shown]
    return right * (len(wrong) // len(right)) + wrong


def mutated(texts: list[str], rng: random.Random) -> str:
    """One of `texts` with up to four changes, of values or of characters."""
    text = rng.choice(texts)
    if rng.random() < 0.7:
        text = _values_changed(text, texts, rng)
    for _ in range(rng.randint(1, 3) if rng.random() < 0.4 else 0):
        at, drop = rng.randint(0, len(text)), rng.choice((0, 0, 1, 3, 30))
        put = rng.choice(TEXTS) if rng.random() < 0.8 else rng.choice(texts)[at : at + rng.choice((5, 80))]
        text = text[:at] + put + text[at + drop :]
    return text


@cache
def _parsed(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def _values_changed(text: str, texts: list[str], rng: random.Random) -> str:
    try:
        value, other = copy.deepcopy(_parsed(text)), _parsed(rng.choice(texts))
        if isinstance(value, dict) and isinstance(other, dict) and rng.random() < 0.3:
            for key in rng.sample(sorted(map(str, other)), min(len(other), 2)):
                value.setdefault(key, other.get(key))
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            _change(value, rng)
        return str(yaml.dump(value, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True))
    except (yaml.YAMLError, ValueError, UnicodeError):
        return text


def _change(value: Any, rng: random.Random) -> None:
    """Replace, remove or repeat something at a random place below `value`."""
    while isinstance(value, dict | list) and value:
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        if isinstance(value[key], dict | list) and value[key] and rng.random() < 0.8:
            value = value[key]
        elif rng.random() < 0.2:
            del value[key]
            return
        elif rng.random() < 0.2 and isinstance(value, list):
            value.append(value[key])
            return
        else:
            value[key] = rng.choice(ODD)
            return


def tried(text: str, known: Catalogues) -> str:
    """What came of a configuration: ``taken`` or ``refused``."""
    problems: tuple[Problem, ...] = ()
    try:
        config = load(text, ENVIRON, known)
    except ConfigError as error:
        problems = error.problems
    if not problems:
        total(plan_rows(config))
        Timetable(config.plans, {}).look(NOW)
        return "taken"
    assert all(one.path and one.message for one in problems)
    assert CANARY not in repr(problems)
    return "refused"


@pytest.fixture(scope="module")
def known() -> Catalogues:
    return catalogues()


def test_mutated_configurations(known: Catalogues) -> None:
    found, rng = seeds(), random.Random(8)
    seen = Counter(tried(mutated(found, rng), known) for _ in range(150))
    assert min(seen["refused"], seen["taken"]) >= 5


def hunt(n: int, seed: int) -> None:
    """Try `n` of them; tell what fails, and now and then how far it is and what it took."""
    found, rng, known = seeds(), random.Random(seed), catalogues()
    seen: Counter[str] = Counter()
    longest_s = 0.0
    for i in range(1, n + 1):
        text, started_s = mutated(found, rng), time.process_time()
        try:
            seen[tried(text, known)] += 1
        except Exception as error:  # noqa: BLE001  # whatever it is, it is a find
            seen[type(error).__name__] += 1
            sys.stdout.write(f"{type(error).__name__}: {str(error)[:300]}\n{text!r}\n")
        longest_s = max(longest_s, time.process_time() - started_s)
        if i % max(n // 20, 1) == 0:
            most_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            sys.stdout.write(f"{i} tried: {dict(seen)}; the longest {longest_s:.2f} s, at most {most_mb:.0f} MB\n")
            sys.stdout.flush()


if __name__ == "__main__":
    hunt(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1)

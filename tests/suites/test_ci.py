"""Reports for a CI whatever names a suite has, and the documentation of suites."""

import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import typer

import jobs.commands.suite
from jobs.cli import build
from jobs.suite_ci import junit, markdown
from jobs.suite_shown import Line, Shown
from monitor.suites.groups import grouped
from monitor.suites.importers.catalogue import importers
from monitor.suites.outcome import Terms, outcome
from monitor.suites.reading import read_suite
from monitor.suites.rows import KEYS, kinds
from monitor.suites.tally import Tally

DOCS = Path(__file__).parents[2] / "docs"
HOSTILE = [
    "]]><failure x='", '"><script>alert(1)</script>', "a|b|c\n|---|", "\x00\x1b[31m\ufffe\ud800", "&amp;", "`x`", "# x",
]  # fmt: skip


def shown(lost: int, name: str = "case") -> Shown:
    own = [Tally(case=str(at), k=int(at >= lost), n=1) for at in range(60)]
    golden = [Tally(case=str(at), k=1, n=1) for at in range(60)]
    found = outcome(own, golden, Terms(), rng=np.random.default_rng(0), untold={"http_5xx": 1})
    lines = tuple(
        Line(name=f"{name}{one.case}", k=one.k, n=1, golden_k=1, golden_n=1, why=() if one.k else ("other_text",))
        for one in own
    )
    tags = {f"tag {name}": ["0", "1"], "family tables": ["2"]}
    groups = grouped(own, golden, tags, rng=np.random.default_rng(0))
    return Shown(suite=name, mark="0123456789ab", endpoint=f"acme/{name}", run="r", started_at="2026-11-30T00:00:00",
                 reference=None, outcome=found, lines=lines, groups=groups)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_a_report(name: str) -> None:
    for lost in (0, 20):
        tree = ET.fromstring(junit(shown(lost, name)))  # noqa: S314  # our own text
        assert len(tree) == 62
        assert {one.tag for one in tree.iter()} <= {
            "testsuite", "testcase", "failure", "skipped", "properties", "property"
        }  # fmt: skip
        assert len(tree.findall("properties/property")) == 2
        plain, odd = (markdown(shown(lost, one)).splitlines() for one in ("x", name))
        assert len(plain) == len(odd)
        assert "<script" not in "\n".join(odd)
        rows = [re.sub(r"\\.", "", line).count("|") for line in odd if line.startswith("|")]
        assert rows == [line.count("|") for line in plain if line.startswith("|")]


def test_only_the_verdict_makes_a_report_red() -> None:
    few, many = (ET.fromstring(junit(shown(lost))) for lost in (1, 20))  # noqa: S314  # our own text
    assert (few.attrib["failures"], few.attrib["skipped"]) == ("0", "1")
    assert (many.attrib["failures"], many.attrib["skipped"]) == ("21", "0")
    found = shown(0)
    unknown = replace(found, outcome=replace(found.outcome, status="inconclusive"))
    assert ET.fromstring(junit(unknown)).attrib["errors"] == "1"  # noqa: S314  # our own text


def test_groups_say_where_a_loss_is() -> None:
    """Oracle: of 60 cases the first is lost; tag `tag case` has the first two, the family the third."""
    properties = {one.attrib["name"]: one.attrib["value"]
                  for one in ET.fromstring(junit(shown(1))).findall("properties/property")}  # noqa: S314  # our own
    assert properties["tag case"].startswith("50.0% [")
    assert "against golden -50.0 points [" in properties["tag case"]
    assert "against golden +0.0 points [" in properties["family tables"]
    assert re.search(r"^\| tag case \| 2 \| 50.0% ", markdown(shown(1)), re.MULTILINE)


def test_the_example_in_the_documentation_is_a_suite() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (DOCS / "suites.md").read_text("utf-8"), re.DOTALL)
    example = next(one for one in blocks if one.startswith("name: support"))
    suite = read_suite(example, "support.yaml", name="x")
    assert [one.case_id for one in suite.cases] == ["refund-window", "cancel"]
    assert suite.generated


def test_the_documentation_names_every_key_oracle_and_format() -> None:
    page = (DOCS / "suites.md").read_text("utf-8")
    for name in (*KEYS, *kinds(), *importers()):
        assert f"`{name}`" in page


def test_every_option_is_in_the_table_of_commands() -> None:
    page = (DOCS / "commands.md").read_text("utf-8").split("## Private suites")[1].split("\n## ")[0]
    group = typer.main.get_command(build()).commands["suite"]  # type: ignore[attr-defined]  # a group has commands
    for command in group.commands.values():
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--") and option != "--help":
                    assert option in page, f"{command.name} {option}"


def test_the_folder_of_the_commands_is_that_of_the_store() -> None:
    from jobs.suite_store import FOLDER

    assert jobs.commands.suite.FOLDER == FOLDER

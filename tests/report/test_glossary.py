"""Words of the report: every name of a scheme that can occur is explained. Oracle: the lists of names themselves."""

from dataclasses import replace

import pytest

from jobs.compare_page import html
from monitor.comparison import Ladder, Rung
from monitor.comparison_causes import incident_title, meaning
from monitor.comparison_glossary import glossary
from monitor.comparison_rows import compare
from monitor.comparison_schemes import meaning_of, schemes_in
from monitor.tolerances import PRECISIONS
from reference.variants.bank import bank
from tests.report.made import LADDER, facts
from tests.storage.factories import incident

ENGINES = ("torch fp32", "torch fp32, unbatched", "torch bf16", "llama.cpp F16, busy", "vLLM bfloat16", "torch fp16")
MIXED = "10% Q4_0"


@pytest.mark.parametrize("name", [*bank(), *(one for one in PRECISIONS if one != "unknown"), MIXED, "f16", "BF16"])
def test_every_scheme_and_every_precision_that_can_be_declared_has_a_meaning(name: str) -> None:
    said = meaning_of(name)
    assert said
    assert "{" not in said
    assert "None" not in said
    # It is found in a sentence as well, whole: never as a part of it.
    assert dict(schemes_in(f"it declares {name}, and serves {name}."))[name] == said


def test_every_scheme_of_a_report_stands_among_its_words() -> None:
    """Mechanically: the ladder of all there is, what is declared, what is identified."""
    names = (*ENGINES, *bank(), MIXED)
    rungs = tuple(Rung(name=name, faithful=False, value=0.1, low=None, high=None) for name in names)
    wide: Ladder = replace(LADDER, rungs=rungs)
    found = compare(facts(), ladders={"smollm2": wide})
    explained = dict(glossary(found))
    terms = {name for names in explained for name in names.split(", ")}
    (model,) = found.models
    named = {*bank(), MIXED, *(row.endpoint.precision for row in model.rows),
             *(row.identified.name for row in model.rows if row.identified is not None)}  # fmt: skip
    assert named <= terms
    assert {"torch", "llama.cpp", "vLLM", "fp32", "F16", "bfloat16", "busy", "unbatched"} <= terms
    page = html(found)
    assert all(f"<dt>{names}</dt>" in page for names in explained)


def test_numbers_and_words_that_look_alike_are_no_schemes() -> None:
    assert dict(schemes_in("95% interval 12% to 40%, 4 bits, Q&A, f1, http_5xx, context, kv, run f16abc")) == {}
    assert meaning_of("unknown") is None


def test_an_incident_says_in_words_what_is_wrong() -> None:
    assert incident_title(incident("i", cause="weights")) == (
        "weights: other weights than declared answer, such as coarser ones"
    )
    named = incident_title(incident("i", cause="routing: Q4_0"))
    assert named == "routing: Q4_0 (a part of the requests is answered by something else than the rest)"
    assert incident_title(incident("i", cause="odd_one")) == "odd_one"
    assert meaning("weights: Q4_0") == meaning("weights")

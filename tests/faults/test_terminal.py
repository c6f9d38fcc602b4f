"""What people see of a probe without a reference. Oracle: the verdict of the detector that the probe is for."""

from pathlib import Path

import numpy as np
import pytest

from jobs.pipeline import Judged, Probed
from jobs.terminal import show_verdicts
from jobs.verdict_table import matrix, reasons, row
from monitor.detectors.logprob_fidelity import DETECTOR as FIDELITY
from monitor.detectors.parameters import ParametersKept
from tests.detectors.made import AT, endpoint
from tests.faults.honest import Honest, evidence_of, measured


async def test_the_capabilities_are_shown_where_nothing_else_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    record = await measured(Honest(ignores=frozenset({"n"}), refuses=frozenset({"response_format"})))
    evidence, rng = evidence_of(record), np.random.default_rng(0)
    verdicts = tuple(one.run(evidence, at=AT, rng=rng) for one in (FIDELITY(), ParametersKept()))
    probed = Probed(endpoint=endpoint(), records=(record,), captures=((),))
    shown = row(Judged(probed=probed, views={}, verdicts=verdicts))
    assert shown["status"] == "inconclusive"
    assert reasons(shown)[1].startswith("parameters pass: 14 of 17 features do what they say; ignored: n; refused:")
    show_verdicts([shown], Path("out"), as_json=False)
    assert "parameters pass: 14 of 17" in capsys.readouterr().err


async def test_the_matrix_of_the_probe_parameters_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    record = await measured(Honest(ignores=frozenset({"n"})))
    verdicts = (ParametersKept().run(evidence_of(record), at=AT, rng=np.random.default_rng(0)),)
    probed = Probed(endpoint=endpoint(), records=(record,), captures=((),))
    shown = row(Judged(probed=probed, views={}, verdicts=verdicts))
    assert shown["status"] == "pass"
    assert len(matrix(shown)) == 17
    show_verdicts([shown], Path("out"), as_json=False)
    told = capsys.readouterr().err
    assert "n ignored: 1 choices, 2 asked for" in told
    assert "stop kept: " in told


def test_a_clear_result_is_one_line() -> None:
    assert reasons({"status": "pass", "reason": "fine", "verdicts": []}) == ["fine"]

"""``weighmaster identify`` as a whole, on the tiny model; only the connection is left out."""

import asyncio
import json
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import transformers
from rich.console import Console

from jobs import endpoints_now, identify_now, predicting
from jobs.endpoints_now import INTERRUPTED
from jobs.identify_now import PICTURE, Terms, Way, run
from jobs.identify_order import CANDIDATES
from jobs.identify_picture import svg
from jobs.identify_table import identified_row, identified_table
from jobs.judging import golden_side
from jobs.settings import catalogues
from monitor.config import load
from monitor.config_types import Config, EndpointConfig
from monitor.detectors.identify import Identify, deviations
from monitor.identified_parts import told_parts
from monitor.types import Capture, Request
from monitor.wire.files import load as load_capture
from reference.engine import TorchEngine
from reference.variants.bank import find
from reference.variants.loaded import varied
from tests.detectors.made import AT
from tests.detectors.made_draws import drawn_evidence
from tests.detectors.made_identify import identify_evidence, text_evidence
from tests.reference.tiny import llama_config, save_tiny

ROUND, NAMES = 8, ["int4", "int8"]


@dataclass(slots=True)
class Served:
    """An endpoint that serves int4; `stops` is pressed Ctrl-C at its first request, `warm` takes no temperature 0."""

    engine: TorchEngine
    stops: bool = False
    mute: bool = False
    warm: bool = False
    most: int = 20
    asked: list[Request] = field(default_factory=list)

    async def send(self, request: Request) -> Capture:
        self.asked.append(request)
        if (request.top_logprobs or 0) > self.most:
            return refused(request, "top_logprobs", f"must be at most {self.most}")
        if self.warm and not request.temperature:
            return refused(request, "temperature", "must be 1")
        if self.mute:
            return replace(await self._send(replace(request, top_logprobs=None)), request=request)
        return await self._send(request)

    async def _send(self, request: Request) -> Capture:
        if self.stops:
            signal.raise_signal(signal.SIGINT)
            await asyncio.sleep(60)
        with varied(self.engine.weights.model, find("int4")):
            return await self.engine.send(request)

    async def aclose(self) -> None:
        return


def refused(request: Request, name: str, why: str) -> Capture:
    """What an API says that does not take a parameter."""
    body = json.dumps({"error": {"message": f"{name} {why}", "param": name}}).encode()
    head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
    return replace(load_capture(head + body, "curl"), request=request)


@dataclass(slots=True)
class Looks:
    """What the golden side was asked to look at: exchanges of each look, and the threads that looked."""

    sizes: list[int] = field(default_factory=list)
    threads: set[int] = field(default_factory=set)
    asked: list[Request] = field(default_factory=list)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with room for the prompts of the probe."""
    transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    config = llama_config()
    config.max_position_embeddings = 512
    return save_tiny(tmp_path_factory.mktemp("identify") / "model", config=config)


@pytest.fixture
def config(folder: Path) -> Config:
    """Five endpoints with the tiny model. One request at a time: the weights that one varied are put back behind it."""
    text = f"""
agent: {{concurrency: 1}}
references: {{golden: {{path: {folder}, device: cpu}}}}
endpoints:
  - {{name: a/one, base_url: 'http://127.0.0.1:1/v1', model: m, reference: golden}}
  - {{name: a/two, base_url: 'http://127.0.0.1:1/v1', model: m, reference: golden}}
  - {{name: a/mute, base_url: 'http://127.0.0.1:1/v1', model: m, reference: golden}}
  - {{name: a/few, base_url: 'http://127.0.0.1:1/v1', model: m, reference: golden}}
  - {{name: a/warm, base_url: 'http://127.0.0.1:1/v1', model: m, reference: golden}}
"""
    return load(text, {}, catalogues(), source="test.yaml")


@pytest.fixture
def looks(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Looks:
    """Serve the endpoints from memory (the second stops), speak of two variants, ask all rounds, note every look."""
    engine, seen = TorchEngine.load(folder, device="cpu", threads=1), Looks()

    def client(entry: EndpointConfig, *_: object) -> Served:
        name = entry.endpoint.name
        return Served(engine, stops=name == "a/two", mute=name in {"a/mute", "a/warm"}, warm=name == "a/warm",
                      most=5 if name == "a/few" else 20, asked=seen.asked)  # fmt: skip

    def look(records: Sequence[Any], *args: Any, **more: Any) -> Any:
        seen.sizes.append(sum(len(one.exchanges) for one in records))
        seen.threads.add(threading.get_ident())
        return golden_side(records, *args, **more)

    monkeypatch.setenv("WEIGHMASTER_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(endpoints_now, "client_of", client)
    monkeypatch.setattr(predicting, "bank_names", lambda _predictor: NAMES)
    monkeypatch.setattr(identify_now, "golden_side", look)
    monkeypatch.setattr(identify_now, "_is_decided", lambda *_: False)
    return seen


def test_each_round_is_looked_at_once_and_beside_the_event_loop(
    config: Config, looks: Looks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Oracle: what was served, out of the prompts of all rounds."""
    code = run(config, ["a/one"], Terms(n=3 * ROUND, way=Way(top_k=20)), tmp_path / "out", as_json=True)
    said = capsys.readouterr()
    (row,) = json.loads(said.out)["endpoints"]
    assert f"s: predicting int4 (1 of 2 variants): {3 * ROUND} answers" in said.err  # int8 is known from the order
    assert f"s: golden weights read {ROUND} answers" in said.err
    assert looks.sizes == [ROUND] * 3
    assert threading.get_ident() not in looks.threads
    assert (row["prompts"], row["schemes"][0]["name"], code) == (3 * ROUND, "int4", 1)


@pytest.mark.parametrize(("top_k", "first"), [(20, (20, 1)), (None, (None, 12))])
def test_text_is_asked_for_where_there_are_no_logprobs(
    config: Config, looks: Looks, tmp_path: Path, top_k: int | None, first: tuple[int | None, int]
) -> None:
    """Oracle: what was sent, in the chosen order. The first round has no logprobs, so that the second asks for text."""
    run(config, ["a/mute"], Terms(n=2 * ROUND, way=Way(top_k=top_k)), tmp_path / "out", as_json=True)
    assert [(one.top_logprobs, one.max_tokens) for one in looks.asked] == [first] * ROUND + [(None, 12)] * ROUND
    (path,) = (tmp_path / "home" / "predictions").glob("*-order.json")
    (order,) = json.loads(path.read_bytes()).values()
    assert [one.prompt_id for one in looks.asked] == order[: 2 * ROUND]
    assert len(set(order)) == CANDIDATES


def test_fewer_logprobs_are_asked_for_where_20_are_refused(config: Config, looks: Looks, tmp_path: Path) -> None:
    """Oracle: what was sent; five are asked for before anything is asked by text."""
    run(config, ["a/few"], Terms(n=ROUND, way=Way(top_k=20)), tmp_path / "out", as_json=True)
    assert [one.top_logprobs for one in looks.asked] == [20] * ROUND + [5] * ROUND
    assert [one.prompt_id for one in looks.asked[ROUND:]] == [one.prompt_id for one in looks.asked[:ROUND]]


def test_text_is_drawn_where_temperature_0_is_refused(config: Config, looks: Looks, tmp_path: Path) -> None:
    """Oracle: what was sent, each request with random numbers of its own."""
    run(config, ["a/warm"], Terms(n=ROUND, way=Way(top_k=None)), tmp_path / "out", as_json=True)
    assert [(one.temperature, one.top_p, one.max_tokens) for one in looks.asked] == (
        [(0.0, None, 12)] * ROUND + [(1.0, 1.0, 40)] * ROUND
    )
    assert len({one.seed for one in looks.asked[ROUND:]}) == ROUND


def test_a_routed_share_is_asked_about_until_it_is_known_to_ten_points() -> None:
    """Golden weights for the rest: named for sure, but a share of 14% to 70% is no answer yet."""
    found = Identify().run(text_evidence("Q4_0"), at=AT, rng=np.random.default_rng(0))

    def decided(low: float, high: float) -> bool:
        parts = [{"name": "Q4_0", "share": 0.4, "low": low, "high": high}, {"name": "golden"}]
        details = {**found.details, "families": {"4-bit": 0.999}, "parts": parts}
        return identify_now._is_decided(replace(found, details=details), Identify())

    assert not decided(0.14, 0.70)
    assert decided(0.31, 0.49)


def test_picture_and_table_show_who_answers_which_share() -> None:
    """Oracle: the parts in the verdict; a line for each interval, golden's family by its name."""
    evidence = identify_evidence("Q4_0", n=40, share=0.4)
    found = Identify().run(evidence, at=AT, rng=np.random.default_rng(0))
    own, rest = told_parts(found.details)
    picture = ET.fromstring(svg(found, *deviations(evidence, "Q4_0")))  # noqa: S314  # our own text
    words = [one.text for one in picture.iter() if one.text]
    assert f"{found.endpoint}: {own.share:.0%} Q4_0, {rest.share:.0%} bf16-class" in words
    assert {f"{one.share:.0%} ({one.range})" for one in (own, rest)} <= set(words)
    shown = Console(width=200, file=StringIO())
    shown.print(identified_table([identified_row(found)]))
    assert isinstance(shown.file, StringIO)
    assert f"{rest.share:.0%} ({rest.range}) bf16-class" in shown.file.getvalue()


def test_the_picture_of_text_counts_first_choices() -> None:
    """Oracle: the counts in the verdict."""
    found = Identify().run(text_evidence("Q4_0"), at=AT, rng=np.random.default_rng(0))
    picture = ET.fromstring(svg(found, [], []))  # noqa: S314  # our own text
    words = [one.text for one in picture.iter() if one.text]
    assert "of 96 tokens, not its own first choice" in words
    assert str(found.details["missed"]["golden"]) in words


def test_the_picture_of_drawn_text_says_how_much_likelier_a_variant_makes_it() -> None:
    """Oracle: the gains in the verdict, the scheme that was drawn from first."""
    found = Identify().run(drawn_evidence("Q4_0", n=8), at=AT, rng=np.random.default_rng(0))
    picture = ET.fromstring(svg(found, [], []))  # noqa: S314  # our own text
    words = [one.text for one in picture.iter() if one.text]
    assert "drawn tokens likelier than under golden, nats each" in words
    assert f"{found.details['gains_nats']['Q4_0']:+.3f}" in words
    assert next(iter(found.details["gains_nats"])) == "Q4_0"


def test_who_stops_the_second_endpoint_keeps_and_sees_the_first(
    config: Config, looks: Looks, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms = Terms(n=ROUND, way=Way(top_k=20))
    assert run(config, ["a/one", "a/two"], terms, tmp_path / "out", as_json=True) == INTERRUPTED
    assert [row["endpoint"] for row in json.loads(capsys.readouterr().out)["endpoints"]] == ["a/one"]
    assert looks.sizes == [ROUND]
    kept = json.loads((tmp_path / "out" / "a__one" / "verdicts.json").read_bytes())
    assert kept[0]["detector"] == "identify"
    assert (tmp_path / "out" / "a__one" / PICTURE).exists()
    assert not (tmp_path / "out" / "a__two" / "verdicts.json").exists()

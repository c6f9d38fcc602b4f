"""Samplers, templates, contexts and mixtures; transformers' own processors and binomial theory are the oracles."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.testing import assert_allclose

from monitor.errors import UsageError
from reference.template import ChatTemplate
from reference.variants.bank import bank, find
from reference.variants.mixture import Mixture
from tests.reference.tiny import TEMPLATE

USER = {"role": "user", "content": "Hi"}
SYSTEM = {"role": "system", "content": "Be brief."}
DEFAULT = (
    "{% for m in messages %}{% if loop.first and messages[0]['role'] != 'system' %}<s>system: \"Golden\"\n</s>"
    "{% endif %}<s>{{ m['role'] }}: {{ m['content'] }}</s>{% endfor %}{% if add_generation_prompt %}<s>assistant: "
    "{% endif %}"
)
SEEN = [3, 5, 5, 9]


def oracle(name: str) -> Any:
    made: Mapping[str, Any] = {
        "temperature-0.8": lambda: transformers.TemperatureLogitsWarper(0.8),
        "top-p-0.9": lambda: transformers.TopPLogitsWarper(0.9),
        "top-k-20": lambda: transformers.TopKLogitsWarper(20),
        "repetition-penalty-1.1": lambda: transformers.RepetitionPenaltyLogitsProcessor(1.1),
    }
    return made[name]()


@pytest.mark.parametrize("name", ["temperature-0.8", "top-p-0.9", "top-k-20", "repetition-penalty-1.1"])
def test_samplers_do_what_transformers_does(name: str) -> None:
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 3, 200)
    logprobs = logits - np.logaddexp.reduce(logits)
    scores = oracle(name)(torch.tensor([SEEN]), torch.from_numpy(logprobs)[None].clone())
    expected = torch.log_softmax(scores[0], -1).numpy()
    found = find(name).distribution(logprobs, SEEN)
    assert_allclose(np.exp(found), np.exp(expected), atol=1e-12)
    assert np.exp(found).sum() == pytest.approx(1)


def test_samplers_reach_the_server_as_options() -> None:
    variant = find("sampler:temperature=1.3,top_k=5")
    assert variant.name == "temperature-1.3+top-k-5"
    assert variant.server_options({}) == ("--temp", "1.3", "--top-k", "5")


def rendered(name: str, source: str, *messages: dict[str, str]) -> str:
    return ChatTemplate.of(find(name).template(source)).render(messages)


def test_a_dropped_default_system_prompt() -> None:
    assert rendered("no-system", DEFAULT, USER) == "<s>user: Hi</s><s>assistant: "
    with_system = rendered("no-system", DEFAULT, SYSTEM, USER)
    assert with_system == ChatTemplate.of(DEFAULT).render([SYSTEM, USER])
    assert find("no-system").template(TEMPLATE) == TEMPLATE  # it has no default


def test_a_hidden_system_prompt() -> None:
    found = rendered("other-system", TEMPLATE, USER)
    assert found.startswith("<|im_start|>system\nYou are a careful assistant of the Meridian company.")
    assert found.endswith(ChatTemplate.of(TEMPLATE).render([USER]))
    assert rendered("other-system", TEMPLATE, SYSTEM, USER) == ChatTemplate.of(TEMPLATE).render([SYSTEM, USER])


def test_another_template(tmp_path: Any) -> None:
    assert rendered("other-template", TEMPLATE, USER) == "## user\nHi\n\n## assistant\n"
    (tmp_path / "plain.jinja").write_text("{{ messages[0].content }}", "utf-8")
    assert rendered(f"chat_template:path={tmp_path / 'plain.jinja'}", TEMPLATE, USER) == "Hi"


def test_a_cut_context_keeps_the_end() -> None:
    variant = find("context:tokens=3")
    assert variant.prompt_ids([1, 2, 3, 4, 5]) == [3, 4, 5]
    assert variant.prompt_ids([1, 2]) == [1, 2]


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_a_mixture_routes_its_share_and_repeats(share: float) -> None:
    """Within 4 standard deviations of the binomial."""
    mixture, n = Mixture(of=find("int4"), share=share), 4000
    routed = [mixture.routes(request) for request in range(n)]
    assert abs(sum(routed) - n * share) <= 4 * (n * share * (1 - share)) ** 0.5
    assert routed == [Mixture(of=find("int4"), share=share).routes(request) for request in range(n)]
    if 0 < share < 1:
        assert routed != [Mixture(of=find("int4"), share=share, seed=1).routes(request) for request in range(n)]


def test_names_in_the_bank_are_unique_and_every_family_is_told() -> None:
    variants = bank()
    assert {variant.family for variant in variants.values()} >= {
        "bf16-class", "fp8", "8-bit", "5-bit", "4-bit", "2-bit", "KV", "RoPE", "template", "sampler", "layers"
    }  # fmt: skip
    assert all(find(name) == variant for name, variant in variants.items())


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("int3", "neither one of bf16, fp16"),
        ("integer:width=4", "integer has no field 'width', only bits, group"),
        ("integer:bits=3", "bits: Input should be 8 or 4"),
        ("layers:drop=x", "drop: Input should be a valid integer"),
        ("checkpoint:label=x", "path: Field required"),
        ("nothing:bits=4", "neither one of"),
        ("mixture:share=0.1", "neither one of"),
    ],
)
def test_an_unknown_variant_is_refused_with_what_there_is(spec: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        find(spec)


def test_parameters_written_out() -> None:
    assert find("integer:bits=4,group=none") == find("int4")
    assert find("rope:factor=0.5").name == "rope-x0.5"

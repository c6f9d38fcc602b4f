"""Rendering against transformers' own `apply_chat_template`."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import transformers

from monitor.errors import GoldenError
from reference.template import ChatTemplate
from reference.tokenizer import GoldenTokenizer
from tests.reference.tiny import TEMPLATE, save_tokenizer

NOON = datetime(2026, 2, 3, 12, tzinfo=UTC)
USER = {"role": "user", "content": "naïve <b>日本</b> 'quotes' & \"more\""}
TOOL = {
    "type": "function",
    "function": {"name": "weather", "description": "für <Städte>", "parameters": {"type": "object", "properties": {}}},
}
TEMPLATES = {
    "plain": TEMPLATE,
    "tools": "{% if tools %}{% for t in tools %}{{ t | tojson }}\n{{ t | tojson(indent=2) }}{% endfor %}{% endif %}"
    "{{ messages[0].content }}",
    "none": "{{ tools is none }} {{ documents is none }} {{ add_generation_prompt }}",
    "special": "{{ bos_token }}{{ messages[-1]['content'] }}{{ eos_token }}",
    "blocks": "{% for m in messages %}\n  {% if m.role == 'user' %}\n  {{ m.content }}\n  {% endif %}\n{% endfor %}\n",
    "loops": "{% for x in range(9) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}"
    "{{ x }}{% endfor %}",
    "training": "{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %}{% endfor %}",
    "namespace": "{% set ns = namespace(n=0) %}{% for m in messages %}{% set ns.n = ns.n + 1 %}{% endfor %}{{ ns.n }}",
}


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("tools", [(), (TOOL,)], ids=["bare", "with tools"])
def test_renders_as_transformers_does(name: str, tools: tuple[dict[str, Any], ...], tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").write_text(TEMPLATES[name], "utf-8")
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', "utf-8")
    oracle: Any = transformers.PreTrainedTokenizerFast.from_pretrained(tmp_path, local_files_only=True)
    messages = [{"role": "system", "content": "S"}, USER]
    expected = oracle.apply_chat_template(
        messages, tools=list(tools) or None, tokenize=False, add_generation_prompt=True
    )
    assert GoldenTokenizer.load(tmp_path).render(messages, tools) == expected


def test_the_date_comes_from_the_clock_that_is_passed_in(tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").write_text("{{ strftime_now('%d %b %Y') }}", "utf-8")
    assert GoldenTokenizer.load(tmp_path, now=lambda: NOON).render([USER]) == "03 Feb 2026"


def test_a_template_of_several_uses_the_one_for_tools(tmp_path: Path) -> None:
    save_tokenizer(tmp_path)
    (tmp_path / "chat_template.jinja").unlink()
    path = tmp_path / "tokenizer_config.json"
    config = json.loads(path.read_text("utf-8"))
    config["chat_template"] = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]
    path.write_text(json.dumps(config), "utf-8")
    tokenizer = GoldenTokenizer.load(tmp_path)
    assert (tokenizer.render([USER]), tokenizer.render([USER], [TOOL])) == ("d", "t")


def rendered(source: str, message: dict[str, Any]) -> str:
    return ChatTemplate({"default": source}, {}, lambda: NOON).render([message])


def test_argument_strings_and_text_parts_reach_the_template_as_vllm_passes_them() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"city": "Köln"}'}}
    source = "{{ messages[0].tool_calls[0].function.arguments.city }}"
    assert rendered(source, {"role": "assistant", "content": None, "tool_calls": [call]}) == "Köln"
    parts = [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "b"}]
    assert rendered("{{ messages[0].content }}", {"role": "user", "content": parts}) == "a\nb"


def test_broken_argument_strings_stay_as_they_are() -> None:
    call = {"function": {"name": "f", "arguments": '{"city": '}}
    source = "{{ messages[0].tool_calls[0].function.arguments }}"
    assert rendered(source, {"role": "assistant", "tool_calls": [call]}) == '{"city": '


@pytest.mark.parametrize(
    "source",
    ["{{ raise_exception('roles must alternate') }}", "{{ messages[0].content + 1 }}", "{{ messages.append(1) }}",
     "{{ ''.__class__.__mro__ }}"],
)  # fmt: skip
def test_a_template_that_fails_or_escapes_is_a_golden_error(source: str) -> None:
    with pytest.raises(GoldenError, match="refuses this conversation"):
        rendered(source, USER)


def test_a_template_that_cannot_be_parsed_is_a_golden_error() -> None:
    with pytest.raises(GoldenError, match="cannot be parsed"):
        ChatTemplate({"default": "{% if %}"}, {}, lambda: NOON)


def test_no_template_is_a_golden_error() -> None:
    with pytest.raises(GoldenError, match="no chat template"):
        ChatTemplate({}, {}, lambda: NOON).render([USER])

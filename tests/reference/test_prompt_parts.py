"""Parts of prompts counted by hand, on templates of several styles; parts always add up to the whole prompt."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from monitor.errors import GoldenError
from reference.prompt_parts import counts, default_system, head
from reference.template import ChatTemplate
from reference.tokenizer import GoldenTokenizer
from tests.reference.tiny import save_tokenizer

USER = {"role": "user", "content": "Hi"}
ANSWER = {"role": "assistant", "content": "Yes"}
SYSTEM = {"role": "system", "content": "Brief"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}

CHATML = (
    "{% if messages[0].role != 'system' %}<sys>Default</sys>{% endif %}{% if tools %}<tools>{{ tools | tojson }}"
    "</tools>{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    "{% if add_generation_prompt %}<answer>{% endif %}"
)
BRACKETS = (  # the system message is part of the first user turn, roles must alternate
    "<s>{% if messages[0].role == 'system' %}{% set sys = messages[0].content + ' ' %}{% set messages = messages[1:] %}"
    "{% endif %}{% for m in messages %}{% if (m.role == 'user') != (loop.index0 % 2 == 0) %}"
    "{{ raise_exception('alternate') }}{% endif %}{% if m.role == 'user' %}[I]{{ sys if loop.first else '' }}"
    "{{ m.content }}[/I]{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
)


def parts(source: str, *messages: dict[str, Any], tools: Sequence[dict[str, Any]] = ()) -> dict[str, int]:
    """One token per character, so that parts can be counted in the source."""
    found = counts(ChatTemplate.of(source), messages, tools, len)
    assert sum(found.values()) == len(ChatTemplate.of(source).render(messages, tools))
    return found


def test_the_default_system_turn_is_a_part() -> None:
    expected = {"system": len("<sys>Default</sys>"), "tools": 0, "stub": len("<answer>")}
    assert parts(CHATML, USER) == {**expected, "history": len("<user>Hi</>")}
    assert parts(CHATML, USER, ANSWER, USER) == {**expected, "history": len("<user>Hi</><assistant>Yes</><user>Hi</>")}
    assert default_system(ChatTemplate.of(CHATML)) == "<sys>Default</sys>"


def test_a_system_message_takes_its_place() -> None:
    assert parts(CHATML, SYSTEM, USER)["system"] == len("<system>Brief</>")


def test_tools_are_counted_wherever_they_stand() -> None:
    import json

    assert parts(CHATML, USER, tools=[TOOL])["tools"] == len("<tools></tools>") + len(json.dumps([TOOL]))


def test_a_template_without_a_stub_and_with_a_start_token() -> None:
    assert parts(BRACKETS, USER) == {"system": 3, "tools": 0, "stub": 0, "history": len("[I]Hi[/I]")}
    assert parts(BRACKETS, SYSTEM, USER)["system"] == 0  # it cannot be told from the user's turn
    assert default_system(ChatTemplate.of("{% for m in messages %}{{ m.content }}{% endfor %}")) == ""


@pytest.mark.parametrize("messages", [(), (SYSTEM,), (ANSWER, USER)])
def test_odd_conversations_have_no_head(messages: tuple[dict[str, Any], ...]) -> None:
    assert head(ChatTemplate.of("{% for m in messages %}{{ m.content }}{% endfor %}"), messages) == ""


def test_a_refused_conversation_is_an_error() -> None:
    with pytest.raises(GoldenError, match="alternate"):
        parts(BRACKETS, USER, USER)


def test_thinking_and_date_can_be_set(tmp_path: Path) -> None:
    """A template that reads them as Qwen3's and Llama 3's do."""
    save_tokenizer(tmp_path)
    source = (
        "{{ date_string or strftime_now('%d %b %Y') }} {{ messages[0].content }}"
        "{% if add_generation_prompt %}<|im_start|>{% if enable_thinking is false %}<think></think>{% endif %}"
        "{% endif %}"
    )
    (tmp_path / "chat_template.jinja").write_text(source, "utf-8")

    def render(**options: Any) -> str:
        noon = datetime(2026, 2, 3, 12, tzinfo=UTC)
        return GoldenTokenizer.load(tmp_path, now=lambda: noon, options=options).render([USER])

    assert render() == "03 Feb 2026 Hi<|im_start|>"
    assert render(enable_thinking=True) == render()
    assert render(enable_thinking=False) == "03 Feb 2026 Hi<|im_start|><think></think>"
    assert render(date_string="26 Jul 2024") == "26 Jul 2024 Hi<|im_start|>"


@pytest.mark.golden
def test_the_golden_default_system_prompt_is_21_tokens(golden_folder: Path) -> None:
    """Oracle: llama.cpp and vLLM count 37 tokens with it and 16 without (testbed)."""
    found = GoldenTokenizer.load(golden_folder).prompt_parts(
        [{"role": "user", "content": "What is the capital of France?"}]
    )
    assert found == {"system": 21, "tools": 0, "stub": 4, "history": 12}

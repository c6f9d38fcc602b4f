"""The fixed prompt set of the `logprobs` probe: 32 short conversations, no system message.

No conversation brings a system message, so that a missing or foreign default system prompt shows in the prompt's
token count. Numerals, code, other scripts and emoji are there because tokenizers differ on them. Answers are meant to
be plain English: where a character of an answer takes several tokens, llama.cpp reports one joint entry for them, which
cannot be compared.
"""

from collections.abc import Mapping
from typing import Any

Conversation = tuple[Mapping[str, Any], ...]


def _user(text: str) -> Conversation:
    return ({"role": "user", "content": text},)


def _follow_up(first: str, answer: str, second: str) -> Conversation:
    return (
        {"role": "user", "content": first},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": second},
    )


PROMPTS: Mapping[str, Conversation] = {
    "river": _user("Name one long river and the sea it reaches."),
    "recipe": _user("Suggest a soup that needs only leeks, potatoes and cream."),
    "sum": _user("Add 417 and 386. Give only the number."),
    "year": _user("In which year did people first walk on the Moon?"),
    "python": _user("Write a Python function that returns the larger of two numbers."),
    "sql": _user("SELECT name FROM users WHERE age > 30; -- what does this query return?"),
    "french": _user("Comment dit-on 'thank you very much' en français ?"),
    "rhyme": _user("Give me three words that rhyme with 'light'."),
    "letter": _user("Begin a polite letter to a landlord about a leaking tap."),
    "colour": _user("Mix blue and yellow paint. Which colour appears?"),
    "planet": _user("Which planet has the most moons?"),
    "story": _user("Continue the story: The lighthouse keeper heard a knock at midnight."),
    "list": _user("List four kinds of bread."),
    "json": _user('Return a JSON object with the keys "city" and "country" for Lisbon.'),
    "physics": _user("Why does ice float on water?"),
    "capital": _user("What is the capital of Australia?"),
    "opposite": _user("What is the opposite of 'generous'?"),
    "translate": _user("Translate to German: The train leaves at 7:45."),
    "advice": _user("I slept badly. What should I do before noon?"),
    "history": _user("Who built the first printing press with movable type in Europe?"),
    "animal": _user("Describe an otter to somebody who has never seen one."),
    "regex": _user(r"What does the regular expression ^\d{4}-\d{2}$ match?"),
    "verse": _user("Write two lines of verse about rain on a tin roof."),
    "units": _user("How many metres are 2.5 kilometres?"),
    "chinese": _user("What does this sentence mean in English? 请用一句话介绍长城。"),
    "emoji": _user("When do people send a 🎉 to a friend? Answer in plain words."),
    "summary": _user("Summarise in five words: The shop closed early because the roof was being repaired."),
    "spell": _user("Spell the word 'necessary' letter by letter."),
    "greeting": _user("Hi!"),
    "second-turn": _follow_up("What is a quince?", "A quince is a yellow fruit.", "How is it usually eaten?"),
    "third-fact": _follow_up("Tell me a fact about bees.", "Bees can see ultraviolet light.", "And one about ants?"),
    "correction": _follow_up("What is 12 times 12?", "It is 124.", "Please check that again."),
}

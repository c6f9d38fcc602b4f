"""What else might have been said at one position of an answer, where only its text is known."""

from monitor.results import GoldenPosition


def alternatives(place: GoldenPosition) -> dict[int, float]:
    """Return golden's logprobs of its likeliest tokens and of the one that was said, by id; empty where not known."""
    found = dict(place.rivals)
    if found and place.token_id not in found:
        if place.golden_logprob is None:
            return {}
        found[place.token_id] = place.golden_logprob
    return found

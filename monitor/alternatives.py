"""What might have been said at one position of an answer, where only its text is known."""

from monitor.results import GoldenPosition


def alternatives(place: GoldenPosition) -> dict[int, float]:
    """Return golden's logprobs of its likeliest tokens and of the one that was said, by id; empty where not known.

    Of a token that was drawn at temperature 1 nothing else comes into question: its own probability says it all.
    """
    found = dict(place.rivals)
    if not found and place.mass_above is not None and place.golden_logprob is not None:
        return {place.token_id: place.golden_logprob}
    if found and place.token_id not in found:
        if place.golden_logprob is None:
            return {}
        found[place.token_id] = place.golden_logprob
    return found

"""From bytes to records: framing, one decoder per protocol, capture file formats. Pure functions of a `Capture`.

``dispatch.decode`` is the way in, ``dispatch.speaker`` the protocol of an endpoint in its dialect. A protocol is a
`speaker.Speaker`: its file builds the bodies, an `chat_state.Answer` (``*_answer``, on ``single``) reads what comes
back, and ``exchange`` concludes. ``sse`` and ``ndjson`` frame, ``lenient`` reads JSON, ``chat_state``,
``choice_state``, ``delta``, ``tool_calls``, ``logprobs`` and ``usage`` accumulate, ``outcome`` and ``timing``
conclude, ``conformance`` compares with the request. ``repeats`` spares the parser what repeats, ``alternatives`` makes
no objects before they are looked at, ``guess`` names the protocol of a capture that names none, ``bounds`` says how
much is read. ``files`` reads and writes captures, ``record`` flattens the result for people, ``annotate`` says which
event added what.
"""

"""From bytes to records: framing, one decoder per protocol, capture file formats. Pure functions of a `Capture`.

``dispatch.decode`` is the way in. ``sse`` frames, ``lenient`` reads JSON, ``chat_state``, ``choice_state``, ``delta``,
``tool_calls``, ``logprobs`` and ``usage`` accumulate, ``outcome`` and ``timing`` conclude, ``conformance`` compares
with the request. ``files`` reads and writes captures, ``record`` flattens the result for people.
"""

"""Tool calls out of raw model text, one file per model family, with a constant ``FORMAT``.

For golden outputs, which no server has parsed, and for raw completions of an endpoint: what our strict parser finds
there tells a fault of the endpoint's parser from a fault of the model.
"""

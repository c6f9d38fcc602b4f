"""Golden weights: tokenizer and template, fingerprint, engines, and variants of the weights."""

"""A variant's weights in a model that is loaded already: no files, and the golden ones come back."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from reference.variants.variant import Variant


@contextmanager
def varied(model: Any, variant: Variant) -> Iterator[None]:
    """Let the transformers model `model` compute with the weights of `variant` until the block is left.

    Only what `Variant.apply` changes: weights. Everything else needs a folder (`reference.variants.hf_folder`).
    Keeps a copy of the changed tensors meanwhile.
    """
    golden: dict[str, Any] = {}
    try:
        for name, parameter in model.named_parameters():
            weight = parameter.detach().float().cpu().numpy()
            changed = variant.apply(name, weight)
            if not np.array_equal(changed, weight):
                golden[name] = parameter.data
                parameter.data = parameter.data.new_tensor(changed)
        yield
    finally:
        for name, parameter in model.named_parameters():
            if name in golden:
                parameter.data = golden[name]

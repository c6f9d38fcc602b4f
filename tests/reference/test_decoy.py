"""Decoys round as much as their scheme, and otherwise."""

import numpy as np
import pytest

from reference.decoy import Decoy
from reference.variants.bank import bank, find


@pytest.mark.parametrize("name", ["Q4_0", "Q5_0", "Q8_0", "int4-g64"])
def test_a_decoy_is_as_far_off_and_elsewhere(name: str) -> None:
    # Oracle: the errors of the scheme itself: as large within a tenth, and little correlated.
    weight = np.random.default_rng(0).standard_t(5, (64, 256)).astype(np.float32)
    layer = "model.layers.0.mlp.up_proj.weight"
    scheme = find(name)
    own, other = scheme.apply(layer, weight) - weight, Decoy(of=scheme).apply(layer, weight) - weight
    assert abs(np.std(other) / np.std(own) - 1) < 0.1
    assert abs(float(np.corrcoef(own.ravel(), other.ravel())[0, 1])) < 0.3
    again = Decoy(of=scheme, seed=2).apply(layer, weight) - weight
    assert not np.array_equal(other, again)


def test_vectors_stay_as_the_scheme_has_them_and_the_bank_has_no_decoys() -> None:
    weight = np.ones(64, dtype=np.float32)
    np.testing.assert_array_equal(Decoy(of=find("bf16")).apply("model.norm.weight", weight), weight)
    assert not [one for one in bank().values() if isinstance(one, Decoy)]

"""Samples of a fitted mixture by a seed of their own."""

from __future__ import annotations

import numpy as np
import pytest

from corollary.mixture import GaussianMixture, Mixture


@pytest.mark.parametrize("model", [Mixture("poisson", 2, random_state=0), GaussianMixture(2, random_state=0)])
def test_samples_have_a_seed_of_their_own(model: Mixture | GaussianMixture) -> None:
    model.fit(np.random.default_rng(0).poisson(5.0, size=(50, 2)).astype(float))
    rows, components = model.sample(20, random_state=1)
    for one, two in zip(model.sample(20, random_state=1), (rows, components), strict=True):
        np.testing.assert_array_equal(one, two)
    assert not np.array_equal(model.sample(20, random_state=2)[0], rows)
    np.testing.assert_array_equal(model.sample(20)[0], model.sample(20, random_state=0)[0])

"""Steps that are measured in the metric of Fisher's information on rows with known components.

To first order the length of an EM step in this metric is the norm of the gradient of the mean log-likelihood.
"""

from __future__ import annotations

import numpy as np

AT_REST = 1e-7  # a length that rounding can have: covariances are known to half the digits of float64 or so


def movement_of_gain(tol: float) -> float:
    """A gain is about half the squared length of its step, so a gain of ``tol`` goes with the root of it."""
    return max(float(np.sqrt(tol)), AT_REST)

"""The integer codes by which losses and penalties reach the kernels. Plain numbers, so reading them imports nothing.

Kernels refuse every other code with a ValueError, and a code that lacks a branch in a kernel gives NaN, never another
loss or penalty: ``tests/compiled/test_codes.py`` goes through all of them.
"""

LOSSES = range(11)
(SQUARED, ABSOLUTE, HUBER, QUANTILE, EPSILON_INSENSITIVE, LOGISTIC, HINGE, SQUARED_HINGE, EXPONENTIAL, *_) = LOSSES
(POISSON, TWEEDIE) = LOSSES[9:]
SOFTMAX = 100  # not one of them: it has kernels of its own, for a row of raw predictions

# l1‖w‖₁ + ½ l2‖w‖², l1‖w‖₀, and the first with w ≥ 0
PENALTIES = range(3)
(ELASTIC, COUNT, POSITIVE) = PENALTIES

N_LOSSES, N_PENALTIES = len(LOSSES), len(PENALTIES)  # kernels know numbers, not ranges

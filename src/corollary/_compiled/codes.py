"""The integer codes by which losses, penalties and metrics reach kernels. Plain numbers: reading them imports nothing.

Kernels refuse every other code of a loss or penalty with a ValueError, and a code that lacks a branch in a kernel gives
NaN, never another loss or penalty: ``tests/compiled/test_codes.py`` goes through all of them.
"""

LOSSES = range(11)
(SQUARED, ABSOLUTE, HUBER, QUANTILE, EPSILON_INSENSITIVE, LOGISTIC, HINGE, SQUARED_HINGE, EXPONENTIAL, *_) = LOSSES
(POISSON, TWEEDIE) = LOSSES[9:]
SOFTMAX = 100  # not one of them: it has kernels of its own, for a row of raw predictions

# l1‖w‖₁ + ½ l2‖w‖², l1‖w‖₀, and the first with w ≥ 0
PENALTIES = range(3)
(ELASTIC, COUNT, POSITIVE) = PENALTIES

N_LOSSES, N_PENALTIES = len(LOSSES), len(PENALTIES)  # kernels know numbers, not ranges

# of the differences of two rows: the sum of squares, the sum of absolute values, the largest, the sum of powers
(EUCLIDEAN, MANHATTAN, CHEBYSHEV, MINKOWSKI) = range(4)

# by which 64-bit numbers are mixed: 2⁶⁴ over the golden ratio, odd, whose multiples are spread evenly; and Stafford's
MULTIPLIERS = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)

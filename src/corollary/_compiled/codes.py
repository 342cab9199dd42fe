"""The integer codes by which losses and penalties reach the kernels. Plain numbers, so reading them imports nothing."""

SQUARED, ABSOLUTE, HUBER, QUANTILE, EPSILON_INSENSITIVE = 0, 1, 2, 3, 4
LOGISTIC, HINGE, SQUARED_HINGE, EXPONENTIAL, POISSON = 5, 6, 7, 8, 9
TWEEDIE, SOFTMAX = 10, 11  # softmax has kernels of its own

# penalties: l1‖w‖₁ + ½ l2‖w‖², l1‖w‖₀, and the first with w ≥ 0
ELASTIC, COUNT, POSITIVE = 0, 1, 2

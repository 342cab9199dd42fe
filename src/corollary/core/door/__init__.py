"""What data must be before a model sees them: targets, sparse matrices, weights, and numbers within reach."""

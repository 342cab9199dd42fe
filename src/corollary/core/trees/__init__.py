"""What tree models are made of: trees as arrays, columns as bins, and the tables from which many rows are predicted."""

from corollary.core.trees.arrays import Trees as Trees

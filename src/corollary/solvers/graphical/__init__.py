"""Bayesian networks: inference, sampling, learning of parameters and of structure, on numbered variables."""

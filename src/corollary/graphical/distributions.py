"""Distributions that ``cpds`` of :class:`BayesianNetwork` takes, under the name of the family."""

from __future__ import annotations

from corollary.core.graphical.cpd import LinearGaussian, LogisticCPD, NoisyOr, Table

__all__ = ["LinearGaussian", "LogisticCPD", "NoisyOr", "Table"]

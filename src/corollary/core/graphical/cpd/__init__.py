"""Conditional distributions of one variable given its parents, beyond tables: parts of which networks are made."""

from __future__ import annotations

from corollary.core.graphical.cpd.base import CPD
from corollary.core.graphical.cpd.linear_gaussian import LinearGaussian
from corollary.core.graphical.cpd.logistic import LogisticCPD
from corollary.core.graphical.cpd.noisy_or import NoisyOr
from corollary.core.graphical.cpd.table import Table

CPDS: dict[str, type[CPD]] = {cls.name: cls for cls in (Table, NoisyOr, LogisticCPD, LinearGaussian)}

__all__ = ["CPD", "CPDS", "LinearGaussian", "LogisticCPD", "NoisyOr", "Table"]

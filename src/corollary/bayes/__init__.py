"""Bayes: naive Bayes, conjugate priors, decisions by cost. Names resolve lazily from the registry."""

from corollary.registry import lazy_family

__all__, __getattr__ = lazy_family("bayes", "conjugate")

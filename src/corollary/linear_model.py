"""scikit-learn's name for :mod:`corollary.linear`, so that of an import line one word changes."""

from corollary.registry import lazy_family

__all__, __getattr__ = lazy_family("linear")

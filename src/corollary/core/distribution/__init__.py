"""Distributions: ``log_prob, summarize, finish, sample``, for K of them at once."""

from __future__ import annotations

from corollary.core.distribution.base import Distribution, Params, Statistics

__all__ = ["Distribution", "Params", "Statistics"]

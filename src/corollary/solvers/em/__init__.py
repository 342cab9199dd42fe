"""Expectation–maximisation: the engine for latent-variable models of any kind, and the models of this library."""

from corollary.core.blocks import ArraySource, BlockSource
from corollary.solvers.em.engine import Estimate, Expected, LatentModel, em

__all__ = ["ArraySource", "BlockSource", "Estimate", "Expected", "LatentModel", "em"]

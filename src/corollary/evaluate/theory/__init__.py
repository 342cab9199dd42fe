"""Figures of learning theory: Bayes error and nearest neighbours, many dimensions, votes, gaps between training and
test error."""

from corollary.evaluate.theory.dimension import (
    ManyDimensions,
    curse_of_dimensionality,
    edge_length,
    median_nearest_distance,
)
from corollary.evaluate.theory.gap import Gap, generalisation_gap, hoeffding_gap, vc_gap
from corollary.evaluate.theory.nearest import (
    NearestNeighbour,
    bayes_error_bounds,
    cover_hart_bounds,
    nearest_neighbour_error,
)
from corollary.evaluate.theory.votes import Votes, majority_vote, majority_vote_error

__all__ = [
    "Gap",
    "ManyDimensions",
    "NearestNeighbour",
    "Votes",
    "bayes_error_bounds",
    "cover_hart_bounds",
    "curse_of_dimensionality",
    "edge_length",
    "generalisation_gap",
    "hoeffding_gap",
    "majority_vote",
    "majority_vote_error",
    "median_nearest_distance",
    "nearest_neighbour_error",
    "vc_gap",
]

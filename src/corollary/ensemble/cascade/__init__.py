"""Cascades of boosted Haar features: integral images, the features of a window, the cascade, and the detector."""

from corollary.ensemble.cascade.cascade import CascadeClassifier
from corollary.ensemble.cascade.detector import Detector, non_maximum_suppression
from corollary.ensemble.cascade.haar import HaarFeatures
from corollary.solvers.trees.cascade.integral import integral_image

__all__ = ["CascadeClassifier", "Detector", "HaarFeatures", "integral_image", "non_maximum_suppression"]

"""What a fitted attribute may be, declared beside the class that has it: shapes, types, ranges, as data.

Parameters have limits; so has what a fit leaves behind. A model file is believed only as far as its class's
``fitted`` says, since compiled code looks neither at shapes nor at indices. Dimensions are names: "d" is the same
number in every attribute of one model, "d+1" is one more, "*t" is a dimension that is there in all attributes or in
none, and "?" is any size.

>>> import numpy as np
>>> check_state({"n_features_in_": Count("d"), "coef_": Floats("d")}, {"n_features_in_": 3, "coef_": np.zeros(2)})
Traceback (most recent call last):
ValueError: coef_ must be finite numbers of shape (d,), but its shape is (2,) where d is 3
"""

from __future__ import annotations

from corollary.core.fitted.arrays import Booleans, Flag, Floats, Integers, Matrix, Number, Numbers
from corollary.core.fitted.base import Anything, By, Fitted, Known, Maybe, Nothing, check_state
from corollary.core.fitted.nested import Indexed, ListOf, Model, Options, Record, TreesOf
from corollary.core.fitted.values import Count, Labels, Names, Text

__all__ = [
    "Anything",
    "Booleans",
    "By",
    "Count",
    "Fitted",
    "Flag",
    "Floats",
    "Indexed",
    "Integers",
    "Known",
    "Labels",
    "ListOf",
    "Matrix",
    "Maybe",
    "Model",
    "Names",
    "Nothing",
    "Number",
    "Numbers",
    "Options",
    "Record",
    "Text",
    "TreesOf",
    "check_state",
]

"""A metric by the name that says most about it, with the options that are left."""

from __future__ import annotations

import math
from typing import Any

_POWERS = {1.0: "manhattan", 2.0: "euclidean", math.inf: "chebyshev"}


def effective_metric(metric: Any, p: float | None, parameters: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
    """The metric and its options: "minkowski" without weights is called by the name that its power has, if any."""
    options = dict(parameters or {})
    if not (isinstance(metric, str) and metric in ("minkowski", "p")):
        return metric, options
    power, weights = options.pop("p", p), options.pop("w", None)
    power = 2.0 if power is None else power
    if weights is None and float(power) in _POWERS:
        return _POWERS[float(power)], options
    return "minkowski", options | {"p": power, "w": weights}


def below_one(metric: Any, options: dict[str, Any]) -> bool:
    """Whether this is Minkowski's distance with a power at which two steps can be shorter than one."""
    return isinstance(metric, str) and metric == "minkowski" and float(options["p"]) < 1.0

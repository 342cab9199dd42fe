"""The two decompositions of a loss into bias, variance and noise, from predictions of many fits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Parts:
    """For every test row: the main prediction, and what its expected loss is made of."""

    main: NDArray[Any]
    total: Values
    bias: Values
    unbiased_variance: Values
    biased_variance: Values
    noise: Values  # what noise adds to the loss
    irreducible: Values
    noise_known: bool

    def result(self, loss: str, draws: int, kind: Any) -> Any:
        """Means over the rows, as the result that users see."""
        variance = self.unbiased_variance - self.biased_variance
        rows = {
            "main": self.main, "total": self.total, "bias": self.bias, "variance": variance, "noise": self.noise,
        }  # fmt: skip
        means = {name: float(np.mean(values)) for name, values in rows.items() if name != "main"}
        return kind(
            loss=loss,
            **means,
            noise_known=self.noise_known,
            irreducible=float(np.mean(self.irreducible)),
            unbiased_variance=float(np.mean(self.unbiased_variance)),
            biased_variance=float(np.mean(self.biased_variance)),
            draws=draws,
            rows=rows,
        )


class SquaredLoss:
    """E (y − f̂)² = (E y − f̄)² + E (f̂ − f̄)² + Var y."""

    @staticmethod
    def classes(y: Any, y_test: Any, truth: Any) -> None:
        """Predictions are numbers."""

    @staticmethod
    def split(said: Values, classes: Any, y_test: Any, truth: Any, noise: Any) -> Parts:
        """``said`` is draws × rows, NaN where a fit has seen the row."""
        main = np.nanmean(said, axis=0)
        variance = np.nanmean((said - main) ** 2, axis=0)
        variance_of_y = _variances(noise, len(main))
        if truth is not None:
            right = _numbers(truth, "truth")
            if variance_of_y is None and y_test is not None:
                variance_of_y = np.full(len(main), np.mean((_numbers(y_test, "y_test") - right) ** 2))
            known = variance_of_y is not None
            variance_of_y = np.zeros(len(main)) if variance_of_y is None else variance_of_y
            total, bias = np.nanmean((right - said) ** 2, axis=0) + variance_of_y, (right - main) ** 2
        else:
            known = variance_of_y is not None
            variance_of_y = np.zeros(len(main)) if variance_of_y is None else variance_of_y
            seen = _numbers(y_test, "y_test")
            total, bias = np.nanmean((seen - said) ** 2, axis=0), (seen - main) ** 2 - variance_of_y
        none = np.zeros(len(main))
        return Parts(main, total, bias, variance, none, variance_of_y, variance_of_y, known)


class ZeroOneLoss:
    """E L = B + V_unbiased − V_biased + what noise adds (Domingos)."""

    @staticmethod
    def classes(y: Any, y_test: Any, truth: Any) -> NDArray[Any]:
        """All labels there are, in sorted order."""
        return np.unique(np.concatenate([np.asarray(each) for each in (y, y_test, truth) if each is not None]))

    @staticmethod
    def split(said: Values, classes: NDArray[Any], y_test: Any, truth: Any, noise: Any) -> Parts:
        """``said`` is draws × rows of codes, NaN where a fit has seen the row."""
        votes = np.stack([np.nansum(said == code, axis=0) for code in range(len(classes))], axis=1)
        votes = votes / votes.sum(axis=1, keepdims=True)  # how often each class is predicted
        rows, main = np.arange(len(votes)), votes.argmax(axis=1)
        given = truth if truth is not None else y_test
        best = None if given is None else np.searchsorted(classes, np.asarray(given))
        if noise is None and truth is not None and y_test is not None:
            noise = float(np.mean(np.asarray(y_test) != np.asarray(truth)))
        chances = _probabilities(noise, best, len(rows), len(classes))
        best = chances.argmax(axis=1) if best is None or np.ndim(noise) == 2 else best
        bias = (main != best).astype(np.float64)
        varies, right = 1 - votes[rows, main], votes[rows, best]
        total = 1 - (votes * chances).sum(axis=1)
        return Parts(
            classes[main],
            total,
            bias,
            np.where(bias == 0, varies, 0.0),
            np.where(bias == 1, right, 0.0),  # a fit that differs from a wrong main prediction may be right
            total - (1 - right),
            1 - chances[rows, best],
            noise is not None,
        )


def _numbers(values: Any, name: str) -> Values:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers for the squared loss; labels have loss='0-1'.") from None
    if found.ndim != 1 or not np.isfinite(found).all():
        raise ValueError(f"{name} must be one finite number for each row.")
    return found


def _variances(noise: Any, rows: int) -> Values | None:
    if noise is None:
        return None
    found = np.asarray(noise, dtype=np.float64)
    if found.shape not in ((), (rows,)) or not np.isfinite(found).all() or (found < 0).any():
        raise ValueError(f"noise must be a variance ≥ 0, or one for each of the {rows} test rows.")
    return np.broadcast_to(found, (rows,)).copy()


def _probabilities(noise: Any, best: NDArray[np.intp] | None, rows: int, classes: int) -> Values:
    """The chances of each class in each row."""
    found = np.asarray(0.0 if noise is None else noise, dtype=np.float64)
    if found.shape == (rows, classes):
        if (found < 0).any() or np.abs(found.sum(axis=1) - 1).max() > 1e-8:
            raise ValueError("noise: the probabilities of each row must be ≥ 0 and sum to 1.")
        return found
    if found.shape not in ((), (rows,)) or best is None:
        raise ValueError(f"noise must be a probability, or {rows} × {classes} of them, but its shape is {found.shape}.")
    if ((found < 0) | (found > 1)).any() or np.isnan(found).any():
        raise ValueError("noise must be a probability between 0 and 1 for the 0–1 loss.")
    if classes == 1:
        return np.ones((rows, 1))
    wrong = np.broadcast_to(found, (rows,))
    chances = np.repeat((wrong / (classes - 1))[:, None], classes, axis=1)
    chances[np.arange(rows), best] = 1 - wrong
    return chances


LOSSES: dict[str, Any] = {"squared": SquaredLoss, "0-1": ZeroOneLoss}

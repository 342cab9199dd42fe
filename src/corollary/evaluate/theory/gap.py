"""How far training error can be below the true one: bounds of Hoeffding and of Vapnik, and the gap as measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from corollary.evaluate.curve import Curve
from corollary.evaluate.curves import SIZES, learning_curve
from corollary.evaluate.jobs import Progress
from corollary.evaluate.wording import between, decimals, number


def hoeffding_gap(rows: Any, hypotheses: float = 1, confidence: float = 0.95) -> Any:
    r"""What no gap between training and true error exceeds, for a choice among finitely many rules.

    .. math:: \sqrt{\ln(2M/\delta) / (2n)}

    Parameters
    ----------
    rows : int ≥ 1, or array
        n.
    hypotheses : float ≥ 1
        M, how many rules there were to choose from; 1 is a rule that was fixed before the rows were seen.
    confidence : float in (0, 1)
        1 − δ.

    References
    ----------
    Hoeffding, JASA 58, 1963.

    Examples
    --------
    >>> from corollary.evaluate.theory import hoeffding_gap
    >>> print(f"{hoeffding_gap(1000):.3f} {hoeffding_gap(1000, hypotheses=1e6):.3f}")
    0.043 0.094
    """
    n, delta = _checked(rows, confidence)
    if not hypotheses >= 1:
        raise ValueError(f"hypotheses must be at least 1, but it is {hypotheses}.")
    return _plain(np.sqrt((np.log(2 * hypotheses) - np.log(delta)) / (2 * n)))


def vc_gap(rows: Any, dimension: float, confidence: float = 0.95) -> Any:
    r"""What no gap between training and true error exceeds, for all rules of a class of VC dimension d at once.

    .. math:: \sqrt{\tfrac 8 n \Bigl(d \ln \tfrac{2en}{d} + \ln \tfrac 4 \delta\Bigr)}

    (with :math:`2n \ln 2` in place of the first term while 2n < d). It holds for any data, so it is often above 1.

    Parameters
    ----------
    rows : int ≥ 1, or array
    dimension : float > 0
        Of linear rules in p columns with an intercept, p + 1.
    confidence : float in (0, 1)

    References
    ----------
    Vapnik and Chervonenkis, Theory of Probability and its Applications 16, 1971; Sauer, J. Combinatorial Theory 13,
    1972.

    Examples
    --------
    >>> from corollary.evaluate.theory import vc_gap
    >>> print(f"{vc_gap(1000, 3):.2f} {vc_gap(100_000, 3):.3f}")
    0.46 0.057
    """
    n, delta = _checked(rows, confidence)
    if not dimension > 0:
        raise ValueError(f"dimension must be greater than 0, but it is {dimension}.")
    growth = np.where(2 * n > dimension, dimension * np.log(2 * np.e * n / dimension), 2 * n * np.log(2))
    return _plain(np.sqrt(8 / n * (growth + np.log(4 / delta))))


@dataclass(frozen=True)
class Gap:
    """Training and test error against the number of rows, beside the bounds; prints as a sentence.

    Attributes
    ----------
    curve : Curve
        Of accuracy.
    rows : tuple of int
    measured : array
        Test error less training error.
    low, high : arrays
        Its 95 % interval, corrected for overlapping training parts.
    hoeffding : array
        The bound for a rule that was fixed beforehand.
    vc : array or None
        The bound for all rules of the class, if its dimension was given.
    """

    curve: Curve
    rows: tuple[int, ...]
    measured: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    hoeffding: NDArray[np.float64]
    vc: NDArray[np.float64] | None

    def to_frame(self) -> Any:
        """One row for each number of training rows."""
        import pandas as pd

        columns = {"train_error": [1 - score.mean for score in self.curve.train],
                   "test_error": [1 - score.mean for score in self.curve.test],
                   "gap": self.measured, "low": self.low, "high": self.high, "hoeffding": self.hoeffding}  # fmt: skip
        if self.vc is not None:
            columns["vc"] = self.vc
        return pd.DataFrame(columns, index=pd.Index(self.rows, name="rows"))

    def plot(self, ax: Any = None) -> Any:
        """The measured gap with its band, and the bounds; returns the matplotlib axes."""
        from corollary.core.drawing import BLUE, ORANGE, SOFT, axes

        ax = axes(ax)
        ax.fill_between(self.rows, self.low, self.high, color=BLUE, alpha=0.15, lw=0)
        ax.plot(self.rows, self.measured, "o-", color=BLUE, ms=4, label="measured")
        ax.plot(self.rows, self.hoeffding, color=SOFT, ls="--", label="bound for one fixed rule (Hoeffding)")
        if self.vc is not None:
            ax.plot(
                self.rows, np.minimum(self.vc, 1.0), color=ORANGE, ls="--", label="bound for all rules (VC, at most 1)"
            )
        ax.axhline(0, color="0.8", lw=1, zorder=0)
        ax.set(xlabel="training rows", ylabel="test error − training error")
        ax.legend(frameon=False, fontsize="small")
        return ax

    def __str__(self) -> str:
        places = decimals((self.high[-1] - self.low[-1]) / 2)
        bound = "" if self.vc is None else f"; for all rules of its class theory allows {min(1.0, self.vc[-1]):.2g}"
        return (
            f"With {self.rows[-1]:,} rows the test error is {number(self.measured[-1], places)} above the training "
            f"error ({between((self.low[-1], self.high[-1]), places)}){bound}."
        )


def generalisation_gap(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    vc_dimension: float | None = None,
    train_sizes: Sequence[float] = SIZES,
    cv: Any = 5,
    groups: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> Gap:
    """The gap between training and test error of a classifier against the number of rows, measured and bounded.

    Parameters
    ----------
    estimator : classifier
    X, y : arrays or tables with the same number of rows
    vc_dimension : float > 0, optional
        Of the class of rules; of linear ones in p columns with an intercept, p + 1.
    train_sizes, cv, groups, seed, n_jobs, progress, resume
        As in :func:`corollary.evaluate.learning_curve`.

    Returns
    -------
    Gap

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from corollary import GaussianNB
    >>> from corollary.evaluate.theory import generalisation_gap
    >>> gap = generalisation_gap(GaussianNB(), *load_iris(return_X_y=True), train_sizes=[0.5, 1.0])
    >>> bool(gap.measured[-1] < gap.hoeffding[-1])
    True
    """
    if not is_classifier(estimator):
        raise ValueError(
            f"estimator must be a classifier, since the bounds are about errors, not {type(estimator).__name__}."
        )
    curve = learning_curve(
        estimator, X, y, train_sizes=train_sizes, cv=cv, scoring="accuracy", groups=groups, seed=seed, n_jobs=n_jobs,
        progress=progress, resume=resume,
    )  # fmt: skip
    gaps = [train - test for train, test in zip(curve.train, curve.test, strict=True)]
    rows = np.array(curve.values, dtype=np.float64)
    return Gap(
        curve,
        curve.values,
        np.array([gap.mean for gap in gaps]),
        np.array([max(-1.0, gap.mean - gap.half_width) for gap in gaps]),
        np.array([min(1.0, gap.mean + gap.half_width) for gap in gaps]),
        np.atleast_1d(hoeffding_gap(rows)),
        None if vc_dimension is None else np.atleast_1d(vc_gap(rows, vc_dimension)),
    )


def _checked(rows: Any, confidence: float) -> tuple[NDArray[np.float64], float]:
    n = np.asarray(rows, dtype=np.float64)
    if not (n >= 1).all():
        raise ValueError(f"rows must be at least 1, but they are {rows}.")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, but it is {confidence}.")
    return n, 1 - confidence


def _plain(values: Any) -> Any:
    return float(values) if np.ndim(values) == 0 else values

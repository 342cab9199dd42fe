"""Calibration: of the rows that get a probability of 0.3, do three in ten have the class?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from corollary.evaluate.wording import number, shown_p
from corollary.tabular.messages import count, shown

Values = NDArray[np.float64]
STRATEGIES = ("auto", "mass", "events", "width")
_RARE, _LEAST_EVENTS = 0.1, 5


@dataclass(frozen=True)
class Calibration:
    """What :func:`calibration` found; prints as a sentence.

    Attributes
    ----------
    predicted, observed : arrays, one entry for each bin
        Mean probability, and share of rows that have the class.
    low, high : arrays
        95 % intervals (Wilson) of the observed shares.
    rows : array of float
        Rows in each bin, or the sum of their weights.
    share : float
        Of the class in all rows.
    brier : float
        Mean (p − o)², which equals ``reliability − resolution + uncertainty + within``.
    reliability, resolution, uncertainty, within : float
        Distance of bins from the diagonal (less is better), spread of the observed shares (more is better), variance
        of the class, and what differences of p inside of bins add.
    expected_error : float
        Expected calibration error: the mean distance |predicted − observed| over rows.
    by_chance : float
        What that error is on average where the probabilities are right: few rows in a bin differ by chance.
    largest_error : float
        The same in the worst bin.
    p_value : float
        Spiegelhalter's test that the probabilities are right.
    label : object
        The class; None for the class that was given the highest probability.
    strategy : str
    """

    predicted: Values
    observed: Values
    low: Values
    high: Values
    rows: Values
    share: float
    brier: float
    reliability: float
    resolution: float
    uncertainty: float
    within: float
    expected_error: float
    by_chance: float
    largest_error: float
    p_value: float
    label: Any
    strategy: str

    def to_frame(self) -> Any:
        """One row for each bin."""
        import pandas as pd

        names = ("predicted", "observed", "low", "high", "rows")
        return pd.DataFrame({name: getattr(self, name) for name in names})

    def plot(self, ax: Any = None) -> Any:
        """The reliability diagram with intervals; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_calibration

        return plot_calibration(self, ax)

    @property
    def outside(self) -> int:
        """Bins whose mean probability lies outside of the interval of what was observed."""
        return int(np.count_nonzero((self.predicted < self.low) | (self.predicted > self.high)))

    @property
    def verdict(self) -> str:
        """In a few words whether, and in which direction, the probabilities are wrong."""
        chance = stats.binom.sf(self.outside - 1, len(self.rows), 0.05)  # of so many bins outside of their intervals
        if self.p_value >= 0.05 and chance >= 0.01:
            return "nothing speaks against them"
        off = np.average(self.predicted - self.observed, weights=self.rows)
        if abs(off) < 0.5 * self.expected_error:
            return "they are too high in places and too low in others"
        return f"on the whole they are too {'high' if off > 0 else 'low'}"

    def __str__(self) -> str:
        what = "the most likely class" if self.label is None else f"class {shown(self.label)}"
        return (
            f"Probabilities of {what} are off by {number(self.expected_error, 3)} on average (by chance alone: "
            f"{number(self.by_chance, 3)}), the Brier score is {number(self.brier, 4)}; {self.outside} of "
            f"{count(len(self.rows), 'bin')} outside of the 95 % interval, {shown_p(self.p_value)}: {self.verdict}."
        )


def calibration(
    y: Any,
    probabilities: Any,
    *,
    label: Any = None,
    classes: Any = None,
    bins: int = 10,
    strategy: str = "auto",
    sample_weight: Any = None,
) -> Calibration:
    """Compare probabilities with what happened, in bins, for rows that the model has not seen.

    Parameters
    ----------
    y : array of n labels
    probabilities : array of shape (n,) or (n, classes)
        Of held-out rows (``cross_val_predict(model, X, y, method="predict_proba")``). One column is the probability
        of the last class in sorted order, or of ``label``.
    label : object, optional
        The class to look at. By default the second of two; with more, the class with the highest probability in each
        row (its *confidence*).
    classes : array, optional
        What the columns stand for; by default the sorted labels of y.
    bins : int ≥ 2
        At most; fewer if probabilities repeat, or if a bin would expect fewer than five rows of the rarer kind.
    strategy : {"auto", "mass", "events", "width"}
        Bins with the same number of rows; with the same expected number of rows that have the class, so that a rare
        class fills more than one bin; or of the same width. ``"auto"`` is ``"events"`` if the class or its contrary
        has less than a tenth of the rows, else ``"mass"``.
    sample_weight : array of n weights, optional

    Returns
    -------
    Calibration

    References
    ----------
    Murphy, A new vector partition of the probability score, J. Applied Meteorology 12, 1973; Stephenson et al.,
    Weather and Forecasting 23, 2008 (within bins). Wilson, JASA 22, 1927. Spiegelhalter, Statistics in Medicine 5,
    1986.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.evaluate import calibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p  # by construction the probabilities are right
    >>> print(calibration(y, p))
    Probabilities of class 'True' are off by 0.029 on average (by chance alone: 0.022), the Brier score is 0.1633;
    0 of 10 bins outside of the 95 % interval, p = 0.59: nothing speaks against them.
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, but it is {strategy!r}.")
    if bins < 2:
        raise ValueError(f"bins must be at least 2, but it is {bins}.")
    p, happened, label = outcomes(y, probabilities, label, classes)
    weights = checked_weights(sample_weight, len(p))
    share = float(np.average(happened, weights=weights))
    if strategy == "auto":
        strategy = "events" if min(share, 1 - share) < _RARE else "mass"
    bin_of = _bins(p, weights, bins, strategy, min(share, 1 - share))
    return _judged(p, happened, weights, bin_of, share, label, strategy)


def _judged(
    p: Values, happened: Values, weights: Values, bin_of: NDArray[np.intp], share: float, label: Any, strategy: str
) -> Calibration:
    rows = np.bincount(bin_of, weights).astype(np.float64)
    predicted, observed = np.bincount(bin_of, weights * p) / rows, np.bincount(bin_of, weights * happened) / rows
    effective = rows**2 / np.bincount(bin_of, weights**2)
    low, high = wilson(observed, effective)
    portion, total = rows / rows.sum(), weights.sum()
    inside_p, inside_o = p - predicted[bin_of], happened - observed[bin_of]
    within = float(np.sum(weights * (inside_p**2 - 2 * inside_p * inside_o)) / total)
    spread = np.sqrt(np.sum((weights * (1 - 2 * p)) ** 2 * p * (1 - p)))
    z = np.sum(weights * (happened - p) * (1 - 2 * p)) / spread if spread > 0 else 0.0
    return Calibration(
        predicted,
        observed,
        low,
        high,
        rows,
        share,
        brier=float(np.average((p - happened) ** 2, weights=weights)),
        reliability=float(np.sum(portion * (predicted - observed) ** 2)),
        resolution=float(np.sum(portion * (observed - share) ** 2)),
        uncertainty=share * (1 - share),
        within=within,
        expected_error=float(np.sum(portion * np.abs(predicted - observed))),
        by_chance=float(np.sqrt(2 / np.pi) * np.sum(np.sqrt(np.bincount(bin_of, weights**2 * p * (1 - p)))) / total),
        largest_error=float(np.max(np.abs(predicted - observed))),
        p_value=float(2 * stats.norm.sf(abs(z))),
        label=label,
        strategy=strategy,
    )


def wilson(share: Any, rows: Any) -> tuple[Values, Values]:
    """95 % interval of a share of ``rows`` by Wilson, which stays inside [0, 1] and is right for few rows too."""
    share, rows = np.asarray(share, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    z2 = stats.norm.ppf(0.975) ** 2
    centre = (share + z2 / (2 * rows)) / (1 + z2 / rows)
    half = np.sqrt(z2 * (share * (1 - share) / rows + z2 / (4 * rows**2))) / (1 + z2 / rows)
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)


def outcomes(y: Any, probabilities: Any, label: Any, classes: Any) -> tuple[Values, Values, Any]:
    """The probability looked at in each row, whether it happened, and the class (None: the most likely one)."""
    truth, p = np.asarray(y), np.asarray(probabilities, dtype=np.float64)
    if truth.ndim != 1 or p.ndim not in (1, 2) or len(p) != len(truth) or not len(truth):
        raise ValueError(
            f"y and probabilities must have the same rows, but they have shapes {truth.shape} and {p.shape}."
        )
    if not np.isfinite(p).all() or p.min() < 0 or p.max() > 1 + 1e-9:
        raise ValueError("probabilities must lie between 0 and 1; for decision values calibrate the model first.")
    known = np.unique(truth) if classes is None else np.asarray(classes)
    if p.ndim == 2 and p.shape[1] == 1:
        p = p[:, 0]
    if p.ndim == 1:
        label = known[-1] if label is None else label
        return np.minimum(p, 1.0), (truth == label).astype(np.float64), label
    if p.shape[1] != len(known):
        raise ValueError(f"probabilities have {p.shape[1]} columns, but there are {len(known)} classes; say classes=.")
    if label is None and len(known) > 2:
        top = p.argmax(axis=1)
        return np.minimum(p.max(axis=1), 1.0), (known[top] == truth).astype(np.float64), None
    label = known[-1] if label is None else label
    if label not in known:
        raise ValueError(f"label {shown(label)} is not a class; there are {', '.join(map(shown, known[:5].tolist()))}.")
    return np.minimum(p[:, int(np.flatnonzero(known == label)[0])], 1.0), (truth == label).astype(np.float64), label


def checked_weights(sample_weight: Any, rows: int) -> Values:
    if sample_weight is None:
        return np.ones(rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (rows,) or not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
        raise ValueError(f"sample_weight must be {rows} weights ≥ 0, one for each row, not all zero.")
    return weights


def _bins(p: Values, weights: Values, bins: int, strategy: str, rarer: float) -> NDArray[np.intp]:
    """The bin of each row, numbered from 0 without gaps; equal probabilities are in one bin."""
    if strategy == "width":
        number_of = np.minimum((p * bins).astype(np.intp), bins - 1)
    else:
        bins = min(bins, max(2, int(rarer * len(p) / _LEAST_EVENTS)))
        amount = weights * (np.minimum(p, 1 - p) + 1e-12) if strategy == "events" else weights
        level = np.unique(p, return_inverse=True)[1].ravel()
        mass = np.bincount(level, amount)
        middle = (np.cumsum(mass) - mass / 2) / mass.sum()
        number_of = np.minimum((middle * bins).astype(np.intp), bins - 1)[level]
    number_of = np.where(weights > 0, number_of, number_of.max())
    return np.unique(number_of, return_inverse=True)[1].ravel()

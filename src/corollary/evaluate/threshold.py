"""Where to cut: the threshold of a classifier by cost, by F, by precision or recall, along the ROC curve."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.utils.validation import check_is_fitted

from corollary.evaluate.cuts import CRITERIA, Cuts, Wish
from corollary.evaluate.wording import number
from corollary.tabular.messages import shown

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Threshold:
    """What :func:`threshold` chose; prints as a sentence.

    Attributes
    ----------
    value : float
        A row is called ``label`` if its score is at least this.
    interval : tuple of two floats
        2.5 % and 97.5 % of the thresholds chosen on bootstrap samples of the rows: how firm the choice is.
    by, criterion : str
        The criterion, and the same in words.
    achieved : float
        The criterion on these rows, at this threshold: cost for each row, F, recall or precision. Too good by a little.
    unseen : float
        The same, chosen on bootstrap samples and measured on the rows outside of them: what to expect.
    unseen_limited : float or None
        The same of what has a limit, precision for instance, which on new rows may well be missed by a little.
    at : dict of str to float
        Counts and rates at the threshold: ``tp``, ``fp``, ``fn``, ``tn``, ``precision``, ``recall``, ``fpr``, …
    usual : dict of str to float
        The same at 0.5 (of probabilities) or 0 (of decision values).
    table : mapping of str to array
        The same for every threshold that makes a difference.
    label : object
        The class that is called above the threshold.
    probabilities : bool
        Whether the scores are.
    """

    value: float
    interval: tuple[float, float]
    criterion: str
    achieved: float
    unseen: float
    unseen_limited: float | None
    at: dict[str, float]
    usual: dict[str, float]
    by: str
    label: Any
    probabilities: bool
    table: dict[str, Values] = field(repr=False)

    @property
    def bias_shift(self) -> float:
        """What to add to the intercept so that the usual cut (0, or a probability of 0.5) decides like this threshold.

        Of probabilities it is in log-odds, the units of the intercept of a logistic regression.
        """
        if not self.probabilities:
            return -self.value
        with np.errstate(divide="ignore"):
            return float(np.log1p(-min(self.value, 1.0)) - np.log(max(self.value, 0.0)))

    def classifier(self, model: Any, response_method: str | None = None) -> Any:
        """The model with this threshold: scikit-learn's ``FixedThresholdClassifier``.

        A fitted model is kept as it is; another is fitted when the classifier is.
        """
        try:
            check_is_fitted(model)
            inner = FrozenEstimator(model)
        except (TypeError, ValueError, AttributeError):
            inner = model
        method = response_method or ("predict_proba" if self.probabilities else "decision_function")
        label = self.label.item() if isinstance(self.label, np.generic) else self.label
        return FixedThresholdClassifier(inner, threshold=self.value, pos_label=label, response_method=method)

    def to_frame(self) -> Any:
        """One row for each threshold that makes a difference, from the highest: counts, rates, F, cost."""
        import pandas as pd

        return pd.DataFrame(self.table)

    def plot(self, ax: Any = None) -> Any:
        """Precision, recall and the criterion against the threshold; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_threshold

        return plot_threshold(self, ax)

    def plot_roc(self, ax: Any = None) -> Any:
        """The ROC curve with the chosen and the usual threshold; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_roc

        return plot_roc(self, ax)

    def __str__(self) -> str:
        now, usual = ([number(rates[name], 3) for name in ("precision", "recall")] for rates in (self.at, self.usual))
        limited = ""
        if self.unseen_limited is not None:
            limited = f" (with {CRITERIA[self.by].limited} {number(self.unseen_limited, 3)})"
        shift = f"{'+' if self.bias_shift >= 0 else '−'}{number(abs(self.bias_shift), 2)}"
        return (
            f"Call {shown(self.label)} from {number(self.value, 3)} on (bootstrap {number(self.interval[0], 3)} to "
            f"{number(self.interval[1], 3)}; the same as {shift} to the intercept): {self.criterion} is "
            f"{number(self.achieved, 3)} on these rows, {number(self.unseen, 3)} to be expected on others{limited}. Precision "
            f"{now[0]} and recall {now[1]}; at {0.5 if self.probabilities else 0} they are {usual[0]} and {usual[1]}."
        )


def threshold(
    y: Any,
    scores: Any,
    *,
    by: str = "cost",
    false_positive: float = 1.0,
    false_negative: float = 1.0,
    beta: float = 1.0,
    at_least: float | None = None,
    at_most: float | None = None,
    label: Any = None,
    sample_weight: Any = None,
    draws: int = 200,
    seed: int = 0,
) -> Threshold:
    """Choose the score from which on a row is called positive.

    Parameters
    ----------
    y : array of n labels, of two kinds
    scores : array of shape (n,) or (n, 2)
        Probabilities or decision values of rows that the model has not seen, for instance
        ``cross_val_predict(model, X, y, method="predict_proba")``.
    by : {"cost", "f", "precision", "recall", "fpr", "youden"}
        The least cost; the largest F; the largest recall with precision ``at_least``; the largest precision with
        recall ``at_least``; the largest recall with a rate of false positives ``at_most``; the largest recall less
        rate of false positives.
    false_positive, false_negative : float ≥ 0
        What each kind of error costs.
    beta : float > 0
        How much more recall counts than precision in F.
    at_least, at_most : float in [0, 1]
    label : object, optional
        The positive class; by default the second in sorted order.
    sample_weight : array of n weights, optional
    draws : int ≥ 2
        Bootstrap samples, for the interval and for ``unseen``.
    seed : int

    Returns
    -------
    Threshold

    Notes
    -----
    With probabilities that are right, the least cost is at false_positive / (false_positive + false_negative). Between
    two scores the threshold lies in the middle.

    *Cost*: O(n log n), and O(n) for each draw.

    References
    ----------
    Elkan, The foundations of cost-sensitive learning, IJCAI 2001. Fawcett, An introduction to ROC analysis, Pattern
    Recognition Letters 27, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.evaluate import threshold
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(5000)
    >>> y = rng.random(5000) < p
    >>> chosen = threshold(y, p, false_positive=1, false_negative=4)  # in theory 1 / (1 + 4)
    >>> print(f"{chosen.value:.1f}")
    0.2
    """
    wish = Wish.checked(by, false_positive, false_negative, beta, at_least, at_most)
    if draws < 2:
        raise ValueError(f"draws must be at least 2, but it is {draws}.")
    truth, given, name, probabilities = _binary(y, scores, label)
    cuts = Cuts.of(truth, given, sample_weight)
    table = cuts.measures(wish)
    place = wish.choose(table)
    if place is None:
        raise ValueError(f"no threshold gives {wish.limit_words}; at the most it is {wish.reach(cuts):.3g}.")
    chosen, unseen, limited = cuts.bootstrap(wish, draws, seed)
    low, high = np.quantile(chosen, [0.025, 0.975])
    usual = cuts.place_of(0.5 if probabilities else 0.0)
    return Threshold(
        float(table["threshold"][place]),
        (float(low), float(high)),
        wish.words,
        float(table[CRITERIA[by].column][place]),
        unseen,
        limited if wish.limit is not None else None,
        {key: float(values[place]) for key, values in table.items()},
        {key: float(values[usual]) for key, values in table.items()},
        by,
        name,
        probabilities,
        table,
    )


def _binary(y: Any, scores: Any, label: Any) -> tuple[NDArray[np.bool_], Values, Any, bool]:
    """Whether each row is positive, its score, the positive class, and whether scores are probabilities."""
    labels, given = np.asarray(y), np.asarray(scores, dtype=np.float64)
    if given.ndim == 2 and given.shape[1] == 2:
        given = given[:, 1] if label is None or label == np.unique(labels)[-1] else given[:, 0]
    if labels.ndim != 1 or given.shape != labels.shape:
        raise ValueError(
            f"y and scores must have the same rows, but they have shapes {labels.shape} and {given.shape}."
        )
    if not np.isfinite(given).all():
        raise ValueError("scores must be finite numbers.")
    known = np.unique(labels)
    if len(known) != 2 and label is None:
        raise ValueError(f"y must have two classes, but it has {len(known)}; label= looks at one against the rest.")
    name = known[-1] if label is None else label
    positive = labels == name
    if not positive.any() or positive.all():
        raise ValueError(f"y must have rows with and without class {shown(name)}.")
    return positive, given, name, bool(given.min() >= 0 and given.max() <= 1)

"""Bias, variance and noise of a model: what its error on new rows is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from corollary.evaluate.decomposition import LOSSES, Parts
from corollary.evaluate.jobs import Progress, about, run_jobs
from corollary.evaluate.optimisation_bias import draw_rows, members_of
from corollary.evaluate.scoring import check_rows, fitted, take
from corollary.evaluate.wording import number
from corollary.tabular.messages import count

Sampler = Callable[[np.random.Generator], tuple[Any, Any]]
_WORDS = {"squared": "bias²", "0-1": "bias"}


@dataclass(frozen=True)
class BiasVariance:
    """What :func:`bias_variance` found; prints as a sentence.

    Attributes
    ----------
    loss : {"squared", "0-1"}
    total : float
        The mean loss over training sets and test rows: ``total = bias + variance + noise``, to rounding.
    bias : float
        Squared bias; of the 0–1 loss, the share of test rows whose main prediction is not the best one. With
        ``noise_known`` False it holds the noise, too, since the two cannot be told apart.
    variance : float
        Of the 0–1 loss the net variance, ``unbiased_variance − biased_variance``: where the main prediction is wrong,
        varying is of use.
    noise : float
        Of the 0–1 loss, what noise adds to the loss; less than ``irreducible`` where predictions are wrong anyway.
    noise_known : bool
    irreducible : float
        The loss of the best possible predictions.
    unbiased_variance, biased_variance : float
        Variance on rows whose main prediction is right, and what varying gains on the others; of the squared loss the
        variance and 0.
    draws : int
        Training sets.
    rows : mapping of str to array
        The same for every test row.
    """

    loss: str
    total: float
    bias: float
    variance: float
    noise: float
    noise_known: bool
    irreducible: float
    unbiased_variance: float
    biased_variance: float
    draws: int
    rows: dict[str, NDArray[Any]] = field(repr=False)

    def to_frame(self) -> Any:
        """One row for each test row: main prediction, total, bias, variance, noise."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def plot(self, ax: Any = None) -> Any:
        """What the loss is made of, as one bar; returns the matplotlib axes."""
        from corollary.evaluate.pictures import plot_bias_variance

        return plot_bias_variance(self, ax)

    def __str__(self) -> str:
        places = 4 if self.total < 1 else 3 if self.total < 100 else 1
        word = _WORDS[self.loss] if self.noise_known else f"{_WORDS[self.loss]} and noise together"
        text = f"{self.loss} loss {number(self.total, places)} = {word} {number(self.bias, places)} + variance "
        text += number(self.variance, places)
        if self.noise_known:
            text += f" + noise {number(self.noise, places)}"
        if self.biased_variance > 0:
            text += f" (variance {number(self.unbiased_variance, places)} where the main prediction is right, "
            text += f"less {number(self.biased_variance, places)} where it is wrong)"
        return f"{text}, over {count(self.draws, 'training set')}."


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    method: str | Sampler = "bootstrap",
    loss: str | None = None,
    noise: Any = None,
    truth: Any = None,
    draws: int = 100,
    share: float = 0.5,
    groups: Any = None,
    sample_weight: Any = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
) -> BiasVariance:
    r"""Split a model's expected loss on new rows into bias, variance and noise, by fitting it to many training sets.

    Squared loss: with the mean prediction :math:`\bar f(x)` over training sets,

    .. math:: E (y - \hat f)^2 = (E y - \bar f)^2 + E (\hat f - \bar f)^2 + \operatorname{Var} y .

    0–1 loss (Domingos): the main prediction is the most frequent one, bias says whether it differs from the best one
    :math:`y^*`, variance is how often predictions differ from the main one, and
    :math:`E L = B + V_u - V_b + c N` with variance of the rows without bias, variance that corrects rows with bias, and
    noise N, whose factor c is :math:`2 P(\hat y = y^*) - 1` for two classes.

    Parameters
    ----------
    estimator : classifier or regressor
    X, y : the rows that training sets are drawn from
    X_test, y_test : rows to predict, optional
        Without them, every row of X is predicted by those fits that have not seen it.
    method : {"bootstrap", "resample"} or callable
        Training sets by drawing rows with replacement; by drawing a ``share`` of them without; or new ones from the
        source itself: ``method(rng)`` returns X and y. Only the last shows the variance of the method as it is;
        samples of one data set are alike.
    loss : {"squared", "0-1"}, optional
        By default that of the kind of estimator.
    noise : optional
        What is known about noise. Squared loss: the variance of y given x, a number or one for each test row. 0–1
        loss: the probabilities of the classes (in sorted order) for each test row; or a number, the probability that
        a label is wrong (``y_test``, or ``truth``, then being the right ones).
    truth : array, optional
        The expected y of the test rows, or their best label, where it is known: bias is then measured against it.
    draws : int ≥ 2
        Training sets.
    share : float in (0, 1)
        Of ``method="resample"``.
    groups : array, optional
        Rows of one group are drawn together.
    sample_weight : array, optional
        Weights of the fits.
    seed : int
        Of the draws, and of random states that the estimator leaves open.
    n_jobs, progress, resume
        As in :func:`nested`.

    Returns
    -------
    BiasVariance

    Notes
    -----
    Without ``noise`` and ``truth``, noise is counted as bias: one observation cannot tell them apart. With ``noise``
    alone, ``bias = mean (y − main)² − noise``, which is right on average and may be below zero.

    *Cost*: ``draws`` fits.

    References
    ----------
    Geman, Bienenstock, Doursat, Neural networks and the bias/variance dilemma, Neural Computation 4, 1992. Domingos, A
    unified bias-variance decomposition, ICML 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary import KNeighborsRegressor
    >>> from corollary.evaluate import bias_variance
    >>> def draw(rng):
    ...     x = rng.uniform(0, 6, (60, 1))
    ...     return x, np.sin(x[:, 0]) + rng.normal(0, 0.5, 60)
    >>> grid = np.linspace(0, 6, 200)[:, None]
    >>> for k in (1, 30):
    ...     found = bias_variance(KNeighborsRegressor(k), *draw(np.random.default_rng(0)), grid, method=draw,
    ...                           truth=np.sin(grid[:, 0]), noise=0.25)
    ...     print(k, "bias² above variance" if found.bias > found.variance else "variance above bias²")
    1 variance above bias²
    30 bias² above variance
    """
    check_rows(X, y, groups=groups, sample_weight=sample_weight)
    _check(method, draws, share, X_test, y_test, truth)
    loss = loss or ("0-1" if is_classifier(estimator) else "squared")
    if loss not in LOSSES:
        raise ValueError(f"loss must be 'squared' or '0-1', but it is {loss!r}.")
    inside = X_test is None
    tested, targets = (X, y) if inside else (X_test, y_test)
    if targets is not None:
        check_rows(tested, targets, truth=truth)
    study = _Study(
        estimator, X, y, tested, inside, method, share, members_of(groups, len(np.asarray(y))), sample_weight, seed
    )
    classes = LOSSES[loss].classes(y, targets, truth)
    results = run_jobs(
        _one_draw,
        [(study, classes, number) for number in range(draws)],
        what="bias_variance",
        n_jobs=n_jobs,
        progress=progress,
        resume=resume,
        about=None if resume is None else about(
            estimator, X, y, X_test=X_test, y_test=y_test, truth=truth, loss=loss, method=method, share=share,
            seed=seed, groups=groups, weights=sample_weight,
        ),
    )  # fmt: skip
    said = np.array(results, dtype=np.float64)
    if (never := np.flatnonzero(np.isnan(said).all(axis=0))).size:
        raise ValueError(f"row {never[0]} of X was in every training set; take more draws than {draws}, or X_test.")
    parts: Parts = LOSSES[loss].split(said, classes, targets, truth, noise)
    return parts.result(loss, draws, BiasVariance)


@dataclass(frozen=True)
class _Study:
    estimator: Any
    X: Any
    y: Any
    X_test: Any
    inside: bool  # the test rows are those of X
    method: str | Sampler
    share: float
    members: list[NDArray[np.intp]] | None
    weights: Any
    seed: int


def _one_draw(study: _Study, classes: NDArray[Any] | None, number: int) -> list[float]:
    """Predictions of a model fitted to one training set; labels as codes, NaN for rows that it has seen."""
    rng = np.random.default_rng([study.seed, number])
    model = _with_states(clone(study.estimator), rng)
    if callable(study.method):
        model, drawn = fitted(model, *study.method(rng)), np.array([], dtype=np.intp)
    else:
        drawn = _drawn(study, rng)
        model = fitted(model, take(study.X, drawn), take(study.y, drawn), take(study.weights, drawn))
    said = np.asarray(model.predict(study.X_test))
    if said.ndim != 1:
        raise ValueError(f"estimator must predict one number or label for each row, but it predicts {said.shape[1]}.")
    values = said.astype(np.float64) if classes is None else np.searchsorted(classes, said).astype(np.float64)
    if study.inside:
        values[drawn] = np.nan
    return [float(value) for value in values]


def _drawn(study: _Study, rng: np.random.Generator) -> NDArray[np.intp]:
    rows = len(np.asarray(study.y))
    if study.method == "bootstrap":
        return draw_rows(rng, study.members, rows)[0]
    if study.members is None:
        return rng.permutation(rows)[: max(1, round(study.share * rows))]
    order = rng.permutation(len(study.members))[: max(1, round(study.share * len(study.members)))]
    return np.concatenate([study.members[each] for each in order])


def _with_states(model: Any, rng: np.random.Generator) -> Any:
    """The model with an integer for each random state that is None, so that a run can be repeated."""
    open_states = [name for name, value in sorted(model.get_params().items()) if value is None and
                   (name == "random_state" or name.endswith("__random_state"))]  # fmt: skip
    return model.set_params(**{name: int(rng.integers(2**31)) for name in open_states})


def _check(method: Any, draws: int, share: float, X_test: Any, y_test: Any, truth: Any) -> None:
    if not callable(method) and method not in ("bootstrap", "resample"):
        raise ValueError(f"method must be 'bootstrap', 'resample' or a callable of a generator, but it is {method!r}.")
    if draws < 2:
        raise ValueError(f"draws must be at least 2, but it is {draws}.")
    if not 0 < share < 1:
        raise ValueError(f"share must be between 0 and 1, but it is {share}.")
    if X_test is None and callable(method):
        raise ValueError("X_test is needed, with y_test or truth, if method draws new training sets.")
    if X_test is not None and y_test is None and truth is None:
        raise ValueError("y_test is needed with X_test; or truth, where the expected y is known.")

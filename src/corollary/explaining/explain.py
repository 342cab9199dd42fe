"""``explain``: any fitted model that predicts a target, a pipeline too, shared out among the columns it was given."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from corollary.core.explanation import Explanation
from corollary.explaining.additive import Linear, explain_linear, explain_trees, trees_of
from corollary.explaining.frames import Rows
from corollary.explaining.sampled import explain_sampled
from corollary.tabular.columns import centre_of, feature_sources

_CENTRE = (
    "Coefficient × distance from the middle that the preparation keeps (means of numbers and dates, every category of "
    "a column alike, no words)"
)


class NothingKnownError(ValueError):
    """One row, of a model that keeps nothing to hold it against."""


def explain(model: Any, X: Any, *, background: Any = None, draws: int = 32, random_state: Any = 0) -> Explanation:
    r"""Share out each prediction among the columns of X, as Shapley values.

    .. math:: f(x_i) = \varphi_0 + \sum_j \varphi_{ij}

    Trees, forests and boosted trees: read off the trees, exactly (:func:`corollary.shap_values`). Linear models:
    :math:`\beta_j (x_{ij} - \bar x_j)`, exactly, of what they are linear in (log-odds, the logarithm of a count). Any
    other model (neighbours, naive Bayes, networks, votes, and those of scikit-learn): estimated. From a row of the
    background its columns are replaced one by one, in a random order and then in the opposite one, by those of the row
    that is explained; what a column adds is the mean of the changes when it came, and its standard error is known.

    Of a pipeline the last step is explained, and what its features add is summed by the columns that they came from;
    where these are not known, the pipeline as a whole is.

    Parameters
    ----------
    model : fitted classifier or regressor, or a pipeline that ends in one
    X : rows to explain, as for ``predict``
    background : rows, optional
        What stands for "not known". By default trees take the training rows that reach each node, neighbours the rows
        that they keep, linear models of ``compare`` the means that their preparation keeps, and all others the rows X
        themselves, of which there must be two at least.
    draws : int ≥ 4
        Orders of the columns that are tried for each row, where values are estimated.
    random_state : int, Generator or None
        Of the orders, and of the rows that are drawn from the background.

    Returns
    -------
    Explanation
        ``values`` (rows × columns, × outputs if there are several), ``to_frame()``, ``plot()``; ``str()`` is a
        sentence. Its certificate is how far the values are from adding up. Two classes have one output, that of the
        second.

    Cost: trees O(n · leaves · depth), linear models O(n · d), all others n · draws · d predictions.

    References
    ----------
    Shapley (1953), A value for n-person games. Castro, Gómez and Tejada (2009), Polynomial calculation of the Shapley
    value based on sampling. Mitchell, Cooper, Frank and Holmes (2022), Sampling permutations for Shapley value
    estimation.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import corollary
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    >>> why = corollary.explain(corollary.Ridge().fit(X, y), X)
    >>> why.certificate.holds, why.to_frame().shape
    (True, (442, 11))
    >>> print(why)
    Over 442 rows the prediction, 152 at its base, moves most with s5 (mean size 26.8), s1 (mean size 24.8) and ...
    """
    check_is_fitted(model)
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"explain is about predictions of a target, and {type(model).__name__} makes none.")
    if draws < 4:
        raise ValueError(f"draws must be ≥ 4, but it is {draws!r}.")
    rng = np.random.default_rng(random_state)
    way = _explain_pipeline if hasattr(model, "steps") else _explain_step
    with warnings.catch_warnings():  # rows are asked about many times, and most of them were made here
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return way(model, X, background, draws, rng)


def _explain_step(model: Any, X: Any, background: Any, draws: int, rng: np.random.Generator) -> Explanation:
    if trees_of(model):
        return explain_trees(model, X, background)
    if isinstance(model, Linear):
        return explain_linear(model, X, _known(model, X, background))
    return explain_sampled(model, X, _known(model, X, background), draws, rng)


def _explain_pipeline(model: Any, X: Any, background: Any, draws: int, rng: np.random.Generator) -> Explanation:
    """The last step on what it sees, by columns of the table; or the whole, if features cannot be traced back."""
    last, before = model[-1], model[:-1]
    sources = sources_of(model, X) if len(model) > 1 else None
    if len(model) == 1:
        return _explain_step(last, X, background, draws, rng)
    if sources is None:
        return explain_sampled(model, X, _known(model, X, background), draws, rng)
    rows, table = before.transform(X), Rows.of(X).as_pandas()
    seen = None if background is None else before.transform(background)
    if trees_of(last):
        return explain_trees(last, rows, seen).by_column(sources, table)
    centre = centre_of(model) if isinstance(last, Linear) and seen is None else None
    if centre is not None and not Rows.of(rows).framed:
        return explain_linear(last, rows, centre, _CENTRE).by_column(sources, table)
    known = _known(last, rows, seen)
    if isinstance(last, Linear):
        return explain_linear(last, rows, known).by_column(sources, table)
    return explain_sampled(last, rows, known, draws, rng, sources=sources, table=table)


def stands_alone(model: Any, X: Any) -> bool:
    """Whether a row of X gets the same explanation in any table, since the model knows what to hold it against."""
    last = model
    if hasattr(model, "steps"):
        if len(model) > 1 and sources_of(model, X) is None:
            return False
        last = model[-1]
    if trees_of(last) or _kept(last) is not None:
        return True
    return isinstance(last, Linear) and last is not model and centre_of(model) is not None


def sources_of(pipeline: Any, X: Any) -> list[str] | None:
    """For each feature that the last step sees, the column of the table that it came from; None if not known."""
    names = Rows.of(X).names
    try:
        made = [str(name) for name in pipeline[:-1].get_feature_names_out()]
    except (AttributeError, ValueError, TypeError):
        return None
    if made == names:  # scalers and imputers
        return names
    if len(pipeline) > 2:
        return None
    try:
        found = [str(source) for source in feature_sources(pipeline)]
    except (AttributeError, ValueError, TypeError, KeyError, IndexError):
        return None
    return found if len(found) == len(made) and set(found) <= set(names) else None


def _known(model: Any, X: Any, background: Any) -> Any:
    """The rows that stand for "not known"."""
    if background is not None:
        return background
    if (kept := _kept(model)) is not None:
        return kept
    if Rows.of(X).count < 2:
        raise NothingKnownError(
            "One row has nothing to be held against: pass background=, for instance rows that the model was fitted to."
        )
    return X


def _kept(model: Any) -> Any:
    """Rows of its fit that the model keeps, as neighbours do."""
    return None if getattr(model, "metric", None) == "precomputed" else getattr(model, "_fit_X", None)

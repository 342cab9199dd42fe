"""Naive Bayes of columns of any kinds."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from corollary.base import assigning, predicting
from corollary.bayes.base import SHARED, NaiveBayes
from corollary.bayes.claims import judge
from corollary.bayes.kinds import KINDS, STATISTICS, check_statistics, claims, encoded, groups_of, kinds_of, smoothed
from corollary.bayes.training import Training, learnt_or_given
from corollary.core.distribution import Columns, Distribution
from corollary.core.distribution.columns import Several
from corollary.core.door.reach import largest_seen, refuse_columns
from corollary.core.fitted import Anything, Fitted, Floats, Integers, Names
from corollary.core.limits import CLASS_WEIGHT, Boolean, Choice, Instance, Limit, Real
from corollary.core.limits import ArrayLike as Numbers
from corollary.core.types import Array
from corollary.referee.bayes import Group
from corollary.referee.verdict import Verification
from corollary.solvers.em.mixture import MixtureSummary, Weighted
from corollary.tables import TableReader


class MixedNB(NaiveBayes, TableReader):
    r"""Naive Bayes of columns of different kinds: in each class, every column has a distribution of its own.

    .. math:: \max_{\pi, \theta} \sum_i w_i \Big( \log \pi_{y_i} + \sum_j \log p_j(x_{ij}; \theta_{y_i j}) \Big)
              + \text{smoothing}

    A column is "gaussian", "bernoulli" (zeros and ones), "categorical", "poisson" (counts), "exponential" (times), or
    one of the "multinomial" ones (counts of things, all such columns together). What is missing is left out, in
    learning and in predictions (not of multinomial columns), and so is a category that was not there in training.

    Parameters
    ----------
    columns : dict or None
        Kinds of columns by name or number. Of all others (None: of all) the table decides: in a pandas or polars frame
        categories and text are categorical, booleans are Bernoulli, and numbers are Gaussian, as in an array.
    alpha : float ≥ 0, default 1.0
        Counts that are added to each category, to zeros and ones, and to multinomial columns, in each class; and the
        number of rows of the mean of the column that are added to counts and times.
    var_smoothing : float ≥ 0, default 1e-9
        What is added to variances, over the largest variance of a Gaussian column.
    fit_prior : bool, default True
        Whether the probabilities of the classes are their shares; if not, all are the same.
    class_prior : array of shape (k,) or None
        Probabilities of the classes, if they are not to be learnt.
    class_weight : {"balanced"}, dict or None
        Weights of classes, which multiply those of rows.
    unknown : a label or None
        A label in y that stands for "not known", such as −1: the classes of these rows are averaged over by EM. With
        None every label is a class, −1 too.
    tol : float ≥ 0, default 1e-6
        EM ends when its next step is not longer than this; for ``unknown`` labels only.
    max_iter : int ≥ 1, default 1000
        The most iterations of EM.
    n_jobs : int or None
        Threads, in fit and in predictions; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    classes_ : array of shape (k,)
    class_count_, class_log_prior_ : arrays of shape (k,)
        The weight of the rows of each class (if labels are unknown: that is expected), and the logarithm of its
        probability.
    kinds_ : array of shape (d,)
        The kind of each column.
    categories_ : dict of arrays
        The categories of categorical columns, by the number of the column.
    n_categories_ : array of shape (d,)
        How many they are; 1 for other columns.
    params_ : dict of arrays
        Parameters by kind and name, in the order of the columns of that kind: ``"gaussian.mean"``,
        ``"gaussian.variance"``, ``"bernoulli.log_one"``, ``"categorical.log"``, ``"poisson.rate"``, …
    statistics_ : dict of arrays
        What the rows contributed to them, for ``partial_fit``.
    n_iter_ : int
        Iterations of EM; 1 where every label is known.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Two or three passes over X, O(n d) each; extra memory: a copy of X (columns of a kind are put together),
    the parameters a thread and three numbers a row.

    *Evidence.* Exact: sums are taken once more; the largest relative error. With unknown labels, stationary: the length
    of the next step of EM, with the log-likelihood of each iteration in the history.

    References
    ----------
    A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
    *J. Royal Statistical Society B* 39, 1977.

    Examples
    --------
    >>> import pandas as pd
    >>> from corollary.bayes import MixedNB
    >>> patients = pd.DataFrame({
    ...     "temperature": [36.6, 39.1, 36.9, 38.7], "cough": [False, True, False, True],
    ...     "ward": ["a", "b", "a", None], "visits": [0, 3, 1, 2],
    ... })
    >>> model = MixedNB(columns={"visits": "poisson"}).fit(patients, ["well", "ill", "well", "ill"])
    >>> model.kinds_.tolist()
    ['gaussian', 'bernoulli', 'categorical', 'poisson']
    >>> model.predict(patients).tolist(), model.evidence_.holds
    (['well', 'ill', 'well', 'ill'], True)
    """

    limits: ClassVar[dict[str, Limit]] = {
        "columns": Choice(None) | Instance("a dict of kinds by column", dict),
        "alpha": Real(0, finite=True),
        "var_smoothing": Real(0, 1e300),
        "fit_prior": Boolean(),
        "class_prior": Choice(None) | Numbers(),
        "class_weight": CLASS_WEIGHT,
        **SHARED,
    }
    fitted: ClassVar[dict[str, Fitted]] = {
        "class_log_prior_": Floats("k", high=1e-9, finite=False),
        "kinds_": Names("d"),
        "n_categories_": Integers("d", low=1),
        "params_": Anything(dict),
        "statistics_": Anything(dict),
    }
    _options: ClassVar[dict[str, Any]] = {"ensure_all_finite": "allow-nan"}

    columns: dict[Any, str] | None
    alpha: float
    var_smoothing: float
    fit_prior: bool
    class_prior: Any
    class_log_prior_: Array
    kinds_: Array
    n_categories_: Array
    params_: dict[str, Array]
    statistics_: dict[str, Array]

    @assigning
    def __init__(
        self,
        *,
        columns: dict[Any, str] | None = None,
        alpha: float = 1.0,
        var_smoothing: float = 1e-9,
        fit_prior: bool = True,
        class_prior: Any = None,
        class_weight: Any = None,
        unknown: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
    ) -> None: ...

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        return tags

    def _read(self, X: Any, y: Any, sample_weight: Any, **options: Any) -> tuple[Any, Array, Array]:
        if issparse(X):
            raise TypeError("MixedNB takes no sparse X, but dense data is required: use X.toarray().")
        known = None if options.get("reset", True) else (self.kinds_, self.categories_)
        if known is not None:
            self._read_predict(X)  # names and number of columns
        self.kinds_ = kinds_of(X, self.columns) if known is None else known[0]
        if not len(self.kinds_):
            self._validate_fit(X, y, sparse=False)  # refuses
        chosen = np.flatnonzero(self.kinds_ == "categorical").tolist()
        rows, y, weights, _ = self._read_fit(X, y, sample_weight, categorical=chosen, y_numeric=False)
        if issparse(rows):
            rows = rows.toarray()
        if known is None:
            self.n_categories_ = np.array([max(len(self.categories_.get(f, ())), 1) for f in range(rows.shape[1])])
            return rows, y, weights
        for f, seen in self.categories_.items():
            if not np.isin(seen, known[1][f]).all():
                strange = seen[~np.isin(seen, known[1][f])].tolist()[0]
                raise ValueError(
                    f"Column {f} has the category {strange!r}, which the first call to partial_fit had not: all must "
                    "be in that one, since smoothing counts them."
                )
        self.categories_ = known[1]
        return self._read_predict(X), y, weights

    def _read_new(self, X: Any) -> Any:
        if issparse(X):
            raise TypeError("MixedNB takes no sparse X, but dense data is required: use X.toarray().")
        rows = self._read_predict(X)
        self._product().check(rows)
        return rows

    def _blocks(self, blocks: Any) -> Any:
        """Blocks of numbers: one pass more finds the categories."""
        self.kinds_ = kinds_of(next(iter(blocks))[0], self.columns)
        chosen = np.flatnonzero(self.kinds_ == "categorical").tolist()
        source = super()._blocks(blocks)
        found: dict[int, Array] = {f: np.empty(0) for f in chosen}
        for X, _, weights in source if chosen else ():
            for f in chosen:
                column = X[weights > 0, f]
                found[f] = np.union1d(found[f], column[~np.isnan(column)])
        self.categories_ = found
        self.n_categories_ = np.array([max(len(found.get(f, ())), 1) for f in range(len(self.kinds_))])
        return source.map(self._encoded) if chosen else source

    def _encoded(self, block: tuple[Any, ...]) -> tuple[Any, ...]:
        X, y, weights = block
        return encoded(X, self.categories_), y, weights

    def _product(self, alpha: float = 0.0) -> Columns:
        return groups_of(self.kinds_, self.n_categories_, alpha)

    def _distribution(self, training: Training) -> Distribution:
        product = self._product(self.alpha * self._weight_unit)
        normal = np.flatnonzero(self.kinds_ == "gaussian")
        for X, _, _ in training.source:
            product.check(X)
            if len(normal):
                refuse_columns(np.nan_to_num(largest_seen(X), nan=1.0)[normal])
        return product

    def _smoothed(self, distribution: Distribution, statistics: Any) -> Distribution:
        assert isinstance(distribution, Columns)
        return smoothed(distribution, statistics, self.alpha * self._weight_unit, self.var_smoothing)

    def _fixed_prior(self, k: int) -> Array | None:
        return learnt_or_given(self.class_prior, self.fit_prior, k)

    def _keep(self, distribution: Distribution, summary: MixtureSummary, found: Weighted) -> None:
        assert isinstance(distribution, Columns)
        names = [part.name for _, part in distribution.groups]
        self.class_count_, self.class_log_prior_ = summary.counts, found.log_weights
        self.params_ = {f"{names[int(key.split('.')[0])]}.{key.split('.', 1)[1]}": v for key, v in found.params.items()}
        self.statistics_ = {
            f"{name}.{field.name}": np.array(getattr(own, field.name))
            for name, own in zip(names, summary.statistics.parts, strict=True)
            for field in fields(own)
            if field.name != "counts"
        }

    def _named(self) -> dict[str, Array]:
        """Parameters by the numbers of groups, as the distribution has them."""
        names = {part.name: number for number, (_, part) in enumerate(self._product().groups)}
        return {f"{names[key.split('.')[0]]}.{key.split('.', 1)[1]}": value for key, value in self.params_.items()}

    def _kept(self) -> tuple[Distribution, MixtureSummary]:
        parts = []
        for _, part in self._product().groups:
            head = f"{part.name}."
            own = {key[len(head) :]: value for key, value in self.statistics_.items() if key.startswith(head)}
            parts.append(STATISTICS[part.name](counts=self.class_count_, **own))
        return self._product(), MixtureSummary(self.class_count_, Several(tuple(parts)))

    @property
    def _log_prior(self) -> Array:
        return self.class_log_prior_

    def _joint(self, X: Any) -> Array:
        return self._product().log_prob(X, self._named()) + self.class_log_prior_

    @predicting
    def log_odds(self) -> tuple[Array, Array]:
        """(coef, intercept): scores x · coef + intercept, whose largest is the predicted class; as in MultinomialNB.

        Only of models whose columns are all Bernoulli, Poisson, exponential or multinomial: others are not linear.
        """
        form = self._product().linear_form(self._named())
        if form is None:
            curved = sorted(set(self.kinds_.tolist()) & {"gaussian", "categorical"})
            raise ValueError(f"MixedNB: log_odds is not linear in columns that are {' or '.join(curved)}.")
        coef, intercept = form[0], form[1] + self.class_log_prior_
        if len(self.classes_) == 2:
            return coef[1] - coef[0], np.asarray(intercept[1] - intercept[0])
        return coef, intercept

    def _groups(self, X: Any, codes: Array, weights: Array, unit: float) -> tuple[list[Group], dict[str, Any]]:
        """What is claimed of the columns, for the referee."""
        return claims(
            self._product(), self.params_, self.statistics_, X, weights, self.alpha * unit, self.var_smoothing
        )

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        return judge(self, X, y, sample_weight)

    def _check_state(self) -> None:
        kinds = set(self.kinds_.tolist())
        if not kinds <= set(KINDS):
            raise ValueError(f"kinds_ must be of {', '.join(KINDS)}, but some are not")
        chosen = set(np.flatnonzero(self.kinds_ == "categorical").tolist())
        sizes = [max(len(self.categories_[f]), 1) if f in chosen else 1 for f in range(len(self.kinds_))]
        if set(self.categories_) != chosen or sizes != self.n_categories_.tolist():
            raise ValueError("categories_ and n_categories_ are not those of the columns that are categorical")
        if any(
            not isinstance(key, str) or key.split(".")[0] not in kinds for key in (*self.params_, *self.statistics_)
        ):
            raise ValueError("params_ and statistics_ must be named by kinds of columns")
        product, k = self._product(), len(self.classes_)
        product.check_params(self._named(), k, len(self.kinds_))
        check_statistics(product, self.statistics_, k)

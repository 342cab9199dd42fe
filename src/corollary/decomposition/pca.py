"""Principal component analysis."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from corollary.base import assigning, check_weights, fitting
from corollary.core.blocks import as_blocks
from corollary.core.door.weights import within_reach
from corollary.core.evidence import Evidence, Kind
from corollary.core.fitted import Fitted, Floats, Maybe, Number
from corollary.core.limits import N_JOBS, RANDOM_STATE, Boolean, Choice, Integer, Limit, Real
from corollary.core.memory import check_memory
from corollary.core.summary import Moments
from corollary.core.types import Array
from corollary.decomposition.components import ComponentModel
from corollary.decomposition.dimension import by_evidence, by_share
from corollary.referee.spectrum import principal_components
from corollary.referee.verdict import Verification
from corollary.solvers.pca.blocks import CentredBlocks
from corollary.solvers.pca.centred import centred
from corollary.solvers.pca.rows import CentredRows
from corollary.solvers.pca.spectrum import NAMES, Choose, by_covariance, find_spectrum

SOLVERS = ("auto", "full", "covariance_eigh", "arpack", "randomized")
ITERATIVE = ("arpack", "randomized")
NO_MORE_THAN_ONE = (
    "sample_weight sums to {:.3g}: a weight counts how many times a row is there, and a variance needs more than one "
    "row. Multiply the weights so that they sum to the number of rows."
)
FULL_IS_DENSE = (
    'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while "full" was passed, or with '
    '"auto" and "randomized": a full decomposition of sparse rows is dense.'
)
FORGOTTEN = ("The rows of the earlier fit are not part of this: only partial_fit keeps what can be added to.",)


class PCA(ComponentModel):
    r"""Principal components: the orthogonal directions along which rows vary most.

    .. math:: \min_{m, V^\top V = I} \sum_i w_i \, \lVert x_i - m - V V^\top (x_i - m) \rVert^2

    m is the mean, and the k columns of V are the leading eigenvectors of the covariance. No other plane, nor any linear
    autoencoder with k hidden units, reconstructs the rows with a smaller squared error.

    Parameters
    ----------
    n_components : int ≥ 0, float in (0, 1), "mle" or None, default=None
        How many; or the share of the variance that they must exceed; or the number of greatest evidence (Minka); or
        None for min(n, d), with "arpack" one less, which is the most that it takes.
    copy : bool, default=True
        Accepted for compatibility; X is never overwritten, and only copied if it has fewer rows than columns.
    whiten : bool, default=False
        Divide each coordinate by its standard deviation.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        "covariance_eigh" takes one pass over X and a d × d matrix. "full" takes a triangular factor of dense X by
        blocks, which keeps the digits of eigenvalues below 10⁻⁹ of the first. "randomized" and "arpack" are block
        Lanczos iteration, from a random start until the residuals hold, the second one to rounding. "auto" chooses by
        shape, and by conditioning once the covariance is known.
    tol : float ≥ 0, default=0.0
        Iteration ends at eigen-residuals of ``tol`` λ₁; 0 is 10⁻¹¹ for "arpack" and 10⁻⁷ else (eigenvalues are then
        exact to about 10⁻¹⁴). The certificate holds for sines of angles up to 10⁴ ``tol``, and 10⁻⁵ at least.
    iterated_power : int ≥ 0 or "auto", default="auto"
        The most steps of an iteration, of which there is at least one; "auto" is as many as it takes.
    n_oversamples : int ≥ 1, default=10
        Directions that an iteration follows beyond those asked for.
    power_iteration_normalizer : default="auto"
        Accepted for compatibility; every step is orthonormalised.
    random_state : int, RandomState or None
        Seeds the start of an iteration.
    n_jobs : int or None
        Threads, in fit, transform and score; None means all usable cores. The answer does not depend on it.

    Attributes
    ----------
    components_ : array of shape (k, d)
        Unit rows, by falling variance; the entry of largest size of each is positive.
    explained_variance_, explained_variance_ratio_, singular_values_ : arrays of shape (k,)
    mean_ : array of shape (d,)
    n_components_ : int
    n_samples_ : int
        Rows of positive weight.
    noise_variance_ : float
        Mean variance along the other directions.
    evidence_ : Evidence
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    *Cost.* Covariance: n d² + 9 d³ operations, one pass, memory of a d × d matrix for each thread. Factor: 2 n d² or a
    little more. Iteration: 4 n d (k + 10) for each pass, usually 5 to 10 passes. Sparse X is not densified. Blocks are
    read once to count their rows, and once more for each pass; no more than one is in memory.

    *Evidence.* A bound on the sine of the angle between each component and the true one: ‖C v − λ v‖, measured again
    after the solver is done (for iteration by another pass over X) with what rounding can add, over the distance from λ
    to the other eigenvalues (Davis and Kahan). Where variances are too close for that, a note names these components
    and the bound is for their span; what cannot be told from zero is named, too. Direct solvers find all eigenpairs, so
    theirs are the leading ones: the claim is *exact*. Iteration claims *stationary*: each pair is one, but residuals do
    not show that no larger one was missed. A bound on what any other directions could add is in the facts; it is small
    where little variance is left over.

    References
    ----------
    C. Davis and W. M. Kahan, "The rotation of eigenvectors by a perturbation. III", *SIAM J. Numer. Anal.* 7, 1970.
    M. E. Tipping and C. M. Bishop, "Probabilistic principal component analysis", *JRSS B* 61, 1999. T. P. Minka,
    "Automatic choice of dimensionality for PCA", *NIPS* 2000. C. Musco and C. Musco, "Randomized block Krylov methods
    for stronger and faster approximate singular value decomposition", *NIPS* 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.decomposition import PCA
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    >>> model = PCA(n_components=1).fit(X)
    >>> model.components_.round(3), model.explained_variance_ratio_.round(6)
    (array([[0.447, 0.894]]), array([1.]))
    >>> model.evidence_.holds
    True
    """

    fitted: ClassVar[dict[str, Fitted]] = {
        "_weight": Maybe(Number(low=0)),
        "_scatter": Maybe(Floats("d", "d")),
        "_mean_rest": Maybe(Floats("d")),
    }
    limits: ClassVar[dict[str, Limit]] = {
        "n_components": Choice(None, "mle") | Integer(0) | Real(0, 1, above=True),
        "copy": Boolean(),
        "whiten": Boolean(),
        "svd_solver": Choice(*SOLVERS),
        "tol": Real(0),
        "iterated_power": Choice("auto") | Integer(0),
        "n_oversamples": Integer(1),
        "power_iteration_normalizer": Choice("auto", "QR", "LU", "none"),
        "random_state": RANDOM_STATE,
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        n_components: Any = None,
        *,
        copy: bool = True,
        whiten: bool = False,
        svd_solver: str = "auto",
        tol: float = 0.0,
        iterated_power: int | str = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None: ...

    _weight: float
    _scatter: Array
    _mean_rest: Array

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @fitting
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCA:
        """Find the components of X (n × d, dense or sparse); ``sample_weight`` w counts a row w times. y is ignored.

        X may also be :class:`Blocks` of X or (X, y, sample_weight), which are read anew for every pass.
        """
        rows = self._centred(X, sample_weight)
        if rows.total <= 1.0:
            raise ValueError(NO_MORE_THAN_ONE.format(rows.total / self._weight_unit))
        most = min(rows.shape[1], max(rows.count, int(rows.total)))
        wanted = self._wanted(most, rows.total, rows.shape)
        steps = 0 if self.iterated_power == "auto" else max(int(self.iterated_power), 1)
        observe = self._observer(
            getattr(rows, "X", None), None, steps or 200, lambda pairs: self._snapshot(rows, pairs)
        )
        random = check_random_state(self.random_state)
        found = find_spectrum(rows, wanted, self.svd_solver, self.tol, random, int(self.n_oversamples), steps, observe)
        for name in ("_scatter", "_mean_rest", "_weight"):
            self.__dict__.pop(name, None)
        self.__dict__.update(_attributes(found.values, found.vectors, rows, most))
        self.n_samples_ = rows.count
        share = float(self.explained_variance_ratio_.sum())
        facts = {"passes over X": float(rows.passes), "share of the variance": share}
        evidence = _rounded(found.evidence, found.vectors, self.components_)
        self._keep_evidence(replace(evidence, facts={**facts, **evidence.facts}))
        return self

    @property
    def _fit_svd_solver(self) -> str:
        """What scikit-learn calls the way that was taken; ``evidence_.solver`` says more."""
        taken = {NAMES["covariance"]: "covariance_eigh", NAMES["triangle"]: "full", NAMES["copy"]: "full"}
        return taken.get(self.evidence_.solver, self.svd_solver if self.svd_solver == "arpack" else "randomized")

    def _check_state(self) -> None:
        if "_scatter" in vars(self) and "_weight" not in vars(self):
            raise ValueError("_scatter is what is kept of blocks so far, but _weight, how much they weigh, is missing.")

    def _referee(self, X: Any, y: Any, sample_weight: Any) -> Verification:
        X, certificate = self._validate_predict(X), self.evidence_.certificate
        weights, leading = within_reach(check_weights(sample_weight, X))[0], certificate.kind is Kind.EXACT
        told = {name: getattr(self, name) for name in DELIVERED}
        left = self.evidence_.facts.get("largest eigen-residual over the first eigenvalue", 0.0)
        return principal_components(X, weights, told, certificate.tolerance, leading, left)

    def _centred(self, X: Any, sample_weight: Any) -> CentredRows:
        """Checked rows about their mean."""
        blocks = as_blocks(X, None, sample_weight)
        if blocks is not None:
            return CentredBlocks(self._validate_blocks(blocks, target=False))
        if self.svd_solver == "full" and hasattr(X, "tocsr"):
            raise TypeError(FULL_IS_DENSE)
        # a value that is not finite shows in the sums, so no pass over X is spent on looking for one
        X, weights = self._validate_rows(X, sample_weight, ensure_min_samples=2, ensure_all_finite=False)
        return centred(X, None if sample_weight is None else weights)

    @fitting
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> PCA:
        """Add a block of rows: the components are then those of all rows so far, however they were cut into blocks.

        What is kept is the d × d matrix of centred second moments, so nothing is forgotten and nothing approximated.
        ``fit`` does not keep it: the first block after a ``fit`` begins anew.
        """
        first = not hasattr(self, "_scatter")
        X, weights = self._validate_rows(X, sample_weight, reset=first, ensure_all_finite=False)
        rows = centred(X, None if sample_weight is None else weights)
        check_memory(32 * rows.shape[1] ** 2, "The second moments of these columns", "use fit with n_components")
        origin = rows.centre
        moments = rows.scatter()
        if rows.unit != 1.0:
            raise ValueError("Squares of these rows overflow or vanish in float64. Rescale the columns of every block.")
        notes = FORGOTTEN if first and hasattr(self, "components_") else ()
        if not first:
            # means are counted from the old one, which is kept with the digits that float64 has no room for
            moments = replace(moments, mean_x=moments.mean_x + (origin - self.mean_))
            moments, rows.count, origin = self._earlier() + moments, rows.count + self.n_samples_, self.mean_
            rows.total, rows.squares = moments.weight, float(np.trace(moments.xx))
            rows.centre = origin + moments.mean_x
        self._observer(X, None, 1, lambda state: None)
        most = min(rows.shape[1], max(rows.count, int(rows.total)))
        wanted = self._wanted(most, rows.total, (rows.count, rows.shape[1]), growing=True)
        found = by_covariance(moments.xx, wanted, self.tol, rows.count)
        self.__dict__.update(_attributes(found.values, found.vectors, rows, most))
        self.n_samples_, self._weight, self._scatter = rows.count, moments.weight, moments.xx
        self._mean_rest = (origin - self.mean_) + moments.mean_x
        evidence = _rounded(found.evidence, found.vectors, self.components_)
        facts = {**evidence.facts, "rows": float(rows.count)}
        self._keep_evidence(replace(evidence, facts=facts, notes=notes + evidence.notes))
        return self

    def _earlier(self) -> Moments:
        """What is kept of the blocks so far; the mean is counted from ``mean_``."""
        empty, d = np.zeros(0), len(self.mean_)
        rest = getattr(self, "_mean_rest", np.zeros(d))  # files of earlier versions have none
        return Moments(self._weight, rest, empty, self._scatter, np.zeros((d, 0)), empty)

    def _wanted(self, most: int, total: float, shape: tuple[int, int], *, growing: bool = False) -> int | Choose:
        """The number of components, or the rule that finds it from the whole spectrum."""
        solver = "covariance_eigh" if growing else self.svd_solver
        wanted = self.n_components
        if wanted is None:
            wanted = most - 1 if solver == "arpack" else most
        if isinstance(wanted, str):
            self._check_evidence(solver, shape, growing)
            return lambda values, d: min(by_evidence(values[:d], total), most)
        if isinstance(wanted, numbers.Integral):
            if not growing:
                _check_number(int(wanted), most, solver, shape)
            return min(int(wanted), most)
        share = float(wanted)
        return lambda values, d: min(by_share(values, share), most)

    @staticmethod
    def _check_evidence(solver: str, shape: tuple[int, int], growing: bool) -> None:
        if solver in ITERATIVE:
            raise ValueError(
                f"n_components='mle' cannot be a string with svd_solver='{solver}', which finds a given number of "
                "components: use 'auto', 'full' or 'covariance_eigh'."
            )
        if shape[0] < shape[1] and not growing:
            raise ValueError(
                f"n_components='mle' is only supported if n_samples >= n_features, but X has {shape[0]} rows and "
                f"{shape[1]} columns."
            )

    def _snapshot(self, rows: CentredRows, pairs: Any) -> dict[str, Any] | None:
        """The attributes of a working model of an iteration that goes on."""
        if rows.shape[0] < rows.shape[1]:
            return None
        return _attributes(np.maximum(pairs.values, 0.0), pairs.vectors.T, rows, min(rows.shape))


DELIVERED = (
    "components_",
    "mean_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "noise_variance_",
)


def _check_number(wanted: int, most: int, solver: str, shape: tuple[int, int]) -> None:
    """Refuse a number of components that rows of this shape, or the solver, cannot have."""
    least, direct = (1 if solver in ITERATIVE else 0), "full" if solver == "auto" else solver
    size = f"X has {shape[0]} rows and {shape[1]} columns"
    ends = f"min(n_samples, n_features)={most} with svd_solver='{direct}': {size}"
    if not least <= wanted <= most:
        raise ValueError(f"n_components={wanted} must be between {least} and {ends}.")
    if solver == "arpack" and wanted == most:
        raise ValueError(f"n_components={wanted} must be strictly less than {ends}. Use 'auto' for all components.")


def _rounded(evidence: Evidence, vectors: Array, kept: Array) -> Evidence:
    """The evidence of the components that are kept, which may be rounded to float32."""
    moved = float(np.linalg.norm(kept - vectors, axis=1).max(initial=0.0))
    certificate = evidence.certificate
    return replace(evidence, certificate=replace(certificate, value=certificate.value + moved))


def _short(values: Array, dtype: Any) -> Array:
    """The numbers in the type of X, unless they would leave its range: squares of float32 do so early."""
    with np.errstate(over="ignore", under="ignore"):
        short = values.astype(dtype, copy=False)
        return short if (np.abs(short - values) <= 1e-6 * values).all() else values


def _attributes(eigenvalues: Array, vectors: Array, rows: CentredRows, most: int) -> dict[str, Any]:
    """Fitted attributes from eigenvalues of AᵀA (in units squared) and unit vectors (k × d)."""
    k, total, squares, unit, dtype = len(vectors), rows.total, rows.squares, rows.unit, rows.dtype
    values = np.zeros(k)
    values[: min(k, len(eigenvalues))] = eigenvalues[:k]
    if len(eigenvalues) >= min(most, rows.count):  # so many rows have no more directions than that
        rest = float(eigenvalues[k:].sum())
    else:
        rest = max(squares - float(values.sum()), 0.0)
    freedom = max(total - 1.0, np.finfo(float).tiny) if total > 1.0 else np.inf
    with np.errstate(over="ignore", under="ignore"):
        variance, noise = values / freedom / unit / unit, rest / max(most - k, 1) / freedom / unit / unit
    if not (np.isfinite(variance).all() and np.isfinite(noise)):
        raise ValueError(
            f"The variance of these rows, {float(squares / freedom):.3g} / {unit:.3g}², is too large for float64. "
            "Divide X by a constant."
        )
    return {
        "components_": vectors.astype(dtype, copy=False),
        "explained_variance_": _short(variance, dtype),
        "explained_variance_ratio_": _short(values / (squares or 1.0), dtype),
        "singular_values_": _short(np.sqrt(values) / unit, dtype),
        "mean_": rows.centre,
        "n_components_": k,
        "noise_variance_": np.float64(noise if k < most else 0.0),
    }

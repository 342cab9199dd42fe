"""The closed table of everything public: where it lives, what it is for, which entry of the canon it is.

One table serves four readers: the lazy ``import corollary``, ``corollary.all_estimators()``, ``corollary compare``
(a family joins by adding its lines here), and ``corollary.load`` (a model file can name these classes and no others).
It holds strings only, so reading it imports nothing.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from corollary.spaces import Space


@dataclass(frozen=True)
class Entry:
    """One estimator of the library.

    ``task`` is ``"regression"``, ``"classification"``, ``"clustering"``, ``"transform"``, ``"density"`` or
    ``"neighbors"``; an estimator that does two has two tasks. ``compare`` maps a task to the preset from which
    ``corollary compare`` tries it (``"fast"`` models are also in ``"full"``); ``arguments`` are what compare constructs
    it with.
    """

    name: str
    module: str
    canon: str
    tasks: tuple[str, ...]
    compare: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)

    def load(self) -> type[Any]:
        """Import the class."""
        cls: type[Any] = getattr(importlib.import_module(f"corollary.{self.module}"), self.name)
        return cls

    def space(self, rows: int) -> Space:
        """What ``corollary compare`` tries of it on a table of so many rows."""
        from corollary.spaces import SMALL, SMALL_SPACES, SPACES, Space

        small = SMALL_SPACES.get(self.name) if rows < SMALL else None
        return small or SPACES.get(self.name, Space())

    @property
    def family(self) -> str:
        """The package it lives in, for instance ``"linear"``."""
        return self.module.split(".")[0]

    @property
    def capabilities(self) -> frozenset[str]:
        """What it can do, read from its scikit-learn tags and its methods (imports the class).

        Any of: ``sparse``, ``missing``, ``categories``, ``multi_output``, ``sample_weight``, ``class_weight``,
        ``probabilities``, ``incremental``, ``path``.
        """
        from sklearn.utils import get_tags
        from sklearn.utils.validation import has_fit_parameter

        cls = self.load()
        model = cls()
        tags = get_tags(model)
        found = {
            "sparse": tags.input_tags.sparse,
            "missing": tags.input_tags.allow_nan,
            "categories": "categorical_features" in model.get_params(deep=False)
            or tags.input_tags.categorical
            or tags.input_tags.string,
            "multi_output": tags.target_tags.multi_output,
            "sample_weight": has_fit_parameter(model, "sample_weight"),
            "class_weight": "class_weight" in model.get_params(deep=False),
            "probabilities": hasattr(cls, "predict_proba"),
            "incremental": hasattr(cls, "partial_fit"),
            "path": hasattr(cls, "path"),
        }
        return frozenset(name for name, has in found.items() if has)


def _table() -> Iterator[Entry]:
    reg, cla, clu = ("regression",), ("classification",), ("clustering",)
    yield Entry("LinearRegression", "linear.linear_regression", "L1", reg, "fast")
    yield Entry("Ridge", "linear.ridge", "L2", reg)
    yield Entry("RidgeCV", "linear.ridge_cv", "L2", reg, "fast")
    yield Entry("Lasso", "linear.lasso", "L3", reg)
    yield Entry("ElasticNet", "linear.lasso", "L3", reg)
    yield Entry("LassoCV", "linear.lasso_cv", "L3", reg, "fast")
    yield Entry("ElasticNetCV", "linear.lasso_cv", "L3", reg, "full", {"l1_ratio": [0.5, 0.9, 0.99], "eps": 1e-4})
    yield Entry("HuberRegressor", "linear.huber", "L5", reg, "fast")
    yield Entry("LogisticRegression", "linear.logistic", "L9", cla, "fast")
    ranked = {"scoring": "neg_log_loss", "l1_ratios": (0.0,), "use_legacy_attributes": False}
    yield Entry("LogisticRegressionCV", "linear.logistic_cv", "L9", cla, "full", ranked)
    yield Entry("LinearModel", "linear.linear_model", "L13", (*reg, *cla), None)
    yield Entry("CostSensitiveClassifier", "bayes.cost_sensitive", "B6", cla)
    yield Entry("DecisionStump", "tree.stump", "T1", cla)
    yield Entry("DecisionTreeClassifier", "tree.decision_tree", "T1", cla, "full", {"min_samples_leaf": 10})
    yield Entry("DecisionTreeRegressor", "tree.decision_tree", "T1", reg, "full", {"min_samples_leaf": 10})
    yield Entry("RandomForestClassifier", "ensemble.forest.random_forest", "T2", cla, "fast")
    yield Entry("RandomForestRegressor", "ensemble.forest.random_forest", "T2", reg, "fast")
    yield Entry("ExtraTreesClassifier", "ensemble.forest.extra_trees", "T2", cla, "full")
    yield Entry("ExtraTreesRegressor", "ensemble.forest.extra_trees", "T2", reg, "full")
    yield Entry("BaggingClassifier", "ensemble.combine.bagging.bagging", "T3", cla)
    yield Entry("BaggingRegressor", "ensemble.combine.bagging.bagging", "T3", reg)
    yield Entry("AdaBoostClassifier", "ensemble.adaboost.adaboost", "T4", cla, "full", {"n_estimators": 200})
    yield Entry("GradientBoostingClassifier", "ensemble.boosting.gradient_boosting", "T5", cla, "fast")
    yield Entry("GradientBoostingRegressor", "ensemble.boosting.gradient_boosting", "T5", reg, "fast")
    yield Entry("VotingClassifier", "ensemble.combine.voting", "T6", cla)
    yield Entry("VotingRegressor", "ensemble.combine.voting", "T6", reg)
    yield Entry("BlendingClassifier", "ensemble.combine.blending", "T6", cla)
    yield Entry("BlendingRegressor", "ensemble.combine.blending", "T6", reg)
    yield Entry("StackingClassifier", "ensemble.combine.stacking", "T6", cla)
    yield Entry("StackingRegressor", "ensemble.combine.stacking", "T6", reg)
    yield Entry("HaarFeatures", "ensemble.cascade.haar", "T7", ("transform",))
    yield Entry("CascadeClassifier", "ensemble.cascade.cascade", "T7", cla)
    yield Entry("GaussianNB", "bayes.gaussian", "B3", cla, "fast")
    yield Entry("BernoulliNB", "bayes.bernoulli", "B3", cla)
    yield Entry("MultinomialNB", "bayes.multinomial", "B3", cla)
    yield Entry("CategoricalNB", "bayes.categorical", "B3", cla)
    yield Entry("MixedNB", "bayes.mixed", "B3", cla)
    yield Entry("NearestNeighbors", "neighbors.nearest_neighbors", "N1", ("neighbors",))
    yield Entry("KNeighborsClassifier", "neighbors.k_neighbors", "N1", cla, "full")
    yield Entry("KNeighborsRegressor", "neighbors.k_neighbors", "N1", reg, "full")
    yield Entry("KMeans", "cluster.kmeans", "C1", (*clu, "transform"))
    yield Entry("MiniBatchKMeans", "cluster.mini_batch_kmeans", "C1", (*clu, "transform"))
    yield Entry("SoftKMeans", "cluster.soft_kmeans", "C2", clu)
    yield Entry("KMedoids", "cluster.kmedoids", "C3", (*clu, "transform"))
    yield Entry("AgglomerativeClustering", "cluster.agglomerative", "C5", clu)
    yield Entry("SpectralClustering", "cluster.spectral", "C6", clu)
    yield Entry("GaussianMixture", "mixture.gaussian_mixture", "C7", (*clu, "density"))
    yield Entry("Mixture", "mixture.mixture", "C8", (*clu, "density"))
    yield Entry("PCA", "decomposition.pca", "P1", ("transform",))
    yield Entry("BayesianNetwork", "graphical.network", "G1", ("density",))
    yield Entry("ChowLiu", "graphical.chow_liu", "G6", ("density",))
    yield Entry("TreeAugmentedNB", "graphical.tan", "G6", cla, "full")
    yield Entry("HillClimb", "graphical.hill_climb", "G6", ("density",))
    yield Entry("BayesianNetworkClassifier", "graphical.classifier", "G7", cla, "full")


# column readers that `compare` puts in front of a model; not estimators of the canon, but model files hold them
TRANSFORMERS: dict[str, Entry] = {
    name: Entry(name, "tabular.columns", "–", ("transform",))
    for name in ("NumberColumns", "CategoryColumns", "CategoryCodes", "DateColumns", "TextColumns", "Components")
}

ESTIMATORS: dict[str, Entry] = {entry.name: entry for entry in _table()}

# what estimators are made of and model files hold, by kind: the module and its classes. A new kind is a line
PARTS: dict[str, tuple[str, str]] = {
    "loss": (
        "core.loss",
        "Absolute EpsilonInsensitive Exponential Hinge Huber Logistic Poisson Quantile SoftmaxLoss Squared "
        "SquaredHinge Tweedie",
    ),
    "cpd": ("core.graphical.cpd", "LinearGaussian LogisticCPD NoisyOr Table"),
    "distribution": ("core.distribution", "Bernoulli Categorical Columns Exponential Gaussian Multinomial Poisson"),
    "penalty": ("core.penalty", "ElasticNet Group L0 L1 L2 NoPenalty PositiveElasticNet"),
}

FUNCTIONS: dict[str, str] = {
    "lasso_path": "linear.paths",
    "enet_path": "linear.paths",
    "explain": "explaining.explain",
    "Explanation": "core.explanation",
    "shap_values": "tree.shap",
    "shap_interactions": "tree.shap",
    "importances": "tree.importances",
    "export_text": "tree.export",
    "plot_tree": "tree.plots",
    "export_svg": "tree.plots",
    "Detector": "ensemble.cascade.detector",
    "non_maximum_suppression": "ensemble.cascade.detector",
    "integral_image": "solvers.trees.cascade.integral",
    "KDTree": "neighbors.kd_tree",
    "kneighbors_graph": "neighbors.graph",
    "radius_neighbors_graph": "neighbors.graph",
    "choose_k": "cluster.choose_k",
    "read_bif": "graphical.bif",
    "LinearGaussian": "graphical.distributions",
    "LogisticCPD": "graphical.distributions",
    "NoisyOr": "graphical.distributions",
    "to_bif": "graphical.bif",
    "explain_query": "graphical.reasons",
    "plot_network": "graphical.plots",
    "plot_query": "graphical.plots",
    "all_estimators": "registry",
    "save": "io",
    "load": "io",
    "inspect": "io",
    "register_part": "io",
    "compare": "evaluate.compare",
    "write_report": "report",
    "model_report": "report.model_page",
    "patch_sklearn": "patch",
    "unpatch_sklearn": "patch",
    "TimeBudget": "callbacks",
    "EarlyStopping": "callbacks",
    "JSONLog": "callbacks",
    "Blocks": "core.blocks",
    "Evidence": "core.evidence",
    "Certificate": "core.evidence",
    "Kind": "core.evidence",
    "Status": "core.evidence",
    "threads": "core.thread_count",
    "set_threads": "core.thread_count",
    "n_threads": "core.thread_count",
}

# functions and results of one package only: ``corollary.evaluate.nested``, not ``corollary.nested``
OF_PACKAGE: dict[str, dict[str, str]] = {
    "evaluate": {
        "OptimisationBias": "optimisation_bias",
        "optimisation_bias": "optimisation_bias",
        "bootstrap_optimisation_bias": "optimisation_bias",
        "nested": "nested",
        "Nested": "nested",
        "bias_variance": "bias_variance",
        "BiasVariance": "bias_variance",
        "learning_curve": "curves",
        "validation_curve": "curves",
        "Curve": "curve",
        "paired_test": "paired",
        "PairedTest": "paired",
        "compare_models": "models_compared",
        "ModelsCompared": "models_compared",
        "calibration": "calibration",
        "Calibration": "calibration",
        "threshold": "threshold",
        "Threshold": "threshold",
    },
}


def public_function(name: str) -> Any:
    """Import a function of the table above: how what is below calls what is on top, and the one way in which it may."""
    return getattr(importlib.import_module(f"corollary.{FUNCTIONS[name]}"), name)


def all_estimators(task: str | None = None) -> list[Entry]:
    """Every estimator of the library, in canon order, with its task, capabilities and CANON id.

    Examples
    --------
    >>> from corollary import all_estimators
    >>> [entry.name for entry in all_estimators("classification")][:1]
    ['LogisticRegression']
    """
    return [entry for entry in ESTIMATORS.values() if task is None or task in entry.tasks]


@functools.cache
def models_with(capability: str, task: str) -> tuple[str, ...]:
    """Names of models for a task that have a capability: those that `compare` tries first if any do, else all.

    >>> models_with("missing", "regression")
    ('RandomForestRegressor', 'GradientBoostingRegressor')
    """
    first = [
        entry.name for entry in all_estimators(task) if entry.compare == "fast" and capability in entry.capabilities
    ]
    return tuple(first or [entry.name for entry in all_estimators(task) if capability in entry.capabilities])


def lazy_family(package: str, *modules: str) -> tuple[list[str], Callable[[str], Any]]:
    """The ``__all__`` and ``__getattr__`` of a family's package, from the tables above; ``modules`` are public too.

    A function may have the name of the module that it lives in; the name is then the function's, whoever imports the
    module.
    """
    places = {entry.name: entry.module for entry in ESTIMATORS.values()} | FUNCTIONS
    places = {name: module for name, module in places.items() if module.split(".")[0] == package}
    if package in OF_PACKAGE:
        places = {name: f"{package}.{module}" for name, module in OF_PACKAGE[package].items()}

    class Family(ModuleType):
        def __setattr__(self, name: str, value: Any) -> None:
            if not (name in places and isinstance(value, ModuleType)):
                super().__setattr__(name, value)

    if f"corollary.{package}" in sys.modules:  # a module that only repeats the names has no children to mind
        sys.modules[f"corollary.{package}"].__class__ = Family

    def getattribute(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"corollary.{package}.{name}")
        if name not in places:
            raise AttributeError(f"module 'corollary.{package}' has no attribute {name!r}")
        return getattr(importlib.import_module(f"corollary.{places[name]}"), name)

    return [*sorted(places), *modules], getattribute

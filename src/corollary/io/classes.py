"""The closed tables of what a model file can name: classes, functions and types.

A file holds an id such as ``"sklearn:StandardScaler"``; where that class is imported from is written here and nowhere
else, so a file cannot make Python import, construct or call anything that is not in these tables.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import numpy as np

from corollary import registry
from corollary.core.part import Part
from corollary.io.errors import ModelFileError, short

# Additions must keep their state in plain data, and must not pass indices read from that state to compiled code
# without a rule in `invariants.py`. Estimators of corollary come from its registry; these are scikit-learn's.
_TABLE: dict[str, str] = {
    "sklearn.pipeline": "FeatureUnion Pipeline",
    "sklearn.compose": "ColumnTransformer TransformedTargetRegressor make_column_selector",
    "sklearn.impute": "KNNImputer MissingIndicator SimpleImputer",
    "sklearn.preprocessing": """Binarizer FunctionTransformer KBinsDiscretizer LabelBinarizer LabelEncoder MaxAbsScaler
        MinMaxScaler Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer QuantileTransformer
        RobustScaler SplineTransformer StandardScaler TargetEncoder""",
    "sklearn.feature_selection": "SelectFromModel SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.feature_extraction.text": "CountVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.decomposition": "PCA TruncatedSVD",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.model_selection": """GroupKFold KFold LeaveOneOut ShuffleSplit StratifiedKFold StratifiedShuffleSplit
        TimeSeriesSplit""",
}
CLASSES: dict[str, str] = {f"sklearn:{name}": module for module, names in _TABLE.items() for name in names.split()}

# Pure functions of arrays: element by element, or scores of features.
_PURE: dict[str, str] = {
    "numpy": """absolute arccosh arcsinh arctanh cbrt cos cosh exp exp2 expm1 log log10 log1p log2 negative
        reciprocal rint sign sin sinh sqrt square tan tanh""",
    "sklearn.feature_selection": """chi2 f_classif f_regression mutual_info_classif mutual_info_regression
        r_regression""",
}
_FUNCTIONS: dict[str, tuple[str, str]] = {
    f"{module.partition('.')[0]}:{name}": (module, name) for module, names in _PURE.items() for name in names.split()
}

SCALARS = ("bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)), "float16", "float32")
SCALARS += ("float64",)
_ABSTRACT = ("number", "integer", "signedinteger", "unsignedinteger", "inexact", "floating", "complexfloating")
TYPES: dict[str, type[Any]] = {
    **{cls.__name__: cls for cls in (bool, int, float, str, object)},
    **{f"numpy.{np.dtype(name).name}": np.dtype(name).type for name in (*SCALARS, "complex64", "complex128")},
    **{f"numpy.{name}": getattr(np, name) for name in _ABSTRACT},
    "numpy.object": np.object_,
    "numpy.str": np.str_,
}


def _ours() -> dict[str, registry.Entry]:
    return {**registry.ESTIMATORS, **getattr(registry, "TRANSFORMERS", {})}


_KEPT_AS: dict[type[Any], type[Any]] = {}  # class that stands in -> what files call it
_IN_PLACE_OF: dict[type[Any], type[Any]] = {}  # class that stands in -> the one whose name it has taken


def register_stand_in(cls: type[Any], *, kept_as: type[Any], in_place_of: type[Any]) -> None:
    """Let model files see through a class that has taken the name of another in that one's module.

    Models of ``cls`` are written as those of ``kept_as``, and a file that names the class whose place was taken means
    ``in_place_of`` still, so that a file says the same with and without the change of names.
    """
    _KEPT_AS[cls], _IN_PLACE_OF[cls] = kept_as, in_place_of


def resolve_class(class_id: Any) -> type[Any]:
    """The class behind an id, from the closed tables."""
    origin, _, name = class_id.partition(":") if isinstance(class_id, str) else ("", "", "")
    if origin == "sklearn" and class_id in CLASSES:
        cls: type[Any] = getattr(importlib.import_module(CLASSES[class_id]), name)
        return _IN_PLACE_OF.get(cls, cls)
    if origin == "corollary" and name in _ours():
        return _ours()[name].load()
    raise ModelFileError(f"it names the class {short(class_id)}, which this version of corollary does not know")


def identify_class(cls: type[Any]) -> str | None:
    """The id of a class, or None if model files cannot hold it; a subclass of a known class is another class."""
    cls = _KEPT_AS.get(cls, cls)
    origin = cls.__module__.partition(".")[0]
    class_id = f"{origin}:{cls.__name__}"
    known = class_id in CLASSES or (origin == "corollary" and cls.__name__ in _ours())
    return class_id if known and resolve_class(class_id) is cls else None


_PARTS = {f"{kind}:{name}": module for kind, (module, names) in registry.PARTS.items() for name in names.split()}
_OWN_PARTS: dict[str, type[Part]] = {}


def register_part(cls: type[Any]) -> type[Any]:
    """Let this process save and load models with a loss or a penalty of your own. Use it as a decorator or a function.

    Model files never say where code is to be found: the class must be registered under the same name in the process
    that loads the file, before it does. Its parameters are stored, and handed to its ``__init__`` on loading.

    Examples
    --------
    >>> from corollary import register_part
    >>> from corollary.core.loss import Squared
    >>> @register_part
    ... class Priced(Squared):
    ...     name = "priced"
    """
    if not (isinstance(cls, type) and issubclass(cls, Part) and hasattr(cls, "kind")):
        raise ValueError(f"register_part needs a class of losses or penalties, but it got {cls!r}.")
    known = _OWN_PARTS.get(cls.__name__, cls)
    if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ValueError(f"another class is registered as {cls.__name__!r}: {known.__module__}.{known.__qualname__}.")
    _OWN_PARTS[cls.__name__] = cls
    return cls


def resolve_part(part_id: Any) -> type[Part]:
    """The class of a loss, a penalty or another part behind an id, from the closed table or this process's own."""
    kind, _, name = part_id.partition(":") if isinstance(part_id, str) else ("", "", "")
    if kind == "own" and name in _OWN_PARTS:
        return _OWN_PARTS[name]
    if kind == "own":
        raise ModelFileError(
            f"it needs the class {short(name)}, which is not one of corollary's; if you have it and trust it, call "
            "corollary.register_part with it before loading"
        )
    if f"{kind}:{name}" not in _PARTS:
        raise ModelFileError(f"it names the part {short(part_id)}, which this version of corollary does not know")
    cls: type[Part] = getattr(importlib.import_module(f"corollary.{_PARTS[part_id]}"), name)
    return cls


def identify_part(cls: type[Part]) -> str | None:
    """The id of a part's class, or None if it is unknown here; a subclass of a known class is another class."""
    if _OWN_PARTS.get(cls.__name__) is cls:
        return f"own:{cls.__name__}"
    part_id = f"{cls.kind}:{cls.__name__}"
    return part_id if part_id in _PARTS and resolve_part(part_id) is cls else None


@functools.cache
def _functions() -> dict[str, Any]:
    return {function_id: resolve_function(function_id) for function_id in _FUNCTIONS}


def resolve_function(function_id: Any) -> Any:
    """The function behind an id, from the closed table."""
    if not isinstance(function_id, str) or function_id not in _FUNCTIONS:
        raise ModelFileError(
            f"it names the function {short(function_id)}, which this version of corollary does not know"
        )
    module, name = _FUNCTIONS[function_id]
    return getattr(importlib.import_module(module), name)


def identify_function(function: Any) -> str | None:
    return next((function_id for function_id, known in _functions().items() if known is function), None)


def identify_type(cls: type[Any]) -> str | None:
    return next((name for name, known in TYPES.items() if known is cls), None)


# Left out of files: what only means something in the process that wrote it.
RUNTIME_ONLY = frozenset(
    ("_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx", "_stop_words_id")
)


def check_attribute(cls: type[Any], name: str) -> None:
    """Refuse names that are not an instance's own data, such as ``predict`` or ``__class__``."""
    owner = cls.__name__
    if not name.isidentifier() or name.startswith("__") or name in RUNTIME_ONLY:
        raise ModelFileError(f"{owner} cannot have an attribute called {short(name)}")
    part = next((vars(base)[name] for base in cls.__mro__ if name in vars(base)), None)
    if part is not None and not getattr(part, "of_instance", False):  # as ``evidence_``, which hands out what is kept
        raise ModelFileError(f"the attribute {short(name)} would replace a part of the class {owner}")

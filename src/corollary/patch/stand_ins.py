"""Classes of ours that stand in for scikit-learn's, and step aside where only scikit-learn's will do."""

from __future__ import annotations

import functools
import importlib
import inspect
import time
import types
from abc import ABCMeta
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from corollary.io.classes import register_stand_in
from corollary.patch.ledger import LEDGER
from corollary.registry import ESTIMATORS

# where scikit-learn keeps what a family of ours has
MODULES: dict[str, str] = {
    "linear": "linear_model",
    "tree": "tree",
    "ensemble": "ensemble",
    "bayes": "naive_bayes",
    "neighbors": "neighbors",
    "cluster": "cluster",
    "mixture": "mixture",
    "decomposition": "decomposition",
}
# functions that take what scikit-learn's take. `export_text` and `plot_tree` are others of the same name, and
# scikit-learn's draw our trees, too; a `KDTree` is asked for its nodes (`get_arrays`, `get_tree_stats`), which ours
# does not show, long after it was made: too late to step aside
FUNCTIONS: dict[str, tuple[str, ...]] = {
    "linear": ("lasso_path", "enet_path"),
    "neighbors": ("kneighbors_graph", "radius_neighbors_graph"),
}
LEARNING = ("fit", "partial_fit", "fit_predict", "fit_transform")
REFUSALS = (ValueError, TypeError, NotImplementedError)


@functools.cache
def replaceable(family: str) -> dict[str, tuple[str, ...]]:
    """scikit-learn's public module for a family of ours, with the names in it that we have as well."""
    place = f"sklearn.{MODULES[family]}"
    public = set(importlib.import_module(place).__all__)
    ours = [entry.name for entry in ESTIMATORS.values() if entry.family == family]
    return {place: tuple(name for name in (*ours, *FUNCTIONS.get(family, ())) if name in public)}


@functools.cache
def stand_in(name: str) -> Any:
    """What takes the place of scikit-learn's class or function of that name; must be made before it is taken."""
    family, place = next(
        (family, place) for family in MODULES for place, names in replaceable(family).items() if name in names
    )
    theirs = getattr(importlib.import_module(place), name)
    ours = getattr(importlib.import_module(f"corollary.{family}"), name)
    if not isinstance(ours, type):
        return _function(ours, theirs)
    made = _StandIn.make(name, ours, theirs)
    register_stand_in(made, kept_as=ours, in_place_of=theirs)
    return made


class _StandIn(ABCMeta):
    """The type of classes that stand in. Such a class is a child of ours that knows whose place it takes."""

    _plain: type[Any]  # our class
    _theirs: type[Any]  # scikit-learn's
    _patch_names: tuple[str, ...]
    _patch_unlike: frozenset[str]  # parameters whose defaults are not scikit-learn's

    @classmethod
    def make(mcs, name: str, ours: type[Any], theirs: type[Any]) -> type[Any]:
        body = {"__module__": "corollary.patch", "__doc__": ours.__doc__, "_patch_given": _given}
        made = super().__new__(mcs, name, (ours,), body)
        made._plain, made._theirs = ours, theirs
        made._patch_names, made._patch_unlike = tuple(inspect.signature(ours).parameters), _unlike(ours, theirs)
        wrapped = {"set_params": _setting(ours.set_params), "__sklearn_clone__": _cloning(ours.__sklearn_clone__)}
        for method in LEARNING:
            if inspect.isfunction(inspect.getattr_static(ours, method, None)):
                wrapped[method] = _learning(getattr(ours, method), theirs)
        for method, function in wrapped.items():  # now: scikit-learn wraps what it finds in a class's body
            setattr(made, method, function)
        for method in ("__init__", *_public_methods(ours, theirs)):
            setattr(made, method, _either(getattr(made, method), getattr(theirs, method), theirs))
        return made

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        """A class derived from one that stands in is derived from scikit-learn's: it may use what is inside."""
        for base in bases:
            if isinstance(base, _StandIn):
                LEDGER.fell(base.__name__, f"the class {name} is derived from it")
        originals = tuple(base._theirs if isinstance(base, _StandIn) else base for base in bases)
        return types.new_class(name, originals, options, lambda body: body.update(namespace))

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        try:
            model = super().__call__(*args, **kwargs)
        except TypeError as error:
            return _theirs_instead(cls._theirs, error, lambda: cls._theirs(*args, **kwargs))
        given = {*cls._patch_names[: len(args)], *kwargs}
        if len(given) < len(cls._patch_names):  # all of them come from another model, and tell nothing of what is meant
            _note(model, given)
        return model

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        # by descent alone: an abstract class asks its children, of which this is one
        return any(type.__subclasscheck__(each, subclass) for each in (cls._plain, cls._theirs))

    @property
    def __signature__(cls) -> inspect.Signature:
        return inspect.signature(cls._plain)


# Of a model, the settings that were asked for though they may be our defaults, where scikit-learn has others. It is
# declared as something cached, which is left out of model files: it means nothing there.
_given: functools.cached_property[frozenset[str]] = functools.cached_property(lambda model: frozenset())


def _asked(model: Any) -> frozenset[str]:
    found: frozenset[str] = vars(model).get("_patch_given", frozenset())
    return found


def _unlike(ours: type[Any], theirs: type[Any]) -> frozenset[str]:
    mine = {name: parameter.default for name, parameter in inspect.signature(ours).parameters.items()}
    other = {name: parameter.default for name, parameter in inspect.signature(theirs).parameters.items()}
    both = [name for name in mine if other.get(name, inspect.Parameter.empty) is not inspect.Parameter.empty]
    return frozenset(name for name in both if not _same(mine[name], other[name]))


def _note(model: Any, names: Iterable[str]) -> None:
    if new := type(model)._patch_unlike.intersection(names):
        model.__dict__["_patch_given"] = _asked(model) | new


def _setting(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def set_params(self: Any, **params: Any) -> Any:
        method(self, **params)
        _note(self, params)
        return self

    return set_params


def _cloning(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def clone(self: Any) -> Any:
        made = method(self)
        _note(made, _asked(self))
        return made

    return clone


def _public_methods(ours: type[Any], theirs: type[Any]) -> list[str]:
    """Methods that both classes have as plain functions."""
    both = sorted(name for name in dir(ours) if not name.startswith("_") and hasattr(theirs, name))
    return [name for name in both if all(inspect.isfunction(inspect.getattr_static(c, name)) for c in (ours, theirs))]


def _either(method: Callable[..., Any], other: Callable[..., Any], theirs: type[Any]) -> Callable[..., Any]:
    """Our method, or scikit-learn's for a model of theirs: derived classes call it, as in ``Ridge.fit(self, …)``."""

    @functools.wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        # in fact and not by registration: some classes of ours count as scikit-learn's
        return (other if theirs in type(self).__mro__ else method)(self, *args, **kwargs)

    return call


def _theirs_instead(theirs: Any, refusal: Exception, attempt: Callable[[], Any]) -> Any:
    """What scikit-learn makes of what we refused; if it refuses as well, the input is at fault and our words stand."""
    try:
        answer = attempt()
    except Exception:
        raise refusal from None
    LEDGER.fell(theirs.__name__, str(refusal))
    return answer


_learners: ContextVar[tuple[int, ...]] = ContextVar("corollary_patch_learners", default=())  # models that learn now


def _learning(method: Callable[..., Any], theirs: type[Any]) -> Callable[..., Any]:
    """Our method; where it refuses what scikit-learn's class takes, the model becomes one of scikit-learn's."""

    @functools.wraps(method)
    def learn(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) in _learners.get():  # fit inside fit_predict
            return method(self, *args, **kwargs)
        token, began = _learners.set((*_learners.get(), id(self))), time.perf_counter()
        try:
            answer = method(self, *args, **kwargs)
        except REFUSALS as error:
            if _goes_on(self, method.__name__):
                raise
            return _theirs_instead(theirs, error, lambda: _become(self, theirs, method.__name__, args, kwargs))
        finally:
            _learners.reset(token)
        LEDGER.fitted(theirs.__name__, time.perf_counter() - began, vars(self).get("evidence_"))
        return answer

    return learn


def _goes_on(model: Any, method: str) -> bool:
    """Whether a fit starts from what the model has learnt, which one of scikit-learn's would not know."""
    if method != "partial_fit" and not getattr(model, "warm_start", False):
        return False
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    return True


def _become(model: Any, theirs: type[Any], method: str, args: Any, kwargs: Any) -> Any:
    """The model, learnt by scikit-learn's class and from now on of that class."""
    defaults, ours = inspect.signature(type(model)).parameters, model.get_params(deep=False)
    # defaults differ in a few places, and what nobody has asked for is scikit-learn's to choose
    other = theirs(
        **{
            name: value
            for name, value in ours.items()
            if name in _asked(model) or not _same(value, defaults[name].default)
        }
    )
    kept = [name for name in vars(model) if name not in (*ours, "_patch_given") and not name.endswith("_")]
    state = {name: vars(model)[name] for name in kept}
    other.__dict__.update(state)  # callbacks, metadata requests, set_output
    answer = getattr(other, method)(*args, **kwargs)
    model.__dict__.clear()
    model.__dict__.update(other.__dict__)
    model.__class__ = theirs
    return model if answer is other else answer


def _same(value: Any, default: Any) -> bool:
    plain = type(value) is type(default) and isinstance(value, (int, float, str))
    return value is default or (plain and bool(value == default))


def _function(ours: Callable[..., Any], theirs: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(theirs)
    def call(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        try:
            answer = ours(*args, **kwargs)
        except REFUSALS as error:
            return _theirs_instead(theirs, error, lambda: theirs(*args, **kwargs))
        LEDGER.fitted(ours.__name__, time.perf_counter() - began)
        return answer

    return call

"""The estimator contract: one door for parameters, data and weights; a fit that succeeds whole or changes nothing.

Every estimator of the library derives from :class:`Estimator` and wraps its ``fit`` in :func:`fitting`.
"""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sized
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from corollary.callbacks import Progress
from corollary.core.blocks import LEARNERS, Blocks, BlockSource, NotAnArrayError, as_blocks
from corollary.core.design import Design, gather
from corollary.core.door.arrays import plain
from corollary.core.door.integers import refuse_far_integers
from corollary.core.door.sparse_input import sound
from corollary.core.door.target import refuse_missing
from corollary.core.door.weights import NO_WEIGHT, of_scaled_weights, refuse_out_of_reach, within_reach
from corollary.core.door.weights import check_weights as check_weights  # for the families
from corollary.core.door.weights import weights_by_class as weights_by_class  # for the families
from corollary.core.evidence import Evidence, Status, honest
from corollary.core.fitted import Anything, Count, Fitted, Maybe, Names
from corollary.core.judging import Judged
from corollary.core.limits import Limit
from corollary.core.parallel import threads
from corollary.core.types import Array
from corollary.refusals import better_told
from corollary.showing import Shown
from corollary.solvers.loop import BackTo

F = TypeVar("F", bound=Callable[..., Any])


def assigning(init: F) -> F:
    """Wrap an ``__init__`` without a body: every argument, or its default, becomes the attribute of the same name."""
    parameters = list(inspect.signature(init).parameters.values())[1:]
    names, defaults = [each.name for each in parameters], {each.name: each.default for each in parameters}

    @functools.wraps(init)
    def assign(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)  # does nothing but refuse what it does not know, in Python's words
        given = {**defaults, **dict(zip(names, args, strict=False)), **kwargs}
        for name in names:
            setattr(self, name, given[name])

    return cast(F, assign)


_began: ContextVar[float] = ContextVar("corollary_fit_began")  # when the innermost fit in progress was called


def fitting(method: F) -> F:
    """Wrap a ``fit``: parameters are checked first, callbacks set up and torn down, and an error leaves no trace.

    After Ctrl-C the best answer so far stays on the estimator, with evidence that says so, and KeyboardInterrupt is
    raised, so that loops and searches around the fit end.
    """
    managed = with_callbacks(method)

    @functools.wraps(method)
    def fit(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        before, clock = dict(self.__dict__), _began.set(time.perf_counter())
        try:
            _check_blocks(self, method, args, kwargs)
            self._check_parameters()
            if verbose := getattr(self, "verbose", 0):
                self._progress = Progress(type(self).__name__, int(verbose), self._words)
            # data too large for float64 show as an objective that is not finite, which solvers refuse with a sentence
            with threads(getattr(self, "n_jobs", None)), np.errstate(over="ignore", invalid="ignore"):
                result = managed(self, *args, **kwargs)
        except BaseException as error:
            self.__dict__.clear()
            self.__dict__.update(before)
            if isinstance(error, NotAnArrayError):
                raise TypeError(_not_learning(self)) from None
            if (better := better_told(error, self, _rows_of(args, kwargs))) is not None:
                raise better from None
            raise
        finally:
            for name in ("_weight_unit", "_weights_lost", "_progress", "_watching"):
                self.__dict__.pop(name, None)
            _began.reset(clock)
        evidence = self.__dict__.get("evidence_")
        if evidence is not None and evidence.status is Status.INTERRUPTED:
            raise KeyboardInterrupt(f"{type(self).__name__}: {evidence}")
        return result

    return cast(F, fit)


def predicting(method: F) -> F:
    """Wrap ``predict``, ``transform``, ``score`` and the like: the model is fitted, and ``n_jobs`` counts as in fit."""

    @functools.wraps(method)
    def asked(self: Estimator, *args: Any, **kwargs: Any) -> Any:
        _check_blocks(self, method, args, kwargs)
        check_is_fitted(self)
        try:
            with threads(getattr(self, "n_jobs", None)):
                answer = method(self, *args, **kwargs)
        except (ValueError, TypeError) as error:
            if (better := better_told(error, self, _rows_of(args, kwargs))) is not None:
                raise better from None
            raise
        for part in answer if type(answer) in (tuple, list) else (answer,):
            # the smallest of numbers is NaN if one of them is: no array is made to look for it
            if type(part) is np.ndarray and part.dtype.kind == "f" and part.size and np.isnan(part.min()):
                name = f"{type(self).__name__}.{method.__name__}"
                raise ValueError(f"{name}: numbers of X or of the model are too large to compute with in float64.")
        return answer

    return cast(F, asked)


def _check_blocks(model: Estimator, method: Callable[..., Any], args: tuple[Any, ...], given: dict[str, Any]) -> None:
    """Refuse ``Blocks`` for methods other than ``fit``, and for a ``fit`` that cannot do without y beside X."""
    if not isinstance(_rows_of(args, given), Blocks):
        return
    if method.__name__ == "fit":
        try:
            inspect.signature(method).bind(model, *args, **given)
        except TypeError:
            raise TypeError(_not_learning(model)) from None
    else:
        name = f"{type(model).__name__}.{method.__name__}"
        raise TypeError(f"{name} takes one block at a time, not Blocks: call it for each block.")


def _rows_of(args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """The X of a call."""
    return args[0] if args else given.get("X")


def _not_learning(model: Estimator) -> str:
    return f"{type(model).__name__} does not learn from Blocks: give it all rows at once. {LEARNERS}"


class EvidenceWarning(ConvergenceWarning):
    """The evidence of a fit does not hold; the message is that evidence."""


class Estimator(Judged, Shown, CallbackSupportMixin, BaseEstimator):
    """What all estimators share. Subclasses are final and declare ``limits`` beside their ``__init__``."""

    limits: ClassVar[dict[str, Limit]] = {}
    # what a fit leaves behind; a class says what it adds to its bases
    fitted: ClassVar[dict[str, Fitted]] = {
        "n_features_in_": Count("d", low=1),
        "feature_names_in_": Maybe(Names("d")),
        "evidence_": Maybe(Anything(Evidence)),
    }
    _penalty_beside_sum: ClassVar[bool] = False  # whether a penalty is added to a sum over rows, not to their mean
    _weight_unit: float = 1.0  # what a weight of one has become while a fit runs
    _weights_lost: int = 0  # how many weights are too small beside the largest to count
    _words: ClassVar[dict[str, str]] = {}  # of ``verbose`` for the numbers of an iteration, where people know others
    _watching: _Observer | None = None  # what tells callbacks of a fit that runs
    _progress: Progress | None = None  # what tells of a fit that runs, if ``verbose`` asks for it

    def __init_subclass__(cls, **kwargs: Any) -> None:
        bases = reversed(cls.__mro__)
        cls.fitted = {name: what for base in bases for name, what in vars(base).get("fitted", {}).items()}
        score = getattr(cls, "score", None)  # scikit-learn's, unless a class has its own
        if getattr(score, "__module__", "") == "sklearn.base" and not hasattr(score, "__wrapped__"):
            cls.score = predicting(cast(Any, score))
        super().__init_subclass__(**kwargs)

    def _check_parameters(self) -> None:
        for name, limit in self.limits.items():
            value = getattr(self, name)
            if not limit.accepts(value):
                # scikit-learn's checks look for this class of message; the type is a ValueError as everywhere
                raise ValueError(f"{type(self).__name__}: {name} must be {limit}, but it is {value!r}.")

    def _check_state(self) -> None:
        """Raise ValueError unless fitted attributes, each as declared, fit together; called on what a file holds."""

    def _validate_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        sparse: bool = True,
        blocks: bool = False,
        **options: Any,
    ) -> tuple[Any, Array, Array]:
        """X, y and float64 weights, checked. Float32 and float64 X pass through without a copy, in any order.

        A method that touches X through a ``Design`` alone may allow ``blocks``: X is then a ``BlockDesign``, with the
        y and the weights of all rows.
        """
        given = as_blocks(X, y, sample_weight) if blocks else None
        if given is not None:
            design, y, weights = gather(self._validate_blocks(given, target=True, sparse=sparse, every=True, **options))
            if not weights.any():
                raise ValueError(NO_WEIGHT)
            return design, y, self._within_reach(weights)
        X, y = self._validate_pair(X, y, sparse=sparse, **options)
        return X, y, self._weigh(sample_weight, X, in_parts="reset" in options)

    def _validate_rows(
        self, X: Any, sample_weight: Any = None, *, sparse: bool = True, **options: Any
    ) -> tuple[Any, Array]:
        """X and float64 weights, checked, for models that learn from rows without a target."""
        X = self._validate(X, sparse=sparse, **options)
        return X, self._weigh(sample_weight, X, in_parts="reset" in options)

    def _weigh(self, sample_weight: Any, X: Any, *, in_parts: bool) -> Array:
        """The weights of the rows X, checked, and such that float64 can hold their sums; None is one for each."""
        if sample_weight is None:
            return np.ones(X.shape[0])
        return self._within_reach(check_weights(sample_weight, X), in_parts=in_parts)

    def _within_reach(self, weights: Array, *, in_parts: bool = False) -> Array:
        """Weights whose sums float64 can hold; ``_weight_unit`` is what a weight of one has become, until fit ends."""
        if in_parts:
            return refuse_out_of_reach(weights)
        near, unit = within_reach(weights)
        if unit != 1.0:
            self._weight_unit = unit
        if near is not weights and (lost := int(np.count_nonzero(weights)) - int(np.count_nonzero(near))):
            self._weights_lost = lost
        return near

    def _validate_predict(self, X: Any, *, sparse: bool = True, **options: Any) -> Any:
        """X, checked against the columns of the fit."""
        check_is_fitted(self)
        return self._validate(X, sparse=sparse, reset=False, **options)

    def _validate_pair(self, X: Any, y: Any, *, sparse: bool, **options: Any) -> tuple[Any, Array]:
        """X and y, checked."""
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. "
                "It learns from examples with known answers."
            )
        options = {"y_numeric": True, "multi_output": False, **options}
        refuse_missing(y, numeric=options["y_numeric"])
        X, y = self._validate(X, y, sparse=sparse, **options)
        return X, y

    def _validate(self, X: Any, y: Any = "no_validation", *, sparse: bool, **options: Any) -> Any:
        """The one door for data: scikit-learn's checks, with what this library accepts everywhere."""
        if plain(self, X, y, options):
            return X if type(y) is str else (X, y)
        accept = ("csr", "csc") if sparse else False
        X = sound(X)
        refuse_far_integers(X)
        return validate_data(self, X, y, accept_sparse=accept, dtype=(np.float64, np.float32), **options)

    def _validate_blocks(
        self, blocks: Blocks, *, target: bool, sparse: bool = True, every: bool = False, **options: Any
    ) -> BlockSource:
        """Blocks (X, y, float64 weights) as a source whose blocks are checked whenever they are read.

        Without ``target`` y is passed on as it came. Blocks without any weight are left out, unless ``every`` row is
        asked for. Names and number of the columns are those of the first block.
        """
        return BlockSource(_Checked(self, blocks, target, sparse, every, options), executor=blocks.executor)

    def _observer(self, X: Any, y: Any, max_iter: int, attributes: Callable[[Any], dict[str, Any] | None]) -> Any:
        """What the solver calls after each iteration, or None when there are no callbacks and nobody wants to read.

        ``attributes`` turns a solver state into the fitted attributes that make a working copy of this estimator.
        Data that are read from blocks are not shown to callbacks.
        """
        if "_skl_callbacks" not in self.__dict__ and "_parent_callback_ctx" not in self.__dict__:
            return self._progress
        if isinstance(X, Design):
            X = y = None
        context = self._init_callback_context(max_subtasks=None)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        if not getattr(self, "_skl_callbacks", None):
            return self._progress

        self._watching = _Observer(self, context, (X, y), max_iter, attributes)
        return self._watching

    def _stop_between(self, task_name: str) -> bool:
        """Whether a callback asks to stop between two parts of a fit, such as the folds of a cross-validation."""
        if self._progress is not None:
            self._progress.part(task_name)
        if not getattr(self, "_skl_callbacks", None):
            return False
        task = self._callback_fit_ctx.subcontext(task_name=task_name)
        task.call_on_fit_task_begin(estimator=self)
        return bool(task.call_on_fit_task_end(estimator=self))

    def _keep_evidence(self, evidence: Evidence) -> None:
        """Store the evidence, with the time that the whole fit took.

        A fit that falls short of its claim warns, with the number, the cause and one fix; one that Ctrl-C ended
        raises KeyboardInterrupt with the same words when it returns.
        """
        began = _began.get(None)
        seconds = evidence.seconds if began is None else time.perf_counter() - began
        notes = evidence.notes + of_scaled_weights(self._weight_unit, self._weights_lost, self._penalty_beside_sum)
        status = honest(evidence.status, evidence.certificate)
        evidence = replace(evidence, seconds=seconds, status=status, notes=notes)
        self.evidence_ = evidence
        if self._progress is not None:
            self._progress.end(evidence)
        if self._watching is not None:
            self._watching.close()
        context = getattr(self, "_callback_fit_ctx", None)
        if context is not None:
            context.call_on_fit_task_end(estimator=self)
        if not evidence.holds and evidence.status is not Status.INTERRUPTED:
            warnings.warn(self._shortfall(evidence), EvidenceWarning, stacklevel=caller_level())

    def _shortfall(self, evidence: Evidence) -> str:
        """What to say of a fit that falls short of its claim; words that people know from elsewhere may go before."""
        return f"{type(self).__name__}: {evidence}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this model to ``path`` as data only (see :func:`corollary.io.save`)."""
        from corollary.io import save

        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model of this class from ``path`` (see :func:`corollary.io.load`)."""
        from corollary.io import load

        model = load(path)
        if not isinstance(model, cls):
            raise ValueError(f"{os.fspath(path)} holds a {type(model).__name__}, not a {cls.__name__}.")
        return model


@dataclass
class _Observer:
    """The callbacks of an estimator, asked after each iteration, and between parts of a fit such as several starts.

    An iteration is a task that begins with the state before it and ends with the state after it, as in scikit-learn;
    the last one, which finds nothing to do, is empty.
    """

    owner: Estimator
    context: Any
    data: tuple[Any, Any]
    max_iter: int
    attributes: Callable[[Any], dict[str, Any] | None]
    task: Any = None  # the iteration in progress

    def __call__(self, record: dict[str, float], snapshot: Callable[[], Any]) -> bool | BackTo:
        if self.owner._progress is not None:
            self.owner._progress(record, snapshot)
        if self.task is None and record["iteration"] == 0:
            self._begin()
            return any(callback.spent() for callback in self.owner._skl_callbacks if hasattr(callback, "spent"))
        return self.last(record, snapshot)

    def last(self, record: dict[str, float], snapshot: Callable[[], Any]) -> bool | BackTo:
        """Tell of an iteration, perhaps the last, of which progress in lines does not tell."""
        return self._end(record, snapshot) or self._begin(lambda: self.attributes(snapshot()))

    def _end(self, record: dict[str, float], snapshot: Callable[[], Any]) -> bool | BackTo:
        X, y = self.data
        if self.task is None:
            self._begin()
        task, self.task = self.task, None
        task.record = dict(record, max_iter=self.max_iter)  # scikit-learn's ``metadata`` is for scorers, not for this
        asked = task.call_on_fit_task_end(
            estimator=self.owner, X=X, y=y, reconstruction_attributes=lambda: self.attributes(snapshot())
        )
        return getattr(task, "back_to", True) if asked else False  # EarlyStopping knows a better iteration

    def _begin(self, attributes: Callable[[], dict[str, Any] | None] | None = None) -> bool:
        X, y = self.data
        self.task = self.context.subcontext(task_name="iteration")
        self.task.call_on_fit_task_begin(estimator=self.owner, X=X, y=y, reconstruction_attributes=attributes)
        return False

    def close(self) -> None:
        """End the task that is in progress, if there is one: nothing was left to do."""
        task, self.task = self.task, None
        if task is not None:
            task.call_on_fit_task_end(estimator=self.owner)

    def between(self) -> bool:
        self.close()
        return self.owner._stop_between("start")


class _Checked:
    """Blocks through the same door as arrays, in every pass."""

    def __init__(
        self, owner: Estimator, blocks: Blocks, target: bool, sparse: bool, every: bool, options: dict[str, Any]
    ) -> None:
        self.owner, self.blocks, self.target, self.sparse, self.every = owner, blocks, target, sparse, every
        self.options, self.seen = options, False

    def __iter__(self) -> Iterator[tuple[Any, Any, Array]]:
        number = -1  # enumerate would keep the block while the next one is made
        for X, y, sample_weight in self.blocks:
            number += 1
            if not (X.shape[0] if getattr(X, "shape", ()) else len(X) if isinstance(X, Sized) else 1):
                continue  # as after a filter that leaves nothing
            absent = sample_weight is not None and not np.any(sample_weight)  # one block may be so, but not all
            try:
                X, y, weights = self._checked(X, y, None if absent else sample_weight)
            except (ValueError, TypeError) as error:
                kind = ValueError if isinstance(error, ValueError) else TypeError
                raise kind(f"Block {number}: {error}") from error
            self.seen = True
            if self.every or not absent:
                yield X, y, np.zeros_like(weights) if absent else weights
            del X, y, sample_weight, weights  # before the next block is made

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Array]:
        options = {"sparse": self.sparse, "reset": not self.seen, "ensure_min_samples": 0, **self.options}
        if not self.target:
            X, weights = self.owner._validate_rows(X, sample_weight, **options)
            return X, y, weights
        if y is None:
            raise ValueError(f"{type(self.owner).__name__} needs y: each block must be a tuple (X, y).")
        X, y = self.owner._validate_pair(X, y, **options)
        return X, y, check_weights(sample_weight, X)  # brought within reach when those of all blocks are known


def caller_level() -> int:
    """The ``stacklevel`` at which a warning of ours names the line that called ``fit``, through any pipeline."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] in ("corollary", "sklearn"):
        level, frame = level + 1, frame.f_back
    return level

"""Parts: the small values of which models are made. Losses, penalties and distributions are parts; kernels will be.

A part is what its parameters say: two with the same parameters are equal, ``repr`` is how to write one down, and a
model file stores the class and the parameters.
"""

from __future__ import annotations

import copy
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from corollary.core.limits import Limit


class Part:
    """A value with named parameters. ``__init__`` hands them to this one, which checks them and makes them attributes.

    >>> from corollary.core.loss import Huber
    >>> Huber(delta=0.5), Huber(0.5) == Huber(0.5)
    (Huber(delta=0.5), True)
    """

    kind: ClassVar[str]  # "loss", "penalty": its place in registry.PARTS
    name: ClassVar[str]  # what users write where an estimator takes a name
    limits: ClassVar[Mapping[str, Limit]] = {}  # of its parameters

    def __init__(self, **parameters: Any) -> None:
        for name, value in parameters.items():
            if name in self.limits and not self.limits[name].accepts(value):
                limit = self.limits[name]
                raise ValueError(f"{type(self).__name__}: {name} must be {limit}, but it is {value!r}.")
            setattr(self, name, value)

    @classmethod
    def parameter_names(cls) -> tuple[str, ...]:
        """The arguments of its ``__init__``."""
        return _arguments(cls.__init__)

    @classmethod
    def made_from(cls, offered: Mapping[str, Any]) -> Self:
        """A part made with those of the offered parameters that it has, and defaults for the others."""
        return cls(**{name: offered[name] for name in cls.parameter_names() if name in offered})

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters with their values."""
        return {name: getattr(self, name) for name in self.parameter_names()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters, under the name by which scikit-learn's searches ask for them: ``loss__delta`` is a grid."""
        return self.parameters

    def set_params(self, **parameters: Any) -> Self:
        """Become what ``__init__`` makes of the parameters with these changes."""
        unknown = [name for name in parameters if name not in self.parameter_names()]
        if unknown:
            known = ", ".join(self.parameter_names()) or "none"
            raise ValueError(f"{type(self).__name__} has no parameter {unknown[0]!r}; it has: {known}.")
        if parameters:
            self.__dict__ = type(self)(**{**self.parameters, **parameters}).__dict__
        return self

    def __sklearn_clone__(self) -> Self:
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.parameters.items())})"

    def _key(self) -> tuple[Any, ...]:
        return (type(self), *(_hashable(value) for value in self.parameters.values()))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Part) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


@functools.cache
def _arguments(function: Callable[..., None]) -> tuple[str, ...]:
    arguments = list(inspect.signature(function).parameters.values())[1:]
    return tuple(argument.name for argument in arguments if argument.kind is not argument.VAR_KEYWORD)


def _hashable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return (value.shape, *value.ravel().tolist())
    return tuple(map(_hashable, value)) if isinstance(value, list | tuple) else value

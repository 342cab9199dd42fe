"""The one door to Numba: ``@kernel`` for exact arithmetic, ``@fast_kernel`` where sums may be reordered.

``@lean_kernel`` and ``@inner_kernel`` are ``@kernel`` with less to compile, for code that allocates nothing.

Kernels release the GIL and take a range, which ``corollary.core.parallel`` runs on threads, or a place in a team of
threads that meet (``team.py``). There is no ``parallel=True`` anywhere, so no threading layer exists that could abort a
process or break after a fork.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar, cast

import numpy as np

from corollary._compiled._interrupts import held_back

F = TypeVar("F", bound=Callable[..., Any])

# Reassociation lets sums use vector registers. "nnan" and "ninf" are left out, so NaN and inf keep their meaning.
_FAST = {"reassoc", "nsz", "arcp", "contract"}


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the garbage collector where many objects are made and few given up, as when compiling: an eighth faster."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


try:
    with _no_collection(), held_back():
        import numba

    HAVE_NUMBA = not numba.config.DISABLE_JIT  # NUMBA_DISABLE_JIT=1 is to run kernels as plain Python
except ImportError as error:  # pragma: no cover - only on platforms without Numba
    HAVE_NUMBA = False
    warnings.warn(
        f"Numba cannot be imported ({error}); corollary runs its kernels as plain Python, which is right but slow. "
        "Install a Numba that supports this Python and NumPy.",
        RuntimeWarning,
        stacklevel=2,
    )

# Numba hands options of a caller down to kernels that do not set them, so these are always set; nobody calls from C
_LEAN = {"_nrt": False, "no_cpython_wrapper": False, "no_cfunc_wrapper": True}
_FULL = _LEAN | {"_nrt": True}
_INNER = _LEAN | {"no_cpython_wrapper": True}


if HAVE_NUMBA:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler
    from numba.core.compiler import Flags as NumbaFlags
    from numba.core.compiler_lock import global_compiler_lock

    from corollary._compiled._cache import KernelCache

    class _NoEnvironment:
        @staticmethod
        def set_env(name: str, environment: Any) -> None:
            """Numba notes the environment of a function beside its machine code, of which there is none."""

    class _Linked(JITCodeLibrary):
        """Code that is only ever linked into other code: it is optimised and made machine code there, once."""

        codegen = _NoEnvironment

        def _optimize_final_module(self) -> None: ...

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class Flags(NumbaFlags):  # by the same name, which is part of symbols
        """Options that are compared as they are stored: Numba asks for each by name, thousands of times a kernel."""

        def __hash__(self) -> int:
            return _OF_FLAGS

        def __eq__(self, other: object) -> bool:
            if not isinstance(other, NumbaFlags):
                return NotImplemented
            one, two = self._values, other._values
            return bool(one == two or {**_DEFAULTS, **one} == {**_DEFAULTS, **two})

    _DEFAULTS = {name: option.default for name, option in Flags.options.items()}
    _OF_FLAGS = hash(NumbaFlags())  # Numba's depends on the names of options alone

    class _Compiler(Compiler):
        """Numba's compiler, undisturbed. Kernels that Python never calls are made for linking alone."""

        def compile_extra(self, func: Any) -> Any:
            self.state.flags = Flags(self.state.flags)
            if self.state.flags.no_cpython_wrapper:
                self.state.library = _Linked(self.state.targetctx.codegen(), func.__qualname__)
            with _no_collection():
                return super().compile_extra(func)

    if hasattr(os, "register_at_fork"):  # a child forked while a thread compiles would wait for that thread for ever
        os.register_at_fork(
            before=global_compiler_lock.acquire,
            after_in_parent=global_compiler_lock.release,
            after_in_child=global_compiler_lock.release,
        )

    def _uninterrupted(method: Callable[..., Any]) -> Callable[..., Any]:
        """Ctrl-C waits until a kernel is there: Numba empties its registries while it reads them.

        What an interrupt there left unread would be missing for good, and no kernel could be compiled any more.
        """

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            with held_back():
                return method(*args, **kwargs)

        return call


def _compile(function: F, **options: Any) -> F:
    if not HAVE_NUMBA:  # pragma: no cover
        # machine code never warns, and its whole numbers wrap around on purpose; what kernels call is inside them
        return function if options["no_cpython_wrapper"] else np.errstate(all="ignore")(function)
    dispatcher = numba.njit(nogil=True, error_model="numpy", pipeline_class=_Compiler, **options)(function)
    if not options["no_cpython_wrapper"]:  # the others are kept inside those that call them
        with suppress(RuntimeError, OSError):  # no readable sources: compile in every process instead of failing
            dispatcher._cache = KernelCache(function)
    # the doors to compiling; calls of a kernel that is there pass through neither
    dispatcher._compile_for_args = _uninterrupted(dispatcher._compile_for_args)
    dispatcher.compile = _uninterrupted(dispatcher.compile)
    return cast(F, dispatcher)


def kernel(function: F) -> F:
    """Compile ``function`` with strict IEEE arithmetic."""
    return _compile(function, **_FULL)


def lean_kernel(function: F) -> F:
    """As ``kernel`` for code that allocates nothing and returns no array: without reference counts."""
    return _compile(function, **_LEAN)


def inner_kernel(function: F) -> F:
    """As ``lean_kernel`` for code that kernels call and Python never does: without a door for Python."""
    return _compile(function, **_INNER)


def fast_kernel(function: F) -> F:
    """Compile ``function`` letting the compiler reorder sums (NaN and inf keep their meaning)."""
    return _compile(function, fastmath=_FAST, **_FULL)


def inner_fast_kernel(function: F) -> F:
    """As ``inner_kernel``, letting the compiler reorder sums."""
    return _compile(function, fastmath=_FAST, **_INNER)


if HAVE_NUMBA:
    from llvmlite import ir
    from numba.core import types
    from numba.extending import intrinsic

    @intrinsic
    def bits_of(typingctx: Any, number: Any) -> Any:
        """The 64 bits of a float64, as an int64."""
        return types.int64(types.float64), lambda context, builder, signature, args: builder.bitcast(
            args[0], ir.IntType(64)
        )

    @intrinsic
    def float_of(typingctx: Any, bits: Any) -> Any:
        """The float64 that has these 64 bits."""
        return types.float64(types.int64), lambda context, builder, signature, args: builder.bitcast(
            args[0], ir.DoubleType()
        )

    @intrinsic
    def lowest_bit(typingctx: Any, bits: Any) -> Any:
        """The number of the lowest bit that is set, of a uint64 that is not zero."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.uint64), codegen

    @intrinsic
    def count_bits(typingctx: Any, bits: Any) -> Any:
        """How many bits of a uint64 are set."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.int64(types.uint64), codegen

    @intrinsic
    def eight_bytes(typingctx: Any, array: Any, offset: Any) -> Any:
        """The eight bytes that begin ``offset`` bytes into an array's data, as a uint64; they need not be aligned."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            pointer = builder.gep(builder.bitcast(data, ir.IntType(8).as_pointer()), [args[1]])
            return builder.load(builder.bitcast(pointer, ir.IntType(64).as_pointer()), align=1)

        return types.uint64(array, types.intp), codegen

    @intrinsic
    def prefetch(typingctx: Any, array: Any, offset: Any) -> Any:
        """Ask for the memory ``offset`` bytes into an array's data, to be there when it is used a little later."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            pointer_type = ir.IntType(8).as_pointer()
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            pointer = builder.gep(builder.bitcast(data, pointer_type), [args[1]])
            number = ir.IntType(32)
            shape = ir.FunctionType(ir.VoidType(), [pointer_type, number, number, number])
            call = builder.module.declare_intrinsic("llvm.prefetch", [pointer_type], shape)
            reading, keep, data_cache = (ir.Constant(number, value) for value in (0, 3, 1))
            builder.call(call, [pointer, reading, keep, data_cache])
            return context.get_dummy_value()

        return types.void(array, types.intp), codegen

else:  # pragma: no cover

    def bits_of(number: Any) -> int:
        """The 64 bits of a float64, as an int64."""
        return int(np.float64(number).view(np.int64))

    def float_of(bits: Any) -> float:
        """The float64 that has these 64 bits; whole numbers of Python do not wrap around by themselves."""
        return float(np.uint64(int(bits) % 2**64).view(np.float64))

    def lowest_bit(bits: Any) -> int:
        """The number of the lowest bit that is set, of a number that is not zero."""
        return (int(bits) & -int(bits)).bit_length() - 1

    def count_bits(bits: Any) -> int:
        """How many bits of a number are set."""
        return int(bits).bit_count()

    def eight_bytes(array: Any, offset: Any) -> Any:
        """The eight bytes that begin ``offset`` bytes into an array of bytes, as a uint64."""
        return np.uint64(int.from_bytes(array[offset : offset + 8].tobytes(), sys.byteorder))

    def prefetch(array: Any, offset: Any) -> None:
        """Plain Python has nothing to prefetch."""

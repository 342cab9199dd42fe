"""What threads that meet need of the processor and of the system: numbers added to in one piece, and ways to wait.

All orders are sequentially consistent: what a thread wrote before it added is there for whoever has seen the sum. The
two calls of the system are named and found when a kernel is loaded, so that kernels that wait are cached like others.
"""

from __future__ import annotations

import platform
import sys
from typing import Any

from corollary._compiled._jit import HAVE_NUMBA

NAP = 50  # microseconds

if HAVE_NUMBA:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    def _word(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        """Where entry args[1] of the array args[0] is."""
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return cgutils.get_item_pointer(context, builder, signature.args[0], array, [args[1]], wraparound=False)

    @intrinsic
    def atomic_add(typingctx: Any, words: Any, index: Any, amount: Any) -> Any:
        """words[index] += amount in one piece; returns what was there before. ``words`` are int64."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.atomic_rmw("add", _word(context, builder, signature, args), args[2], "seq_cst")

        return types.int64(words, types.intp, types.int64), codegen

    @intrinsic
    def atomic_load(typingctx: Any, words: Any, index: Any) -> Any:
        """words[index] as other threads have left it, read anew every time."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load_atomic(_word(context, builder, signature, args), "seq_cst", 8)

        return types.int64(words, types.intp), codegen

    _HAS_PAUSE = platform.machine().lower() in ("x86_64", "amd64")

    @intrinsic
    def breathe(typingctx: Any) -> Any:
        """Let the other thread of this core go first for a moment, on processors that have a word for it."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            if _HAS_PAUSE:
                shape = ir.FunctionType(ir.VoidType(), [])
                builder.call(cgutils.get_or_insert_function(builder.module, shape, "llvm.x86.sse2.pause"), [])
            return context.get_dummy_value()

        return types.void(), codegen

    def _system_call(name: str, *numbers: int) -> Any:
        """The body of an intrinsic that calls a function of the system with these numbers."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = ir.IntType(32)
            shape = ir.FunctionType(number, [number] * len(numbers))
            function = cgutils.get_or_insert_function(builder.module, shape, name)
            builder.call(function, [ir.Constant(number, value) for value in numbers])
            return context.get_dummy_value()

        return types.void(), codegen

    _WINDOWS = sys.platform == "win32"

    @intrinsic
    def give_way(typingctx: Any) -> Any:
        """Let another thread have this core, if one is ready to run."""
        return _system_call("SwitchToThread") if _WINDOWS else _system_call("sched_yield")

    @intrinsic
    def nap(typingctx: Any) -> Any:
        """Sleep for ``NAP`` microseconds, or as shortly as the system can."""
        return _system_call("Sleep", 1) if _WINDOWS else _system_call("usleep", NAP)

else:  # pragma: no cover - one thread of plain Python: nothing can come between

    def atomic_add(words: Any, index: Any, amount: Any) -> Any:
        """words[index] += amount; returns what was there before."""
        before = words[index]
        words[index] += amount
        return before

    def atomic_load(words: Any, index: Any) -> Any:
        """words[index]."""
        return words[index]

    def breathe() -> None:
        """Nobody to wait for."""

    def give_way() -> None:
        """Nobody to wait for."""

    def nap() -> None:
        """Nobody to wait for."""

"""Products of centres with rows by BLAS, straight into memory that is there: ``np.dot`` takes a second to compile."""

from __future__ import annotations

from typing import Any

from corollary._compiled._jit import HAVE_NUMBA

if HAVE_NUMBA:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    @intrinsic
    def multiply(typingctx: Any, table: Any, rows: Any, start: Any, count: Any, products: Any) -> Any:
        """products[:, :count] = table · rows[start : start + count]ᵀ, all float32 in C order."""

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            one, whole, pointer = ir.IntType(8), ir.IntType(64), ir.IntType(8).as_pointer()
            given = [context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 1, 4)]
            (centres, d), (_, stride) = (cgutils.unpack_tuple(builder, given[k].shape) for k in (0, 2))
            first = builder.gep(given[1].data, [builder.mul(args[2], d)])
            factors = [cgutils.alloca_once_value(builder, ir.Constant(ir.FloatType(), value)) for value in (1.0, 0.0)]
            table, rows, out, by, plus = (
                builder.bitcast(place, pointer) for place in (given[0].data, first, given[2].data, *factors)
            )
            kind = [one] * 3 + [whole] * 3 + [pointer, pointer, whole, pointer, whole, pointer, pointer, whole]
            call = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), kind), "numba_xxgemm")
            letters = [ir.Constant(one, ord(letter)) for letter in "stn"]
            builder.call(call, [*letters, args[3], centres, d, by, rows, d, table, d, plus, out, stride])
            return context.get_dummy_value()

        return types.void(table, rows, types.intp, types.intp, products), codegen

else:  # pragma: no cover

    def multiply(table: Any, rows: Any, start: Any, count: Any, products: Any) -> None:
        """products[:, :count] = table · rows[start : start + count]ᵀ."""
        products[:, :count] = table @ rows[start : start + count].T

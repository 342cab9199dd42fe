"""A tile of a matrix product that is compared at once and never stored.

Eight queries meet the 32 rows (16 in float64) of a panel. The sums stay in vector registers from the first term to the
comparison: 8 × 32 of them at once where there are 32 wide registers, else 4 × 16. What comes out is one bit a pair.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from corollary._compiled._jit import HAVE_NUMBA

QUERIES = 8  # of a tile
PANEL_BYTES = 128  # of a column of a panel: two of the widest registers
_VECTOR_BYTES = 64

if HAVE_NUMBA:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic

    class _Emitter:
        """Writes the instructions of one call."""

        def __init__(self, context: Any, builder: Any, signature: Any, args: Any) -> None:
            panels, queries, cuts, hits = (
                context.make_array(signature.args[k])(context, builder, args[k]) for k in (0, 2, 4, 5)
            )
            dtype = signature.args[0].dtype
            self.builder, self.number = builder, context.get_data_type(dtype)
            self.lanes = _VECTOR_BYTES * 8 // dtype.bitwidth
            self.vector, self.align = ir.VectorType(self.number, self.lanes), dtype.bitwidth // 8
            self.depth = cgutils.unpack_tuple(builder, panels.shape)[1]
            self.panel = builder.gep(panels.data, [builder.mul(args[1], self._times(self.depth, 2 * self.lanes))])
            self.queries = builder.gep(queries.data, [builder.mul(args[3], self._times(self.depth, QUERIES))])
            self.cuts = builder.gep(cuts.data, [self._times(args[3], QUERIES)])
            self.hits = hits.data
            name = f"llvm.fmuladd.v{self.lanes}f{dtype.bitwidth}"
            shape = ir.FunctionType(self.vector, [self.vector] * 3)
            self.add_product = cgutils.get_or_insert_function(builder.module, shape, name)

        def _times(self, value: Any, factor: int) -> Any:
            return self.builder.mul(value, ir.Constant(value.type, factor))

        def _at(self, pointer: Any, offset: int) -> Any:
            return self.builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)])

        def _load(self, pointer: Any) -> Any:
            wide = self.builder.bitcast(pointer, self.vector.as_pointer())
            return self.builder.load(wide, align=self.align)

        def _spread(self, value: Any) -> Any:
            """A vector that has this value everywhere."""
            one = self.builder.insert_element(
                ir.Constant(self.vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0)
            )
            places = ir.Constant(ir.VectorType(ir.IntType(32), self.lanes), [0] * self.lanes)
            return self.builder.shuffle_vector(one, ir.Constant(self.vector, ir.Undefined), places)

        def sums(self, queries: range, vectors: range) -> list[list[Any]]:
            """The products of these queries with these vectors of rows."""
            builder = self.builder
            totals = [[cgutils.alloca_once(builder, self.vector) for _ in vectors] for _ in queries]
            for total in (total for line in totals for total in line):
                builder.store(ir.Constant(self.vector, [0.0] * self.lanes), total)
            with cgutils.for_range(builder, self.depth) as loop:
                column = builder.gep(self.panel, [self._times(loop.index, 2 * self.lanes)])
                own = builder.gep(self.queries, [self._times(loop.index, QUERIES)])
                rows = [self._load(self._at(column, v * self.lanes)) for v in vectors]
                for i, line in zip(queries, totals, strict=True):
                    factor = self._spread(builder.load(self._at(own, i)))
                    for row, total in zip(rows, line, strict=True):
                        builder.store(builder.call(self.add_product, [factor, row, builder.load(total)]), total)
            return [[builder.load(total) for total in line] for line in totals]

        def bits(self, i: int, v: int, total: Any) -> Any:
            """A bit for each sum that is not above the cut of query i, in the place of its row."""
            builder = self.builder
            inside = builder.fcmp_unordered("<=", total, self._spread(builder.load(self._at(self.cuts, i))))
            packed = builder.bitcast(inside, ir.IntType(self.lanes))
            wide = builder.zext(packed, ir.IntType(64))
            return builder.shl(wide, ir.Constant(ir.IntType(64), v * self.lanes))

    @intrinsic
    def tile_hits(typingctx: Any, panels: Any, panel: Any, queries: Any, tile: Any, cuts: Any, hits: Any) -> Any:
        """hits[i]: bit c is set unless Σ_j queries[tile, j, i]·panels[panel, j, c] > cuts[tile, i]; returns all bits.

        ``panels`` (·, d, PANEL_BYTES) and ``queries`` (·, d, QUERIES) are of one precision, in which sums are taken in
        the order of j; ``hits`` are int64.
        """

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            emitter = _Emitter(context, builder, signature, args)
            wide = "+avx512f" in context.codegen().magic_tuple()[2]
            most_queries, most_vectors = (QUERIES, 2) if wide else (QUERIES // 2, 1)
            found: list[Any] = [ir.Constant(ir.IntType(64), 0)] * QUERIES
            for first in range(0, QUERIES, most_queries):
                for begin in range(0, 2, most_vectors):
                    own, vectors = range(first, first + most_queries), range(begin, begin + most_vectors)
                    for i, line in zip(own, emitter.sums(own, vectors), strict=True):
                        for v, total in zip(vectors, line, strict=True):
                            found[i] = builder.or_(found[i], emitter.bits(i, v, total))
            every: Any = ir.Constant(ir.IntType(64), 0)
            for i, bits in enumerate(found):
                builder.store(bits, emitter._at(emitter.hits, i))
                every = builder.or_(every, bits)
            return every

        indices = types.intp
        return types.int64(panels, indices, queries, indices, cuts, hits), codegen

else:  # pragma: no cover

    def tile_hits(panels: Any, panel: Any, queries: Any, tile: Any, cuts: Any, hits: Any) -> Any:
        """hits[i]: bit c is set unless Σ_j queries[tile, j, i]·panels[panel, j, c] > cuts[tile, i]; all bits."""
        above = queries[tile].T @ panels[panel] > cuts[tile][:, None]
        bits = (~above * (np.int64(1) << np.arange(above.shape[1]))).sum(axis=1)
        hits[: len(bits)] = bits  # there may be room for more
        return np.bitwise_or.reduce(bits)

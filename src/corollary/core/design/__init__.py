"""How a solver touches X: dense, sparse, in blocks, as it is or centred and scaled. Nothing else knows the difference.

| file | holds |
|---|---|
| ``base`` | :class:`Design`, the operations that solvers need |
| ``dense`` | NumPy arrays, and views of them: rows go through a buffer in which they are shifted and scaled |
| ``sparse`` | SciPy matrices, and views of them: the algebra is corrected, the matrix stays as it is |
| ``view`` | what both kinds of views share |
| ``blocks`` | rows that are read again for every pass |
| ``constant`` | X with one more column, for an intercept that is penalised |
"""

from __future__ import annotations

from corollary.core.design.base import Design, Pass, Pointwise
from corollary.core.design.blocks import BlockDesign, as_design, gather
from corollary.core.design.constant import with_constant
from corollary.core.design.dense import DenseDesign, Scratch
from corollary.core.design.sparse import SparseDesign

__all__ = [
    "BlockDesign",
    "DenseDesign",
    "Design",
    "Pass",
    "Pointwise",
    "Scratch",
    "SparseDesign",
    "as_design",
    "gather",
    "with_constant",
]

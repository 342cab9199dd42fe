"""Rows of any kind (arrays, sparse matrices, pandas, polars and pyarrow tables) of which cells are taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse

from corollary.core.types import Array


@dataclass(frozen=True)
class Rows:
    """A table or an array, whichever came."""

    native: Any
    frame: Any = None  # the same as a narwhals frame, if it is a table

    @classmethod
    def of(cls, X: Any) -> Rows:
        frame = nw.from_native(X, eager_only=True, pass_through=True)
        if isinstance(frame, nw.DataFrame):
            return cls(X, frame)
        array = X if scipy.sparse.issparse(X) else np.asarray(X)
        if array.ndim != 2:
            raise ValueError(f"X must have two dimensions, rows and columns, but it has {array.ndim}.")
        return cls(array)

    @property
    def framed(self) -> bool:
        return self.frame is not None

    @property
    def count(self) -> int:
        return len(self.frame) if self.framed else int(self.native.shape[0])

    @property
    def width(self) -> int:
        return len(self.frame.columns) if self.framed else int(self.native.shape[1])

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.frame.columns] if self.framed else [f"x{j}" for j in range(self.width)]

    @property
    def index(self) -> Any:
        """The names of the rows, which pandas has."""
        return getattr(self.native, "index", None) if self.framed else None

    def as_pandas(self) -> Any:
        """A pandas frame of the same cells, to be shown."""
        import pandas as pd

        return self.frame.to_pandas() if self.framed else pd.DataFrame(_dense(self.native), columns=self.names)

    def take(self, rows: Array) -> Any:
        """Some of the rows, as what they came as."""
        if self.framed:
            return self.frame[rows.tolist()].to_native()
        return self.native[rows]

    def over(self, other: Rows) -> Rows:
        """These rows with those of another below them; sparse ones become dense, and categories those of these."""
        if not self.framed:
            below = other.native if not other.framed else other.as_pandas().to_numpy()
            return Rows(np.concatenate([_dense(self.native), _dense(below)]))
        if not other.framed:  # rows that a model keeps have no names
            kind = self.frame.implementation
            return self.over(Rows.of(nw.from_numpy(_dense(other.native), self.frame.columns, backend=kind).to_native()))
        if other.names != self.names:
            raise ValueError(f"background must have the columns of X, {self.names[:8]}, by name.")
        above, below = self.frame, other.frame
        for name, kind in above.schema.items():
            if kind.is_numeric() and below.schema[name] != kind:
                above, below = (each.with_columns(nw.col(name).cast(nw.Float64)) for each in (above, below))
            elif below.schema[name] != kind:
                below = below.with_columns(nw.col(name).cast(kind))
        if above.implementation.is_pandas():  # categories that differ would become plain objects
            kinds = {name: kind for name, kind in self.native.dtypes.items() if str(kind) == "category"}
            below = nw.from_native(below.to_native().astype(kinds), eager_only=True)
        return Rows.of(nw.concat([above, below]).to_native())

    def mixed(self, chosen: Array, groups: Array) -> Any:
        """Rows made of cells: column j of the m-th has the value of row ``chosen[m, groups[j]]``."""
        if not self.framed:
            return self.native[chosen[:, groups], np.arange(self.width)]
        columns = [
            self.frame.get_column(name)[chosen[:, group].tolist()].alias(name)
            for name, group in zip(self.frame.columns, groups, strict=True)
        ]
        if self.frame.implementation.is_pandas():
            import pandas as pd

            parts = [column.to_native().reset_index(drop=True) for column in columns]
            return pd.concat(parts, axis=1)
        return nw.DataFrame.from_dict(
            {column.name: column for column in columns}, backend=self.frame.implementation
        ).to_native()


def _dense(X: Any) -> Array:
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X)

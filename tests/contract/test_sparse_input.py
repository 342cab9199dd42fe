"""Sparse matrices of any make: malformed ones are refused, entries that are stored twice are added up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import unlabelled
from instances import FIRST, Case, assert_close, every, outputs
from scipy import sparse

from corollary import Blocks
from corollary.core.door.sparse_input import sound

SPARSE: list[Any] = [case for case in [*FIRST, *unlabelled.FIRST] if case.sparse]


def data_of(case: Any) -> tuple[Any, ...]:
    X, *y = case.data() if isinstance(case, Case) else (case.rows(),)
    return (np.where(np.abs(X) < 0.5, 0.0, X), *y)


def answers(model: Any, X: Any) -> dict[str, Any]:
    found = outputs(model, X) | unlabelled.said(model, X)
    return found | {name: getattr(model, name) for name in ("labels_", "inertia_") if hasattr(model, name)}


def twice(X: Any, kind: type) -> Any:
    """X with every entry stored as two halves, columns in falling order, and a few pairs that cancel each other."""
    row, column = np.nonzero(X)
    zero = np.argwhere(X == 0)[:3].T
    rows = np.concatenate([row, row, zero[0], zero[0]])
    columns = np.concatenate([column, column, zero[1], zero[1]])
    values = np.concatenate([X[row, column] / 2, X[row, column] / 2, [5.0] * 3, [-5.0] * 3])
    order = np.lexsort([-columns, rows])
    pointers = np.searchsorted(rows[order], np.arange(len(X) + 1))
    return kind((values[order], columns[order], pointers), shape=X.shape)


def containers(X: Any) -> dict[str, Any]:
    doubled = twice(X, sparse.csr_array)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    spare = sparse.csr_matrix(X)
    spare.data, spare.indices = np.append(spare.data, np.nan), np.append(spare.indices, 99)  # beyond the last row
    stale = twice(X, sparse.csr_matrix)
    stale.has_canonical_format = True
    return {
        "csr_array with duplicates": doubled,
        "csr_matrix with duplicates": twice(X, sparse.csr_matrix),
        "csc with duplicates": twice(X.T.copy(), sparse.csr_array).T,
        "csr that says it has none": stale,
        "coo with duplicates": doubled.tocoo(),
        "bsr": sparse.bsr_array(X),
        "lil": sparse.lil_array(X),
        "dok": sparse.dok_array(X),
        "64-bit indices": wide,
        "spare memory": spare,
    }


@every(SPARSE)
def test_entries_stored_twice_are_added_up(case: Any) -> None:
    X, *y = data_of(case)
    plain = answers(case.make().fit(sparse.csr_array(X), *y), sparse.csr_array(X))
    for what, held in containers(X).items():
        arrays = [part for part in (getattr(held, name, None) for name in ("data", "indices")) if part is not None]
        before = [np.array(part, copy=True) for part in arrays]
        found = answers(case.make().fit(held, *y), held)
        assert_close(found, plain, rtol=1e-7, atol=1e-7)
        for part, old in zip(arrays, before, strict=True):
            np.testing.assert_array_equal(part, old, err_msg=f"{what} was changed")


def broken(X: Any) -> dict[str, Any]:
    """Matrices that SciPy let pass, or that were changed since."""

    def spoil(kind: Any, name: str, change: Any) -> Any:
        matrix = kind(X)
        setattr(matrix, name, change(getattr(matrix, name).copy()))
        return matrix

    def at(position: int, value: int) -> Any:
        def change(array: Any) -> Any:
            array[position] = value
            return array

        return change

    d, n = X.shape[1], X.shape[0]
    return {
        "a column too far": spoil(sparse.csr_array, "indices", at(7, d)),
        "a column far too far": spoil(sparse.csr_matrix, "indices", at(7, 2**30)),
        "a negative column": spoil(sparse.csr_array, "indices", at(3, -1)),
        "a row too far": spoil(sparse.csc_array, "indices", at(7, n)),
        "a negative row": spoil(sparse.csc_matrix, "indices", at(0, -5)),
        "pointers that fall": spoil(sparse.csr_array, "indptr", at(4, 2**20)),
        "pointers that begin late": spoil(sparse.csr_array, "indptr", at(0, 3)),
        "pointers that end late": spoil(sparse.csr_array, "indptr", at(-1, 2**20)),
        "too few pointers": spoil(sparse.csr_array, "indptr", lambda array: array[:-2]),
        "too few indices": spoil(sparse.csr_array, "indices", lambda array: array[:-2]),
        "too few values": spoil(sparse.csc_array, "data", lambda array: array[:-2]),
        "indices that are no integers": spoil(sparse.csr_array, "indices", lambda array: array.astype(float)),
    }


@every(SPARSE)
def test_malformed_matrices_are_refused(case: Any) -> None:
    X, *y = data_of(case)
    model = case.make().fit(X, *y)
    ask = next(getattr(model, name) for name in ("predict", "transform", "kneighbors", "fit") if hasattr(model, name))
    for held in broken(X).values():
        with pytest.raises(ValueError, match=r"X is a malformed CS[RC] matrix of shape"):
            case.make().fit(held, *y)
        with pytest.raises(ValueError, match=r"X is a malformed CS[RC] matrix of shape"):
            ask(held)


def test_malformed_coordinates_and_blocks_are_refused() -> None:
    X = np.eye(6)
    far = sparse.coo_array(X)
    far.coords = (far.coords[0], np.full_like(far.coords[1], 6))
    with pytest.raises(ValueError, match="coordinates must be from 0 to 5, but one is 6"):
        sound(far)
    block = sparse.bsr_array(X, blocksize=(2, 2))
    block.indices[1] = 3
    with pytest.raises(ValueError, match="malformed BSR"):
        sound(block)
    listed = sparse.lil_array(X)
    listed.rows[2] = [77]
    with pytest.raises(ValueError, match="indices must be from 0 to 5, but one is 77"):
        sound(listed)


def test_malformed_blocks_of_rows_are_refused() -> None:
    case = next(case for case in FIRST if case.name == "Ridge")
    X, y = data_of(case)
    held = broken(X)["a row too far"]
    with pytest.raises(ValueError, match="Block 0: X is a malformed CSC"):
        case.make().fit(Blocks([(held, y)]))
    with pytest.raises(ValueError, match="malformed CSC"):
        case.make().fit(Blocks((held, y)))


def test_a_malformed_connectivity_is_refused() -> None:
    case = next(case for case in unlabelled.FIRST if case.name == "AgglomerativeClustering")
    graph = sparse.csr_array(np.ones((unlabelled.N_ROWS, unlabelled.N_ROWS)))
    graph.indices[3] = 2**30
    with pytest.raises(ValueError, match="connectivity is a malformed CSR"):
        case.make(connectivity=graph).fit(case.rows())


def test_what_is_sound_is_not_copied() -> None:
    for X in (np.eye(3), sparse.csr_array(np.eye(3)), sparse.csc_matrix(np.eye(3))):
        assert sound(X) is X

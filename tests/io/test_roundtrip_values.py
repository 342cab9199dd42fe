"""Every kind of value that a model may hold comes back as it was."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from model_files import assert_same, parts_of
from sklearn.feature_selection import f_regression
from sklearn.preprocessing import StandardScaler

from corollary import io
from corollary.core.evidence import Certificate, Evidence, Kind, Status

RNG = np.random.default_rng(0)
EVIDENCE = Evidence(
    status=Status.MAX_ITER,
    certificate=Certificate(Kind.OPTIMAL, "relative duality gap", 1e-3, 1e-8),
    solver="coordinate descent",
    n_iter=7,
    seconds=0.25,
    history={"iteration": [0, 1], "gap": np.array([1.0, 1e-3])},
    facts={"condition number": float("inf")},
    notes=("2 columns are constant.",),
)


def through_a_file(value, tmp_path):
    """Save a value as an attribute of an estimator, and load it."""
    path = tmp_path / "value.corollary"
    io.save(StandardScaler(copy=value), path)
    return io.load(path).copy


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 2**100, -0.0, 0.1, 5e-324, 1.7976931348623157e308),
        *(float("nan"), float("inf"), float("-inf"), 1 + 2j, complex("nan")),
        *("", "naïve ≤ 𝛼", "\ud800", "line\nbreak\x00", b"", b"\x00\xff"),
        *([], [1, [2.0, None]], (), (1, ("a", [])), {}, {"b": 1, "a": {"estimator": 2}}),
        *({1: "x", None: "y", (1, "z"): 2.5, 1.5: 3, True + 1: 4}, {0: 1.0, 1: 2.0}),
        *(set(), {1, "a", None}, frozenset({(1, 2), 3})),
        *(slice(None), slice(1, None, -2), slice("a", "b"), range(3), range(9, -1, -2)),
        *(float, int, str, bool, object, np.float64, np.float32, np.int64, np.number, np.object_),
        *(np.dtype("float32"), np.dtype(object), np.dtype("<U7"), np.dtype("datetime64[ns]")),
        *(np.log1p, np.expm1, np.sqrt, f_regression),
        *(Status.SEPARABLE, Certificate(Kind.OPTIMAL, "gap", float("nan"), 1e-9), EVIDENCE),
    ],
)
def test_plain_values(value, tmp_path):
    assert_same(value, through_a_file(value, tmp_path))


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1),
        np.float32("nan"),
        np.float16(-0.0),
        np.int8(-3),
        np.uint64(2**64 - 1),
        np.bool_(True),
        np.str_("é"),
        np.bytes_(b"\xff"),
        np.complex64(1 - 2j),
        np.datetime64("2024-02-29", "D"),
        np.timedelta64(5, "ms"),
    ],
)
def test_numpy_scalars(value, tmp_path):
    back = through_a_file(value, tmp_path)
    assert type(back) is type(value)
    assert back.dtype == value.dtype
    assert back.tobytes() == value.tobytes()


@pytest.mark.parametrize(
    "value",
    [
        RNG.normal(size=(5, 3)),
        np.asfortranarray(RNG.normal(size=(5, 3))),
        RNG.normal(size=(6, 8))[::2, 1::3],
        RNG.normal(size=(2, 3, 4)).astype(np.float32).transpose(2, 0, 1),
        np.array(3.5),
        np.empty((0, 4)),
        np.array([np.nan, np.inf, -0.0]),
        np.arange(7, dtype=">i2"),
        np.array([True, False]),
        np.array([1 + 1j], dtype=np.complex64),
        np.array(["a", "ünï", ""]),
        np.array([b"a", b"bcd"]),
        np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[25s]"),
        np.array(["x", None, np.nan, 1, 2.5, True, b"y"], dtype=object),
        np.array([["a", "b"], ["c", None]], dtype=object),
        np.array([], dtype=object),
        np.zeros(200_000),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays(value, tmp_path):
    back = through_a_file(value, tmp_path)
    assert (back.dtype, back.shape) == (value.dtype, value.shape)
    assert_same(value.tolist(), back.tolist())
    assert back.flags.writeable
    if value.flags.f_contiguous or value.flags.c_contiguous:
        assert (back.flags.f_contiguous, back.flags.c_contiguous) == (
            value.flags.f_contiguous,
            value.flags.c_contiguous,
        )


def test_the_loaded_array_owns_its_memory(tmp_path):
    assert through_a_file(RNG.normal(size=4), tmp_path).flags.owndata


@pytest.mark.parametrize("flavour", ["array", "matrix"])
@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrices(form, flavour, tmp_path):
    dense = RNG.normal(size=(6, 4)) * (RNG.random((6, 4)) < 0.4)
    value = getattr(scipy.sparse, f"{form}_{flavour}")(dense.astype(np.float32))
    assert_same(value, through_a_file(value, tmp_path))


def test_missing_values_of_pandas(tmp_path):
    value = np.array(["a", pd.NA, pd.NaT, None], dtype=object)
    back = through_a_file(value, tmp_path)
    assert all(a is b or a == b for a, b in zip(value, back, strict=True))


def test_a_pandas_index_becomes_the_list_of_its_names(tmp_path):
    assert through_a_file(pd.Index(["a", "b"]), tmp_path) == ["a", "b"]
    assert through_a_file(pd.DataFrame(columns=["a", 2]).columns, tmp_path) == ["a", 2]


def test_frames_of_numbers(tmp_path):
    """Such as a table of costs."""
    frame = pd.DataFrame([[0.0, 1.5], [20.0, 0.0]], index=["ill", "well"], columns=[1, True])
    pd.testing.assert_frame_equal(through_a_file(frame, tmp_path), frame)
    for other in (pd.DataFrame({"a": ["text"]}), pd.DataFrame([[1.0]], columns=[("a", "b")])):
        with pytest.raises(io.ModelFileError, match="only frames of numbers"):
            through_a_file(other, tmp_path)


def test_random_states_continue_where_they_were(tmp_path):
    state = np.random.RandomState(3)
    state.normal(size=5)
    back = through_a_file(state, tmp_path)
    assert np.array_equal(back.normal(size=2000), state.normal(size=2000))


def test_an_array_used_twice_is_stored_once_and_still_shared(tmp_path):
    array = RNG.normal(size=50)
    first, second, other = through_a_file([array, array, array.copy()], tmp_path)
    assert first is second
    assert first is not other
    assert sorted(parts_of(tmp_path / "value.corollary")) == ["arrays/0.npy", "arrays/1.npy", "model.json"]


def test_members_are_plain_npy_files(tmp_path):
    value = np.asfortranarray(RNG.normal(size=(20, 3)))
    through_a_file(value, tmp_path)
    (tmp_path / "a.npy").write_bytes(parts_of(tmp_path / "value.corollary")["arrays/0.npy"])
    array = np.load(tmp_path / "a.npy", allow_pickle=False)
    assert np.array_equal(array, value)
    assert array.flags.f_contiguous


def test_what_repeats_is_compressed(tmp_path):
    through_a_file(np.zeros(100_000), tmp_path)
    assert (tmp_path / "value.corollary").stat().st_size < 5_000


def test_memory_maps_become_arrays(tmp_path):
    mapped = np.memmap(tmp_path / "raw", dtype=float, mode="w+", shape=(4,))
    mapped[:] = 1.5
    assert_same(np.full(4, 1.5), through_a_file(mapped, tmp_path))


LEAVES = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text() | st.binary(max_size=8)
KEYS = st.text(max_size=5) | st.integers() | st.tuples(st.booleans(), st.text(max_size=3))
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.frozensets(st.text(max_size=3), max_size=3)
    ),
    max_leaves=20,
)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(TREES)
def test_any_nesting_of_plain_values(tmp_path, value):
    assert_same(value, through_a_file(value, tmp_path))

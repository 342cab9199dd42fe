"""Changes to a saved model: to its arrays, to its description, and to both with pieces of another model."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from corollary.io import _versions
from corollary.io.archive import array_name, describe_array
from corollary.io.encode import Encoder
from corollary.io.header import Header, npy_prefix

Array = Any
Content = tuple[Any, list[Array]]

_NUMBERS = [np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-320, 1e160, -1.0, 0.0, 0.5, 2.0, 1e9, -(2.0**31), 2.0**31]
_WHOLES = [-(2**63), -(2**31), 2**31 - 1, 2**31, 2**63 - 1, -2, -1, 0, 1, 2, 3, 5, 30, 60, 1000, 10**6]
_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 60, 2**31, 2**62, -(2**63), 0.5, -0.5, 1.5, 1e308, -1e308, 1e-320, ""),
    *("x", "full", "diag", "cosine", "precomputed", "squared_error", "hinge", "poisson", "predict", "drop", "gini"),
    *([], {}, [[]], [1, 2], ["a"], {"tuple": []}, {"dict": {}}, {"float": "nan"}, {"float": "inf"}, {"float": "-inf"}),
    *({"objects": [[0], []]}, {"objects": [[2], ["a", 1]]}, {"items": [[0, 1]]}, {"type": "int"}, {"dtype": "|O"}),
    *({"function": "numpy:log"}, {"scalar": ["int64", 5]}, {"scalar": ["float32", 1.5]}, {"bytes": "AAAA"}),
    *(
        {"part": {"class": "loss:Huber", "parameters": {"delta": 1.0}}},
        {"part": {"class": "loss:Logistic", "parameters": {}}},
        {"part": {"class": "penalty:L1", "parameters": {"strength": 1.0}}},
        {"estimator": {"class": "corollary:Ridge", "attributes": {}}},
        {"estimator": {"class": "corollary:GaussianMixture", "attributes": {}}},
    ),
    *({"status": "EXACT"}, {"kind": "OPTIMAL"}, {"slice": [None, None, None]}, {"range": [0, 3, 1]}),
]


def encoded(model: Any) -> Content:
    """A model as its file holds it."""
    encoder = Encoder()
    return encoder.encode(model), encoder.arrays


def write(path: Path, content: Content) -> None:
    """A file with the hashes and checksums that a forger would make."""
    tree, arrays = content
    arrays = [np.asarray(array, order="K" if _contiguous(array) else "C") for array in arrays]
    entries = tuple(describe_array(array) for array in arrays)
    header = Header(1, "2025-01-01T00:00:00+00:00", _versions(), entries, tree)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("model.json"), header.to_bytes())
        for number, (array, entry) in enumerate(zip(arrays, entries, strict=True)):
            data = npy_prefix(entry.dtype, entry.shape, entry.fortran) + array.ravel(order="K").tobytes()
            archive.writestr(zipfile.ZipInfo(array_name(number)), data)


def _contiguous(array: Array) -> bool:
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)


def mutated(content: Content, other: Content, rng: np.random.Generator) -> tuple[Content, str]:
    """The content with one to three changes, and what they are."""
    tree, arrays = copy.deepcopy(content[0]), list(content[1])
    said = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        if arrays and rng.random() < 0.55:
            number = int(rng.integers(len(arrays)))
            change: Callable[..., Array] = _CHANGES[int(rng.integers(len(_CHANGES)))]
            try:
                arrays[number] = change(arrays[number], arrays, other[1], rng)
            except (ValueError, TypeError, IndexError, OverflowError):
                continue  # there is nothing to change in this way
            said.append(f"array {number} ({arrays[number].dtype}{arrays[number].shape}): {change.__name__}")
        else:
            said.append(_describe(tree, arrays, other, rng))
    return _tidied(tree, arrays), "; ".join(said)


# ------------------------------------------------------------------------------------------------------------- arrays


def _some(array: Array, rng: np.random.Generator) -> Array:
    return rng.integers(array.size, size=int(rng.choice([1, 1, 2, array.size])))


def odd_values(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    out = array.copy()
    choices = _NUMBERS if array.dtype.kind == "f" else _WHOLES
    with np.errstate(all="ignore"):
        odd = np.array([choices[int(rng.integers(len(choices)))]]).astype(array.dtype)
    out.reshape(-1)[_some(array, rng)] = odd[0]
    return out


def nudged(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    out = array.copy()
    flat = out.reshape(-1)
    flat[_some(array, rng)] += np.array(rng.choice([1, -1, 2])).astype(array.dtype)
    return out


def flipped_byte(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    data = bytearray(np.ascontiguousarray(array).tobytes())
    data[int(rng.integers(len(data)))] ^= int(rng.integers(1, 256))
    return np.frombuffer(bytes(data), dtype=array.dtype).reshape(array.shape).copy()


def permuted(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return rng.permutation(array)


def one_for_all(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return np.full_like(array, array.reshape(-1)[int(rng.integers(array.size))])


def copied_place(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    """A node's child becomes another's, a label another label."""
    out = array.copy()
    out.reshape(-1)[_some(array, rng)] = out.reshape(-1)[int(rng.integers(array.size))]
    return out


def cut(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return array[: int(rng.integers(len(array)))].copy()


def cut_columns(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return array[..., : int(rng.integers(array.shape[-1]))].copy()


def doubled(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return np.concatenate([array, array], axis=int(rng.integers(array.ndim)))


def extended(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return np.concatenate([array, array[-1:]])


def emptied(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return array[:0].copy()


def transposed(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return array.T if rng.random() < 0.5 else array.T.copy()


def flat(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return array.ravel().copy()


def widened(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    return array[..., None].copy() if rng.random() < 0.5 else array[None].copy()


def other_type(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    kinds = ["float64", "float32", "float16", "int64", "int32", "int8", "uint8", "uint32", "uint64", "bool", "U4"]
    kinds += ["complex128", ">f8", ">i4"]
    with np.errstate(all="ignore"):
        return array.astype(kinds[int(rng.integers(len(kinds)))])


def swapped(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    found: Array = arrays[int(rng.integers(len(arrays)))]
    return found


def foreign(array: Array, arrays: Any, others: Any, rng: np.random.Generator) -> Array:
    found: Array = others[int(rng.integers(len(others)))]
    return found


_CHANGES = (odd_values, odd_values, odd_values, nudged, nudged, flipped_byte, permuted, one_for_all, copied_place)
_CHANGES += (copied_place, cut, cut_columns, doubled, extended, emptied, transposed, flat, widened, other_type)
_CHANGES += (swapped, foreign)


# ----------------------------------------------------------------------------------------------------- the description


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON document."""
    found, waiting = [], [node]
    while waiting:
        here = waiting.pop()
        keys = list(here) if isinstance(here, dict) else range(len(here)) if isinstance(here, list) else ()
        for key in keys:
            found.append((here, key))
            waiting.append(here[key])
    return found


def _describe(tree: Any, arrays: list[Array], other: Content, rng: np.random.Generator) -> str:
    """Change the description in place."""
    if not places(tree):
        return "nothing left to change"
    here, key = _drawn(places(tree), rng)
    action = int(rng.integers(7))
    if action == 0:
        del here[key]
        return f"without {key!r}"
    if action == 1 and isinstance(here, dict):
        there, name = _drawn(places(tree), rng)
        new = name if isinstance(name, str) else "extra_"
        here[new] = copy.deepcopy(here[key])
        return f"{key!r} also as {new!r}"
    if action == 2:
        there, name = _drawn(places(tree), rng)
        here[key] = copy.deepcopy(there[name])
        return f"{key!r} becomes {name!r}"
    if action == 3:  # an attribute of another model, with its arrays
        there, name = _drawn(places(other[0]), rng)
        here[key if rng.random() < 0.5 or not isinstance(here, dict) else str(name)] = _moved(
            there[name], arrays, other
        )
        return f"{key!r} from another model's {name!r}"
    if action == 4 and isinstance(here[key], list) and here[key]:
        items = here[key]
        at = int(rng.integers(len(items)))
        here[key] = items[:at] if rng.random() < 0.5 else [*items, copy.deepcopy(items[at])]
        return f"{key!r} cut or grown"
    if isinstance(here[key], int | float) and not isinstance(here[key], bool) and action == 5:
        here[key] = here[key] + [1, -1, 2, 100][int(rng.integers(4))]
        return f"{key!r} nudged to {here[key]}"
    here[key] = copy.deepcopy(_VALUES[int(rng.integers(len(_VALUES)))])
    return f"{key!r} is {json.dumps(here[key])[:60]}"


def _drawn(found: list[Any], rng: np.random.Generator) -> Any:
    return found[int(rng.integers(len(found)))]


def _moved(node: Any, arrays: list[Array], other: Content) -> Any:
    """A piece of another model's description whose arrays now stand at the end of ours."""
    holder = [copy.deepcopy(node)]
    for here, key in places(holder):
        if key == "array" and isinstance(here, dict) and isinstance(here[key], int) and here[key] < len(other[1]):
            arrays.append(other[1][here[key]])
            here[key] = len(arrays) - 1
    return holder[0]


def _tidied(tree: Any, arrays: list[Array]) -> Content:
    """Arrays that are not used any more are left out, as a forger would."""
    used: dict[int, int] = {}
    for here, key in places([tree]):
        number = here[key]
        if key == "array" and isinstance(here, dict) and type(number) is int and 0 <= number < len(arrays):
            here[key] = used.setdefault(number, len(used))
    return tree, [arrays[number] for number in used]

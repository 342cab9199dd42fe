"""However a file is changed, the outcome is a refusal or a model; flipped bits never change the model silently."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest
from model_files import assert_same, parts_of, write_zip
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

from corollary import io
from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.core.loss import Huber
from corollary.core.penalty import Group


def a_model():
    rng = np.random.default_rng(3)
    numbers = make_pipeline(SimpleImputer(), SplineTransformer(3), StandardScaler())
    words = OneHotEncoder(min_frequency=2, drop="first", handle_unknown="ignore")
    model = make_pipeline(make_column_transformer((numbers, [0]), (words, slice(1, 3)), sparse_threshold=0))
    X = np.column_stack([rng.integers(0, 9, 20), rng.choice(list("abc"), (20, 2))]).astype(object)
    model.fit(X)
    model.evidence_ = Evidence(
        Status.EXACT, Certificate(Kind.OPTIMAL, "gap", 0.0, 1e-9), "Cholesky", facts={"rank": 3.0}
    )
    model.extra_ = [np.float32(1.5), {1: {"a"}}, make_column_selector("x"), np.random.RandomState(0)]
    model.parts_ = (Huber(0.5), Group(0.25, [0, 1, 1]))
    return model


@pytest.fixture(scope="module")
def model():
    return a_model()


@pytest.fixture(scope="module")
def content(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("fuzz") / "model.corollary"
    io.save(model, path)
    return path.read_bytes()


def outcome(path, content):
    """The loaded model, or None if the file was refused; anything else is a failure of the test."""
    path.write_bytes(content)
    try:
        io.inspect(path)
        return io.load(path)
    except io.ModelFileError:
        return None


def test_flipped_bytes(model, content, tmp_path):
    rng = np.random.default_rng(4)
    refusals = 0
    for position in rng.choice(len(content), 500):
        changed = bytearray(content)
        changed[position] ^= rng.integers(1, 256)
        back = outcome(tmp_path / "m", bytes(changed))
        refusals += back is None
        if back is not None:
            assert_same(model, back)
    assert refusals > 300


def test_cut_zeroed_and_shuffled_pieces(model, content, tmp_path):
    rng = np.random.default_rng(5)
    for _ in range(100):
        a, b, c = sorted(rng.integers(0, len(content), 3))
        for changed in (content[:b], content[b:], content[:a] + content[b:], content[:a] + bytes(b - a) + content[b:]):
            back = outcome(tmp_path / "m", changed)
            if back is not None:
                assert_same(model, back)
        outcome(tmp_path / "m", content[:a] + content[b:c] + content[a:b] + content[c:])


def places_in(node, found):
    """Every (container, key) of a JSON document."""
    pairs = list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
    for key, inner in pairs:
        found.append((node, key))
        places_in(inner, found)
    return found


ODD_VALUES = [
    *(None, True, 0, -1, 1, 3, 2**70, 1.5, "", "x", "sklearn:Pipeline", "sklearn:f_classif", [], {}, [[]]),
    *({"tuple": []}, {"dict": {}}, {"array": 0}, {"array": 3}, {"float": "nan"}, {"type": "numpy.float64"}),
    *(
        {"objects": [[0], []]},
        {"estimator": {"class": "sklearn:StandardScaler", "attributes": {}}},
        {"items": [[1, 2]]},
    ),
    *({"function": "numpy:log"}, {"slice": [None, None, None]}, {"scalar": ["int64", 5]}, {"dtype": "|O"}),
]


@pytest.mark.filterwarnings("ignore::corollary.io.ModelVersionWarning")
def test_well_formed_files_with_odd_trees(content, tmp_path):
    """The hash and the checksums are right, as a forger would make them; only the description is changed."""
    rng = np.random.default_rng(6)
    path = tmp_path / "m"
    path.write_bytes(content)
    members = parts_of(path)
    original = json.loads(members["model.json"])
    loaded = 0
    for _ in range(400):
        document = copy.deepcopy(original)
        for _ in range(rng.integers(1, 3)):
            places = places_in(document, [])
            container, key = places[rng.integers(len(places))]
            action = rng.integers(4)
            if action == 0 and isinstance(container, dict):
                container[str(ODD_VALUES[rng.integers(len(ODD_VALUES))])] = container.pop(key)
            elif action == 1:
                del container[key]
            elif action == 2:
                other, name = places[rng.integers(len(places))]
                container[key] = copy.deepcopy(other[name])
            else:
                container[key] = copy.deepcopy(ODD_VALUES[rng.integers(len(ODD_VALUES))])
        members["model.json"] = json.dumps(document).encode()
        back = outcome(path, write_zip(path, list(members.items())).read_bytes())
        assert back is None or isinstance(back, BaseEstimator)
        loaded += back is not None
    assert 0 < loaded < 400

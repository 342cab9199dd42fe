"""`inspect` tells what is in a file without constructing it, and cannot be used to deceive the reader."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sklearn
from model_files import estimator, forge, parts_of, scaler, write_zip
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import corollary
from corollary import io
from corollary.core.evidence import Certificate, Evidence, Kind, Status


@pytest.fixture
def path(tmp_path):
    X = [[1.0, "a"], [2.0, "b"], [4.0, "a"]]
    prepare = make_column_transformer((StandardScaler(with_mean=False), [0]), (OneHotEncoder(drop="first"), [1]))
    model = Pipeline([("prepare", prepare), ("model", DummyRegressor(quantile=0.25))]).fit(X, [1.0, 2.0, 3.0])
    model["model"].evidence_ = Evidence(
        Status.CONVERGED,
        Certificate(Kind.OPTIMAL, "relative duality gap", 2e-10, 1e-8),
        "coordinate descent",
        12,
        0.5,
        history={"iteration": np.arange(12), "gap": np.logspace(0, -10, 12)},
        facts={"rank": np.float64(2), "spectrum": np.arange(3.0)},
    )
    io.save(model, tmp_path / "model.corollary")
    return tmp_path / "model.corollary"


def test_what_it_says(path):
    summary = io.inspect(path)
    assert summary.format_version == 1
    assert summary.library_version == corollary.__version__
    assert summary.versions["scikit-learn"] == sklearn.__version__
    assert summary.versions["numpy"] == np.__version__
    assert summary.created.endswith("+00:00")
    assert summary.class_id == "sklearn:Pipeline"
    assert summary.parameters["verbose"] == "False"
    assert (
        summary.evidence == "Optimal: relative duality gap 2e-10 ≤ 1e-08 by coordinate descent (12 iterations, 0.5 s)."
    )
    prepare, model = summary.estimator.nested
    assert [prepare.place, model.place] == ["step 'prepare'", "step 'model'"]
    assert [nested.class_id for nested in prepare.nested] == ["sklearn:StandardScaler", "sklearn:OneHotEncoder"]
    assert model.changed == {"quantile"}
    assert model.parameters["quantile"] == "0.25"
    scale = next(array for array in summary.arrays if array.place.endswith("scale_"))
    assert (scale.dtype, scale.shape, scale.nbytes) == ("float64", (1,), 8)
    assert scale.place == "step 'prepare' → transformer 'standardscaler' → scale_"
    with pytest.raises(dataclasses.FrozenInstanceError):
        summary.created = "never"


def test_what_is_printed(path):
    text = str(io.inspect(path))
    assert text.splitlines()[0] == f"{path}: Pipeline, {path.stat().st_size / 1000:.1f} kB"
    assert "    transformer 'standardscaler': sklearn:StandardScaler(with_mean=False)" in text
    assert "  step 'model': sklearn:DummyRegressor(quantile=0.25)" in text
    assert "evidence: Optimal" in text


def test_damage_is_found(path):
    members = parts_of(path)
    members["arrays/0.npy"] = members["arrays/0.npy"][:-1] + b"\x7f"
    write_zip(path, list(members.items()))
    with pytest.raises(io.ModelFileError, match="SHA-256"):
        io.inspect(path)


def test_nothing_is_constructed(tmp_path):
    path = forge(tmp_path / "m", estimator("sklearn:Unheard", alpha=5, steps=[{"tuple": ["s", scaler()]}]))
    with pytest.raises(io.ModelFileError, match="names the class"):
        io.load(path)
    summary = io.inspect(path)
    assert summary.class_id == "sklearn:Unheard"
    assert summary.parameters["alpha"] == "5"
    assert [nested.place for nested in summary.estimator.nested] == ["step 's'"]


def test_control_characters_are_not_printed(tmp_path):
    steps = [{"tuple": ["\x1b[2J\nfake line", scaler(copy="\x1b]0;")]}]
    path = forge(tmp_path / "m", estimator("sklearn:\x1b[31m", steps=steps))
    text = str(io.inspect(path))
    assert all(letter.isprintable() or letter == "\n" for letter in text)
    assert len(text.splitlines()) == 5


@pytest.mark.parametrize("model", [None, [], [scaler(), scaler()], {"estimator": 5}, {"dict": {}}, {"array": 0}])
def test_files_without_an_estimator(model, tmp_path):
    with pytest.raises(io.ModelFileError, match="cannot read"):
        io.inspect(forge(tmp_path / "m", model))


def test_the_deepest_nesting_that_json_allows(tmp_path):
    tree = {"tuple": ["a"]}
    for _ in range(300):
        tree = {"tuple": ["a", tree]}
    path = forge(tmp_path / "m", scaler(copy=tree))
    assert io.inspect(path).class_id == "sklearn:StandardScaler"
    with pytest.raises(io.ModelFileError, match="nested more than 64"):
        io.load(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        io.inspect(tmp_path / "missing")

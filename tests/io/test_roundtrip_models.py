"""Fitted transformers and pipelines give bit-identical answers after a round trip."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from model_files import assert_same
from sklearn import compose, decomposition, dummy, feature_selection, impute, model_selection, preprocessing
from sklearn.feature_extraction import text
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline

import corollary
from corollary import io, registry
from corollary.core.distribution import DISTRIBUTIONS, Categorical, Columns, Gaussian, Poisson
from corollary.core.graphical.cpd import LinearGaussian, LogisticCPD, NoisyOr, Table
from corollary.core.loss import LOSSES, EpsilonInsensitive, Huber, Quantile, Tweedie
from corollary.core.penalty import L0, L1, L2, ElasticNet, Group, NoPenalty, PositiveElasticNet
from corollary.io import classes

RNG = np.random.default_rng(1)
NUMBERS = RNG.normal(size=(60, 3))
GAPS = np.where(RNG.random(NUMBERS.shape) < 0.2, np.nan, NUMBERS)
WORDS = RNG.choice(["red", "green", "blue", "teal"], size=(60, 2), p=[0.5, 0.3, 0.15, 0.05]).astype(object)
HOLES = WORDS.copy()
HOLES[::7, 0] = None
LABELS = RNG.choice(["no", "yes"], 60)
TARGET = RNG.normal(size=60)
DOCUMENTS = [" ".join(RNG.choice(["cat", "dog", "sat", "the", "ran"], 6)) for _ in range(60)]


def round_trip(model, tmp_path):
    path = tmp_path / "model.corollary"
    io.save(model, path)
    back = io.load(path)
    assert_same(model, back)
    return back


def same_output(a, b):
    if scipy.sparse.issparse(a):
        a, b = a.toarray(), b.toarray()
    if hasattr(a, "columns"):
        assert type(a) is type(b)
        assert list(a.columns) == list(b.columns)
        assert a.equals(b)
    else:
        assert_same(np.asarray(a), np.asarray(b))


TRANSFORMERS = [
    (preprocessing.StandardScaler(), GAPS),
    (preprocessing.StandardScaler(with_mean=False), scipy.sparse.csr_array(NUMBERS * (NUMBERS > 0))),
    (preprocessing.StandardScaler(), NUMBERS.astype(np.float32)),
    (preprocessing.MinMaxScaler((-1, 1)), GAPS),
    (preprocessing.RobustScaler(), GAPS),
    (preprocessing.MaxAbsScaler(), GAPS),
    (preprocessing.Normalizer(), NUMBERS),
    (preprocessing.Binarizer(), NUMBERS),
    (preprocessing.QuantileTransformer(n_quantiles=20, random_state=np.random.RandomState(0)), GAPS),
    (preprocessing.PowerTransformer(), GAPS),
    (preprocessing.KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), NUMBERS),
    (preprocessing.OneHotEncoder(), HOLES),
    (preprocessing.OneHotEncoder(drop="if_binary", sparse_output=False, dtype=np.float32), WORDS),
    (preprocessing.OneHotEncoder(drop=["red", "teal"]), WORDS),
    (preprocessing.OneHotEncoder(min_frequency=0.2, handle_unknown="infrequent_if_exist"), HOLES),
    (preprocessing.OneHotEncoder(max_categories=2, drop="first"), WORDS),
    (preprocessing.OneHotEncoder(categories=[["teal", "red", "green", "blue"]] * 2), WORDS),
    (preprocessing.OneHotEncoder(), WORDS.astype(str)),
    (preprocessing.OneHotEncoder(), np.round(GAPS)),
    (preprocessing.OrdinalEncoder(encoded_missing_value=-1), HOLES),
    (preprocessing.OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan, min_frequency=5), HOLES),
    (preprocessing.TargetEncoder(), WORDS),
    (preprocessing.PolynomialFeatures(3, interaction_only=True), NUMBERS),
    (preprocessing.SplineTransformer(), NUMBERS),
    (preprocessing.SplineTransformer(extrapolation="periodic", knots="quantile", sparse_output=True), NUMBERS),
    (preprocessing.FunctionTransformer(), NUMBERS),
    (preprocessing.FunctionTransformer(np.arcsinh, np.sinh, check_inverse=False), NUMBERS),
    (impute.SimpleImputer(add_indicator=True), GAPS),
    (impute.SimpleImputer(strategy="most_frequent", missing_values=None), HOLES),
    (impute.SimpleImputer(strategy="constant", fill_value="?", missing_values=None), HOLES),
    (impute.KNNImputer(n_neighbors=3), GAPS),
    (impute.MissingIndicator(), GAPS),
    (feature_selection.VarianceThreshold(0.1), NUMBERS),
    (feature_selection.SelectKBest(feature_selection.f_classif, k=2), NUMBERS),
    (feature_selection.SelectPercentile(feature_selection.mutual_info_classif), NUMBERS),
    (decomposition.PCA(2, random_state=0), NUMBERS),
    (decomposition.TruncatedSVD(2, random_state=0), NUMBERS),
    (text.CountVectorizer(ngram_range=(1, 2), stop_words=["the"]), DOCUMENTS),
    (text.TfidfVectorizer(sublinear_tf=True), DOCUMENTS),
    (make_pipeline(text.CountVectorizer(vocabulary=["cat", "dog"]), text.TfidfTransformer()), DOCUMENTS),
    (FeatureUnion([("s", preprocessing.StandardScaler()), ("p", decomposition.PCA(1)), ("d", "drop")]), NUMBERS),
    (make_pipeline("passthrough", preprocessing.StandardScaler()), NUMBERS),
]


@pytest.mark.parametrize(("transformer", "X"), TRANSFORMERS, ids=lambda value: type(value).__name__)
def test_transformers(transformer, X, tmp_path):
    assert_same(transformer, round_trip(transformer, tmp_path))  # before fit
    model = sklearn.base.clone(transformer).fit(X, LABELS)
    back = round_trip(model, tmp_path)
    same_output(model.transform(X), back.transform(X))
    assert back.get_params().keys() == model.get_params().keys()
    names = getattr(model, "get_feature_names_out", None)
    if names is not None:
        assert_same(model.get_feature_names_out(), back.get_feature_names_out())
    sklearn.base.clone(back).fit(X, LABELS)


def test_every_class_of_the_table_is_tried_here():
    tried = {type(transformer).__name__ for transformer, _ in TRANSFORMERS}
    tried |= {type(splitter).__name__ for splitter in SPLITTERS}
    elsewhere = {"ColumnTransformer", "TransformedTargetRegressor", "make_column_selector", "SelectFromModel"}
    elsewhere |= {"LabelBinarizer", "LabelEncoder", "DummyClassifier", "DummyRegressor", "TfidfTransformer"}
    assert tried | elsewhere == {class_id.partition(":")[2] for class_id in classes.CLASSES}


SPLITTERS = [
    model_selection.GroupKFold(3),
    model_selection.KFold(3, shuffle=True, random_state=1),
    model_selection.LeaveOneOut(),
    model_selection.ShuffleSplit(4, test_size=0.2, random_state=2),
    model_selection.StratifiedKFold(3),
    model_selection.StratifiedShuffleSplit(2, random_state=np.random.RandomState(0)),
    model_selection.TimeSeriesSplit(3, gap=1),
]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=lambda splitter: type(splitter).__name__)
def test_splitters_as_parameters(splitter, tmp_path):
    back = round_trip(preprocessing.TargetEncoder(cv=splitter), tmp_path).cv
    groups = np.arange(60) % 7 if isinstance(splitter, model_selection.GroupKFold) else None
    assert_same(list(splitter.split(NUMBERS, LABELS, groups)), list(back.split(NUMBERS, LABELS, groups)))


@pytest.mark.parametrize("labels", [LABELS, LABELS.astype(object), RNG.integers(0, 5, 60), RNG.random(60) < 0.5])
def test_label_encoders(labels, tmp_path):
    for model in (
        preprocessing.LabelEncoder().fit(labels),
        preprocessing.LabelBinarizer(sparse_output=True).fit(labels),
    ):
        back = round_trip(model, tmp_path)
        same_output(model.transform(labels), back.transform(labels))


def table(n=80):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n).astype(float),
            "income": rng.lognormal(10, 1, n),
            "city": rng.choice(["Wien", "Graz", "Linz"], n),
            "job": rng.choice(["a", "b", "c", None], n),
            "vote": rng.choice([True, False], n),
            "kind": pd.Categorical(rng.choice(["p", "q"], n)),
        }
    )
    frame.loc[::9, "age"] = np.nan
    return frame


def column_transformer(**options):
    numeric = make_pipeline(impute.SimpleImputer(add_indicator=True), preprocessing.StandardScaler())
    text_like = make_pipeline(
        impute.SimpleImputer(strategy="most_frequent"),
        preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    parts = [
        ("num", numeric, ["age", "income"]),
        ("cat", text_like, ["city", "job"]),
        ("as-is", "passthrough", ["vote"]),
    ]
    return compose.ColumnTransformer(parts, **options)


@pytest.mark.parametrize("config", ["default", "pandas", "polars"])
@pytest.mark.parametrize("remainder", ["drop", "passthrough", preprocessing.OrdinalEncoder()], ids=str)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_pipelines_on_tables(frame, remainder, config, tmp_path):
    data = table() if frame is pd.DataFrame else pl.from_pandas(table().astype({"kind": str}))
    if config == "default" and remainder == "passthrough":
        remainder = "drop"  # letters cannot be stacked with numbers
    model = Pipeline([("prepare", column_transformer(remainder=remainder)), ("last", "passthrough")])
    model.set_output(transform=config).fit(data, table().vote)
    back = round_trip(model, tmp_path)
    same_output(model.transform(data), back.transform(data))
    assert back["prepare"].feature_names_in_.tolist() == list(data.columns)


@pytest.mark.parametrize(
    "columns",
    [
        compose.make_column_selector(dtype_include=np.number),
        compose.make_column_selector("^age|^inc", dtype_exclude=["str", "category"]),
        slice("age", "income"),
        slice(0, 2),
        [True, True, False, False, False, False],
        [0, 1],
        np.array([0, 1]),
        pd.Index(["age", "income"]),
    ],
)
def test_ways_to_choose_columns(columns, tmp_path):
    model = compose.ColumnTransformer([("n", preprocessing.StandardScaler(), columns)]).fit(table())
    path = tmp_path / "model.corollary"
    io.save(model, path)
    back = io.load(path)
    same_output(model.transform(table()), back.transform(table()))
    same_output(model.transform(table()), sklearn.base.clone(back).fit_transform(table()))


def test_transformed_target_and_dummies(tmp_path):
    model = compose.TransformedTargetRegressor(
        dummy.DummyRegressor(strategy="quantile", quantile=0.7),
        func=np.log1p,
        inverse_func=np.expm1,
        check_inverse=False,
    ).fit(NUMBERS, np.exp(TARGET))
    same_output(model.predict(NUMBERS), round_trip(model, tmp_path).predict(NUMBERS))
    model = dummy.DummyClassifier(strategy="stratified", random_state=4).fit(NUMBERS, LABELS)
    same_output(model.predict(NUMBERS), round_trip(model, tmp_path).predict(NUMBERS))


def test_selection_by_a_model(tmp_path):
    by_constant = feature_selection.SelectFromModel(
        dummy.DummyRegressor(), importance_getter="constant_", threshold=1.5
    )
    model = by_constant.fit(NUMBERS, np.tile([1.0, 2.0, 3.0], (60, 1)))
    assert model.transform(NUMBERS).shape == (60, 2)
    same_output(model.transform(NUMBERS), round_trip(model, tmp_path).transform(NUMBERS))


def test_a_pipeline_around_a_model_of_ours(tmp_path):
    model = Pipeline([("prepare", column_transformer()), ("model", corollary.Lasso(alpha=0.01))])
    model.fit(table(), table().vote.astype(float))
    back = round_trip(model, tmp_path)
    same_output(model.predict(table()), back.predict(table()))
    assert str(back["model"].evidence_) == str(model["model"].evidence_)
    model["model"].save(tmp_path / "lasso.corollary")
    assert_same(model["model"], corollary.Lasso.load(tmp_path / "lasso.corollary"))


PARTS = [
    *(cls() for cls in LOSSES.values()),
    *(Huber(0.5), Quantile(0.9), EpsilonInsensitive(0), Tweedie(1.9), Huber(np.float64(0.25)), Huber(2)),
    *(NoPenalty(), L1(0.1), L2(0.2), ElasticNet(0.1, 0.2), PositiveElasticNet(0.1), L0(1), Group(0.1, ["a", "b", "a"])),
    *(Table(), Table([[0.25, 0.75], [0.5, 0.5]]), NoisyOr(), NoisyOr(0.1, [0.5, 0.25], alpha=1), LogisticCPD(C=2.0)),
    *(LogisticCPD([[0.0, 0.0], [1.0, 2.0]], [0.0, 1.0], [2]), LinearGaussian(), LinearGaussian(1.0, [2.0], 0.5)),
    *(cls() for cls in DISTRIBUTIONS.values()),
    *(Gaussian("full", [0.1, 0.2]), Categorical([2, 3], 0.5), Columns([([0, 2], Gaussian()), ([1], Poisson(1.0))])),
]
HELD_BY = {"loss": corollary.LinearModel, "penalty": corollary.LinearModel, "distribution": corollary.Mixture}


@pytest.mark.parametrize("part", PARTS, ids=repr)
def test_parts(part, tmp_path):
    if part.kind in HELD_BY:
        again = getattr(round_trip(HELD_BY[part.kind](**{part.kind: part}), tmp_path), part.kind)
    else:  # anything that takes any value
        again = round_trip(preprocessing.FunctionTransformer(kw_args={"part": part}), tmp_path).kw_args["part"]
    assert again == part
    assert repr(again) == repr(part)


def test_every_part_of_the_registry_is_tried_here():
    named = {f"{kind}:{name}" for kind, (_, names) in registry.PARTS.items() for name in names.split()}
    assert {f"{part.kind}:{type(part).__name__}" for part in PARTS} == named
    assert {cls.__name__ for cls in LOSSES.values()} == set(registry.PARTS["loss"][1].split())


def test_metadata_routing_is_kept(tmp_path):
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = preprocessing.StandardScaler().set_fit_request(sample_weight="weight")
        back = round_trip(scaler, tmp_path)
        assert str(back.get_metadata_routing()) == str(scaler.get_metadata_routing())
        weight = RNG.random(60)
        a, b = (make_pipeline(model).fit(NUMBERS, weight=weight) for model in (scaler, back))
        same_output(a.transform(NUMBERS), b.transform(NUMBERS))


def test_incremental_fitting_continues(tmp_path):
    model = preprocessing.StandardScaler().partial_fit(NUMBERS[:30])
    back = round_trip(model, tmp_path)
    same_output(model.partial_fit(NUMBERS[30:]).transform(NUMBERS), back.partial_fit(NUMBERS[30:]).transform(NUMBERS))


def test_parameters_that_came_after_the_file_get_their_defaults(tmp_path):
    model = preprocessing.StandardScaler().fit(NUMBERS)
    del model.copy
    io.save(model, tmp_path / "old.corollary")
    assert io.load(tmp_path / "old.corollary").copy is True


def test_another_minor_version_of_scikit_learn_warns(tmp_path, monkeypatch):
    path = tmp_path / "model.corollary"
    io.save(preprocessing.StandardScaler(), path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monkeypatch.setattr(sklearn, "__version__", ".".join([*sklearn.__version__.split(".")[:2], "99"]))
        io.load(path)
    monkeypatch.setattr(sklearn, "__version__", "99.1.0")
    with pytest.warns(io.ModelVersionWarning, match=r"written with scikit-learn .* and this is 99\.1\.0"):
        io.load(path)


def test_transformers_of_the_registry_can_be_saved(tmp_path, monkeypatch):
    entry = registry.Entry("ModelSummary", "io.summary", "–", ("transform",))
    assert classes.identify_class(entry.load()) is None
    monkeypatch.setattr(registry, "TRANSFORMERS", {"ModelSummary": entry}, raising=False)
    assert classes.identify_class(entry.load()) == "corollary:ModelSummary"
    assert classes.resolve_class("corollary:ModelSummary") is entry.load()

"""Bayesian networks by name: questions, rows, interventions, and what is said of bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from corollary import BayesianNetwork
from corollary.io import load

YES = ["no", "yes"]


@pytest.fixture
def storm() -> BayesianNetwork:
    """The network of the notes: clouds make lightning and rain, lightning thunder, both together keep surfers away."""
    tables = {
        "StormClouds": [0.7, 0.3],
        "Lightning": (["StormClouds"], [[0.98, 0.02], [0.4, 0.6]]),
        "Rain": (["StormClouds"], [[0.9, 0.1], [0.2, 0.8]]),
        "Thunder": (["Lightning"], [[0.99, 0.01], [0.05, 0.95]]),
        "WindSurf": (["Lightning", "Rain"], [[[0.5, 0.5], [0.7, 0.3]], [[0.95, 0.05], [0.99, 0.01]]]),
    }
    return BayesianNetwork.from_tables(tables, dict.fromkeys(tables, YES))


def test_storm_clouds_of_the_notes(storm: BayesianNetwork) -> None:
    assert storm.independent("Thunder", ["WindSurf", "Rain", "StormClouds"], "Lightning")
    assert storm.independent("WindSurf", ["Thunder", "StormClouds"], ["Lightning", "Rain"])
    assert not storm.independent("Rain", "Lightning")
    assert storm.independent("Rain", "Lightning", "StormClouds")
    assert not storm.independent("Rain", "Lightning", ["StormClouds", "WindSurf"])  # a common effect opens the path
    assert storm.markov_blanket("Lightning") == ["StormClouds", "Rain", "Thunder", "WindSurf"]
    assert "Thunder ⊥ StormClouds, Rain, WindSurf | Lightning" in storm.independences()
    assert ("StormClouds", "Thunder") in storm.independent_pairs("Lightning")


def test_the_sums_of_the_notes(storm: BayesianNetwork) -> None:
    """P(S=1, L=0, R=1, T=0, W=1) is a product of five entries; P(S=1 | L=0, T=1) a ratio of two sums."""
    row = {"StormClouds": "yes", "Lightning": "no", "Rain": "yes", "Thunder": "no", "WindSurf": "yes"}
    product = 0.3 * 0.4 * 0.8 * 0.99 * 0.3
    assert storm.score_samples(pd.DataFrame([row]))[0] == pytest.approx(np.log(product), rel=1e-12)
    assert storm.query([], row).log_evidence == pytest.approx(np.log(product), rel=1e-12)
    answer = storm.query("StormClouds", {"Lightning": "no", "Thunder": "yes"})
    assert answer["StormClouds"]["yes"] == pytest.approx(0.3 * 0.4 / (0.3 * 0.4 + 0.7 * 0.98), rel=1e-12)
    assert storm.query("StormClouds")["StormClouds"]["yes"] == pytest.approx(0.3, rel=1e-12)


def test_methods_agree(storm: BayesianNetwork) -> None:
    given = {"Thunder": "yes", "WindSurf": "no"}
    tree, table = storm.query(None, given), storm.query(None, given, method="elimination")
    joint = storm.query(["Rain", "Lightning", "Thunder"], given, joint=True)
    assert joint.joint.shape == (2, 2, 2)
    assert joint.joint[..., 0].sum() == 0.0
    for name in tree:
        assert tree[name] == pytest.approx(table[name], abs=1e-12)
        assert storm.query(name, given)[name] == pytest.approx(tree[name], abs=1e-12)
        if name in joint:
            assert joint[name] == pytest.approx(tree[name], abs=1e-12)
    assert tree.log_evidence == pytest.approx(table.log_evidence) == pytest.approx(joint.log_evidence)
    for method in ("likelihood_weighting", "gibbs"):
        drawn = storm.query("Rain", given, method=method, random_state=0)
        assert drawn["Rain"] == pytest.approx(tree["Rain"], abs=5 * drawn.standard_error)
    assert "given Thunder = yes, WindSurf = no" in repr(tree)
    assert "log P(given)" in repr(tree)


def test_most_probable_explanation(storm: BayesianNetwork) -> None:
    best = storm.map_query(given={"Thunder": "yes"})
    whole = storm.query(["StormClouds", "Lightning", "Rain", "WindSurf"], {"Thunder": "yes"}, joint=True).joint
    assert best.probability == pytest.approx(whole.max(), rel=1e-12)
    assert dict(best) == {"StormClouds": "yes", "Lightning": "yes", "Rain": "yes", "WindSurf": "no"}
    single = storm.map_query("Rain", {"WindSurf": "yes"})
    assert single.probability == pytest.approx(max(storm.query("Rain", {"WindSurf": "yes"})["Rain"].values()))


def test_seeing_is_not_doing(storm: BayesianNetwork) -> None:
    done = storm.do(Rain="yes")
    assert done.query("StormClouds")["StormClouds"]["yes"] == pytest.approx(0.3)
    assert storm.query("StormClouds", {"Rain": "yes"})["StormClouds"]["yes"] > 0.7
    truth = sum(
        p * storm.query("WindSurf", {"StormClouds": s, "Rain": "yes"})["WindSurf"]["yes"]
        for s, p in zip(YES, [0.7, 0.3], strict=True)
    )
    assert done.query("WindSurf")["WindSurf"]["yes"] == pytest.approx(truth, rel=1e-12)
    assert done.independent("Rain", "StormClouds")
    assert not storm.independent("Rain", "StormClouds")


def test_tables_are_learnt_and_gaps_summed_out(storm: BayesianNetwork) -> None:
    rows = storm.sample(20_000, random_state=0)
    model = BayesianNetwork(storm.edges, pseudo_counts=0.0).fit(rows)
    assert model.evidence_.holds
    assert model.evidence_.certificate.kind.name == "EXACT"
    assert model.evidence_.verify(rows)
    for table, truth in zip(model.tables_, storm.tables_, strict=True):
        np.testing.assert_allclose(table, truth, atol=0.05)
    gaps = rows.mask(np.random.default_rng(0).random(rows.shape) < 0.3)
    known = gaps.iloc[0].dropna().to_dict()
    assert model.score_samples(gaps[:1])[0] == pytest.approx(model.query([], known).log_evidence, rel=1e-12)
    for i, share in enumerate(model.posterior(gaps[:30], "Rain")):
        known = gaps.iloc[i].drop("Rain").dropna().to_dict()
        assert share[1] == pytest.approx(model.query("Rain", known)["Rain"]["yes"], abs=1e-12)
    again = model.posterior(gaps[["Thunder"]][:5], "Rain")  # a frame may lack columns
    assert again[0, 0] == pytest.approx(model.posterior(gaps[["Thunder"]][:1], "Rain")[0, 0])


def test_hidden_sinus_of_the_notes() -> None:
    """Flu and allergy inflame the sinus, which nobody sees, and that gives headaches and a running nose."""
    tables = {
        "Flu": [0.8, 0.2],
        "Allergy": [0.7, 0.3],
        "Sinus": (["Flu", "Allergy"], [[[0.95, 0.05], [0.3, 0.7]], [[0.25, 0.75], [0.05, 0.95]]]),
        "Headache": (["Sinus"], [[0.9, 0.1], [0.2, 0.8]]),
        "Nose": (["Sinus"], [[0.85, 0.15], [0.1, 0.9]]),
    }
    truth = BayesianNetwork.from_tables(tables, dict.fromkeys(tables, YES))
    rows = truth.sample(1500, random_state=1).drop(columns="Sinus")
    model = BayesianNetwork(truth.edges, states={"Sinus": 2}, pseudo_counts=0.0, random_state=0, n_init=3).fit(rows)
    assert model.evidence_.certificate.kind.name == "STATIONARY"
    assert model.evidence_.holds
    assert model.score(rows) >= truth.score(rows.assign(Sinus=None)) - 1e-3
    assert model.evidence_.verify(rows)
    nose = model.tables_[-1]
    model.tables_ = [*model.tables_[:-1], nose[:, ::-1].copy()]
    assert model.evidence_.verify(rows).stands is False
    model.tables_ = [*model.tables_[:-1], nose]
    ill = model.query("Headache", {"Flu": "yes"})["Headache"]["yes"]
    assert ill == pytest.approx(truth.query("Headache", {"Flu": "yes"})["Headache"]["yes"], abs=0.06)


def test_rows_given_findings(storm: BayesianNetwork) -> None:
    rows = storm.sample(4000, given={"Thunder": "yes"}, random_state=0)
    assert set(rows["Thunder"]) == {"yes"}
    for name, shares in storm.query(None, {"Thunder": "yes"}).items():
        assert (rows[name] == "yes").mean() == pytest.approx(shares["yes"], abs=0.03)
    pd.testing.assert_frame_equal(storm.sample(5, random_state=3), storm.sample(9, random_state=3)[:5])


def test_columns_of_any_type() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "text": rng.choice(["u", "v"], 200),
            "flag": rng.random(200) < 0.5,
            "few": rng.integers(1, 4, 200),
            "kind": pd.Categorical(rng.choice(["low", "high"], 200), categories=["low", "mid", "high"]),
            "size": rng.normal(size=200),
        }
    )
    model = BayesianNetwork([("text", "size"), ("flag", "kind")], n_bins=3).fit(frame)
    assert [states.tolist() for states in model.states_[:4]] == [
        ["u", "v"],
        [False, True],
        [1, 2, 3],
        ["low", "mid", "high"],
    ]
    assert len(model.states_[4]) == 3
    assert list(model.bins_) == [4]
    shares = np.bincount(np.searchsorted(model.bins_[4], frame["size"], side="left"))
    assert shares.max() - shares.min() <= 1
    assert model.query("text", {"size": 0.1, "flag": True, "few": 2.0}).given["size"] == model.states_[4][1]
    polars = pytest.importorskip("polars")
    kinds = polars.Series("kind", frame["kind"].astype(str).tolist(), dtype=polars.Enum(["low", "mid", "high"]))
    other = polars.from_pandas(frame.drop(columns="kind")).insert_column(3, kinds)
    same = BayesianNetwork([("text", "size"), ("flag", "kind")], n_bins=3).fit(other)
    np.testing.assert_allclose(same.score_samples(other), model.score_samples(frame))


def test_saved_and_loaded(storm: BayesianNetwork, tmp_path: Any) -> None:
    storm.save(tmp_path / "storm.zip")
    again = load(tmp_path / "storm.zip")
    assert again.marginals({"Rain": "yes"}).marginals == storm.marginals({"Rain": "yes"}).marginals


def test_a_table_may_be_written_by_states() -> None:
    network = BayesianNetwork.from_tables(
        {"a": {"x": 0.25, "y": 0.75}, "b": ("a", {"x": [0.5, 0.5], "y": {1: 1.0}})}, states={"b": [0, 1]}
    )
    assert network.query("b")["b"][1] == pytest.approx(0.875)


BAD: dict[str, tuple[Any, str]] = {
    "unknown variable": (lambda n: n.query("Rian"), "no variable 'Rian'.*Did you mean 'Rain'"),
    "unknown finding": (lambda n: n.query("Rain", {"thunder": "yes"}), "Did you mean 'Thunder'"),
    "unseen state": (lambda n: n.query("Rain", {"Thunder": "maybe"}), "no state 'maybe'; its states are 'no', 'yes'"),
    "twice": (lambda n: n.query(["Rain", "Rain"]), "named twice"),
    "method": (lambda n: n.query("Rain", method="magic"), "method must be one of 'auto'"),
    "x is y": (lambda n: n.independent("Rain", "Rain"), "different variables"),
    "x is given": (lambda n: n.independent("Rain", "Thunder", "Rain"), "different variables"),
    "unseen state in rows": (lambda n: n.score_samples(pd.DataFrame({"Rain": ["hail"]})), "no state 'hail'"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_questions(storm: BayesianNetwork, what: str) -> None:
    ask, message = BAD[what]
    with pytest.raises(ValueError, match=message):
        ask(storm)


def test_impossible_findings_are_named() -> None:
    network = BayesianNetwork.from_tables(
        {"a": [0.5, 0.5], "b": (["a"], [[1.0, 0.0], [0.0, 1.0]]), "c": [1.0, 0.0]}, {"a": YES, "b": YES, "c": YES}
    )
    with pytest.raises(ValueError, match="b = no cannot be when a = yes"):
        network.query("c", {"a": "yes", "b": "no"})
    for ask in (network.query, network.map_query, lambda v, given: network.query(v, given, method="elimination")):
        with pytest.raises(ValueError, match=r"probability zero in this network: c = yes cannot be\. "):
            ask("a", {"c": "yes"})
    assert network.query([], {"c": "no"}).log_evidence == 0.0


TABLES: dict[str, tuple[Any, str]] = {
    "no table of a parent": ({"b": (["a"], [[1, 0], [0, 1]])}, "parent 'a', for which there is no table"),
    "sum": ({"a": [0.5, 0.6]}, "'a' sums to 1.1"),
    "sum of a row": ({"a": [0.5, 0.5], "b": (["a"], [[1, 0], [0.2, 0.7]])}, "'b' sums to 0.9 for a = 1"),
    "shape": ({"a": [0.5, 0.5], "b": (["a"], [1, 0])}, r"'b' must have shape \(2, 2\)"),
    "negative": ({"a": [1.5, -0.5]}, "must hold probabilities"),
    "missing row": ({"a": [0.5, 0.5], "b": (["a"], {0: [1, 0]})}, "'b' has no row for a = 1"),
    "cycle": ({"a": (["b"], np.eye(2)), "b": (["a"], np.eye(2))}, "cycle: (a → b → a|b → a → b)"),
}


@pytest.mark.parametrize("what", TABLES)
def test_bad_tables(what: str) -> None:
    tables, message = TABLES[what]
    with pytest.raises(ValueError, match=message):
        BayesianNetwork.from_tables(tables)


FITS: dict[str, tuple[dict[str, Any], str]] = {
    "cycle": ({"edges": [("a", "b"), ("b", "a")]}, "cycle: (a → b → a|b → a → b)"),
    "unknown": ({"edges": [("a", "bb")]}, "no column 'bb'.*Did you mean 'b'.*states="),
    "twice": ({"edges": [("a", "b"), ("a", "b")]}, "'a' → 'b' twice"),
    "no pair": ({"edges": [("a", "b", "a")]}, "pairs"),
    "states": ({"states": {"a": ["u", "w"]}}, "'a' has no state 'v'; its states are 'u', 'w'"),
    "equal states": ({"states": {"a": ["u", "u", "v"]}}, "must be different"),
}


@pytest.mark.parametrize("what", FITS)
def test_bad_fits(what: str) -> None:
    parameters, message = FITS[what]
    frame = pd.DataFrame({"a": ["u", "v", "u"], "b": [1, 2, 2]})
    with pytest.raises(ValueError, match=message):
        BayesianNetwork(**parameters).fit(frame)
    with pytest.raises(ValueError, match="both numbers and text such as 'five'"):
        BayesianNetwork().fit(pd.DataFrame({"a": [1.0, "five"]}))
    with pytest.raises(ValueError, match="'a' has no value at all"):
        BayesianNetwork().fit(pd.DataFrame({"a": [None, None], "b": [1, 2]}))
    with pytest.raises(NotFittedError, match="no tables of probabilities yet"):
        BayesianNetwork([("a", "b")]).query("a")


def test_numbers_as_states_and_texts_of_numbers() -> None:
    numbers = BayesianNetwork([("a", "b")]).fit(pd.DataFrame({"a": [0, 1, 1], "b": [2, 3, 3]}))
    assert numbers.query("b", {"a": 1}).marginals == numbers.query("b", {"a": "1"}).marginals
    texts = BayesianNetwork([("a", "b")]).fit(pd.DataFrame({"a": ["0", "1", "1"], "b": ["2", "3", "3"]}))
    assert texts.states_[0].tolist() == ["0", "1"]
    assert texts.query("b", {"a": 1})["b"] == {
        "2": numbers.query("b", {"a": 1})["b"][2],
        "3": numbers.query("b", {"a": 1})["b"][3],
    }

"""Networks whose structure is learned: what they find, what they answer, what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from corollary.graphical import BayesianNetwork, ChowLiu, HillClimb, TreeAugmentedNB

WORDS = np.array(["low", "middle", "rather high"])


def frame(n: int = 400, seed: int = 0) -> pd.DataFrame:
    """a → b → c, and d that nothing has to do with."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, size=n)
    b = np.where(rng.random(n) < 0.8, a, rng.integers(0, 3, size=n))
    c = np.where(rng.random(n) < 0.8, b, rng.integers(0, 3, size=n))
    return pd.DataFrame({"a": WORDS[a], "b": WORDS[b], "c": WORDS[c], "d": WORDS[rng.integers(0, 3, size=n)]})


def with_gaps(rows: pd.DataFrame, share: float = 0.1) -> pd.DataFrame:
    return rows.where(np.random.default_rng(1).random(rows.shape) >= share)


@pytest.mark.parametrize("model", [ChowLiu(), HillClimb(), HillClimb("bdeu", restarts=2, random_state=0)], ids=str)
@pytest.mark.parametrize("gaps", [False, True])
def test_what_is_learned_is_proved_and_judged(model: Any, gaps: bool) -> None:
    rows = with_gaps(frame()) if gaps else frame()
    model.fit(rows)
    assert model.evidence_.holds
    assert model.evidence_.verify(rows)
    near = {frozenset(edge) for edge in model.edges_}
    assert {frozenset("ab"), frozenset("bc")} <= near
    assert frozenset("ac") not in near


def test_a_learned_network_is_a_network() -> None:
    model = HillClimb().fit(frame())
    fixed = BayesianNetwork(model.edges_).fit(frame())
    assert model.query("a", {"c": "low"})["a"] == pytest.approx(dict(fixed.query("a", {"c": "low"})["a"]))
    np.testing.assert_allclose(model.score_samples(frame()), fixed.score_samples(frame()), rtol=1e-12)
    assert model.independent("a", "c", given="b")
    assert len(model.sample(5, random_state=0)) == 5
    assert model.do(a="low").query("b")["b"]["low"] > 0.7


def test_frames_of_any_kind_say_the_same() -> None:
    import polars as pl
    import pyarrow as pa

    rows, found = frame(), ChowLiu().fit(frame())
    lists = rows.to_dict("list")
    for other in (rows.astype(object), rows.astype("category"), pl.DataFrame(lists), pa.table(lists)):
        again = ChowLiu().fit(other)
        assert again.edges_ == found.edges_
        for one, two in zip(again.tables_, found.tables_, strict=True):
            np.testing.assert_array_equal(one, two)


def test_the_root_changes_no_likelihood() -> None:
    likelihoods = [ChowLiu(root=root, pseudo_counts=0.0).fit(frame()).score(frame()) for root in ("a", "b", 2, None)]
    np.testing.assert_allclose(likelihoods, likelihoods[0], rtol=1e-12)


def test_no_tree_is_more_likely_than_that_of_chow_and_liu() -> None:
    rows = frame(60)
    best = ChowLiu(pseudo_counts=0.0).fit(rows).log_likelihood(rows)
    for edges in ([("a", "b"), ("a", "c"), ("a", "d")], [("d", "a"), ("a", "c"), ("c", "b")]):
        assert BayesianNetwork(edges, pseudo_counts=0.0).fit(rows).log_likelihood(rows) <= best + 1e-9


def test_missing_attributes_are_summed_out_in_classes() -> None:
    rows = frame()
    y = rows.pop("b")
    model = TreeAugmentedNB().fit(with_gaps(rows), y)
    assert model.evidence_.verify(with_gaps(rows), y)
    asked = with_gaps(rows, 0.4)
    np.testing.assert_allclose(model.predict_proba(asked), model.posterior(asked, "class"), rtol=1e-10)
    assert model.score(rows, y) > 0.7
    unseen = rows.iloc[:1].assign(a="never seen")
    np.testing.assert_allclose(model.predict_proba(unseen), model.predict_proba(unseen.assign(a=None)), rtol=1e-12)


def test_the_sinus_that_nobody_sees() -> None:
    """Flu and allergy inflame the sinus, which makes heads ache and noses run; EM finds it from the others."""
    rng = np.random.default_rng(0)
    n = 3000
    flu, allergy = rng.random(n) < 0.15, rng.random(n) < 0.3
    sinus = rng.random(n) < np.where(flu | allergy, 0.9, 0.05)
    head, nose = rng.random(n) < np.where(sinus, 0.9, 0.05), rng.random(n) < np.where(sinus, 0.95, 0.1)
    rows = pd.DataFrame({"flu": flu, "allergy": allergy, "headache": head, "nose": nose})
    edges = [("flu", "sinus"), ("allergy", "sinus"), ("sinus", "headache"), ("sinus", "nose")]
    model = BayesianNetwork(edges, states={"sinus": ["no", "yes"]}, n_init=3, random_state=0).fit(rows)
    assert model.evidence_.holds
    assert (np.diff(model.evidence_.history["objective"]) <= 1e-9).all()
    guess = model.posterior(rows, "sinus").argmax(axis=1) == 1
    agree = (guess == sinus).mean()
    assert max(agree, 1 - agree) > 0.9  # which of the two states is "yes" nobody can know


def test_criteria_differ_and_likelihood_alone_never_says_no() -> None:
    rows = frame(120)
    assert len(HillClimb("log-likelihood").fit(rows).edges_) == 6
    assert len(HillClimb("bic", max_parents=0).fit(rows).edges_) == 0
    by_hand = HillClimb("aic", required=[("d", "a")], forbidden=[("a", "b"), ("b", "a")]).fit(rows)
    assert ("d", "a") in by_hand.edges_
    assert not {("a", "b"), ("b", "a")} & set(by_hand.edges_)
    assert by_hand.evidence_.verify(rows)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"required": [("a", "b"), ("b", "a")]}, "required: The edges form a cycle"),
        ({"required": [("a", "b")], "forbidden": [("a", "b")]}, "both required and forbidden"),
        ({"required": [("a", "x")]}, "required: There is no column 'x'"),
        ({"forbidden": [("a", "a")]}, "forbidden has an edge from 'a' to itself"),
        ({"required": [("a", "c"), ("b", "c")], "max_parents": 1}, "gives 'c' 2 parents, but max_parents is 1"),
    ],
)
def test_what_cannot_be_asked_of_a_climb(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HillClimb(**parameters).fit(frame(30))


def test_columns_that_say_nothing() -> None:
    rows = frame(50).assign(d="always")
    tree = ChowLiu().fit(rows)
    assert "d has only one state" in str(tree.evidence_)
    assert tree.evidence_.verify(rows)
    assert HillClimb().fit(rows).evidence_.verify(rows)
    for model in (ChowLiu(), HillClimb()):
        with pytest.raises(ValueError, match="'d' has no value at all"):
            model.fit(rows.assign(d=None))
    with pytest.raises(ValueError, match="Each of 50 rows lacks some value"):
        HillClimb().fit(rows.assign(d=["x"] + [None] * 49, a=[None] + ["x"] * 49))
    with pytest.raises(ValueError, match="root must be the name or the number of a column"):
        ChowLiu(root=7).fit(rows)


def test_more_states_than_rows() -> None:
    rows = pd.DataFrame({"a": [f"p{i}" for i in range(12)], "b": [f"q{i}" for i in range(12)], "c": list("xy") * 6})
    assert ChowLiu().fit(rows).evidence_.verify(rows)
    assert len(HillClimb().fit(rows).edges_) <= 1


def test_edges_that_are_asked_for_are_there_and_others_are_not() -> None:
    rows = frame()
    free = HillClimb().fit(rows)
    asked = HillClimb(required=[("c", "d"), ("c", "a")], forbidden=[("b", "a"), ("a", "b")]).fit(rows)
    assert {("c", "d"), ("c", "a")} <= set(asked.edges_)
    assert not {("b", "a"), ("a", "b")} & set(asked.edges_)
    assert asked.score_ < free.score_
    assert asked.evidence_.verify(rows)
    asked.set_params(forbidden=[("c", "d")], required=None)
    assert asked.evidence_.verify(rows).stands is False


@pytest.mark.parametrize("gaps", [False, True])
def test_the_score_is_that_of_the_complete_rows(gaps: bool) -> None:
    rows = with_gaps(frame()) if gaps else frame()
    model, whole = HillClimb(pseudo_counts=0.0).fit(rows), rows.dropna()
    plain = BayesianNetwork(model.edges_, pseudo_counts=0.0).fit(whole)
    free = sum(table.size // 3 * 2 for table in plain.tables_)
    assert model.score_ == pytest.approx(plain.log_likelihood(whole) - 0.5 * np.log(len(whole)) * free, rel=1e-12)
    assert model.evidence_.facts["score"] == model.score_
    assert ("had no part in the search" in str(model.evidence_)) == gaps


def test_trees_of_rows_with_gaps_claim_less() -> None:
    rows = frame()
    y = rows.pop("b")
    whole, gaps = TreeAugmentedNB().fit(rows, y), TreeAugmentedNB().fit(with_gaps(rows), y)
    assert whole.evidence_.certificate.kind.name == "OPTIMAL"
    assert "given the class" in whole.evidence_.certificate.name
    assert gaps.evidence_.certificate.kind.name == "CHECKED"
    assert gaps.evidence_.holds
    assert "Values are missing" in str(gaps.evidence_)
    for model, X in ((whole, rows), (gaps, with_gaps(rows))):
        joint = model.predict_joint_log_proba(X)[np.arange(len(X)), np.searchsorted(model.classes_, y)]
        assert model.evidence_.facts["log-likelihood"] == pytest.approx(joint.sum(), rel=1e-12)
    tree = ChowLiu().fit(with_gaps(rows))
    assert tree.evidence_.certificate.kind.name == "STATIONARY"
    assert "of the rows that have both" in str(tree.evidence_)


def test_no_class_tree_is_more_likely_with_the_tables_of_maximum_likelihood() -> None:
    rows = frame(80)
    y = rows.pop("b")
    model = TreeAugmentedNB(pseudo_counts=0.0, target="b").fit(rows, y)
    together = rows.assign(b=y)
    best = model.evidence_.facts["log-likelihood"]
    for tree in ([("a", "c"), ("a", "d")], [("a", "c"), ("c", "d")], [("a", "d"), ("d", "c")]):
        edges = [("b", name) for name in "acd"] + tree
        plain = BayesianNetwork(edges, pseudo_counts=0.0).fit(together)
        assert plain.log_likelihood(together) <= best + 1e-9


def test_the_class_has_the_name_it_is_given() -> None:
    rows = frame()
    y = rows.pop("b")
    model = TreeAugmentedNB(target="middle one").fit(rows, y)
    assert model.variables_.tolist() == ["a", "c", "d", "middle one"]
    np.testing.assert_allclose(model.predict_proba(rows), model.posterior(rows, "middle one"), rtol=1e-10)
    np.testing.assert_array_equal(
        model.predict(rows), model.classes_[model.posterior(rows, "middle one").argmax(axis=1)]
    )
    with pytest.raises(ValueError, match=r"column 'a', the name of the class: give another name as target"):
        TreeAugmentedNB(target="a").fit(rows, y)


def test_a_tree_answers_as_a_network_of_its_edges() -> None:
    rows = frame()
    tree = ChowLiu().fit(rows)
    plain = BayesianNetwork(tree.edges_).fit(rows)
    gaps = with_gaps(rows, 0.4)
    np.testing.assert_allclose(tree.posterior(gaps, "a"), plain.posterior(gaps, "a"), rtol=1e-12)
    assert tree.evidence_.facts["log-likelihood"] == pytest.approx(tree.log_likelihood(rows), rel=1e-12)

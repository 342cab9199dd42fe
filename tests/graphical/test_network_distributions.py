"""BayesianNetwork with distributions other than tables, by name: learning, asking, sampling, saving."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.linear_model import LinearRegression

import corollary
from corollary.core.graphical.cpd import LinearGaussian, LogisticCPD, NoisyOr, Table
from corollary.graphical import BayesianNetwork, to_bif

RNG = np.random.default_rng(0)
STATES = {name: ["no", "yes"] for name in ("flu", "cold", "fever")}


def people(n: int = 2000) -> pd.DataFrame:
    sex = RNG.choice(["f", "m"], n)
    height = np.where(sex == "m", 178.0, 165.0) + RNG.normal(0, 6, n)
    weight = -90.0 + 0.95 * height + np.where(sex == "m", 4.0, 0.0) + RNG.normal(0, 8, n)
    tall = np.where(RNG.random(n) < 1 / (1 + np.exp(-(height - 172) / 4)), "yes", "no")
    return pd.DataFrame({"sex": sex, "height": height, "weight": weight, "tall": tall})


PEOPLE = people()
EDGES = [("sex", "height"), ("sex", "weight"), ("height", "weight"), ("height", "tall")]


@pytest.fixture(scope="module")
def fitted() -> BayesianNetwork:
    return BayesianNetwork(EDGES, cpds={"height": LinearGaussian(), "weight": "linear_gaussian"}).fit(PEOPLE)


def clinic() -> BayesianNetwork:
    return BayesianNetwork.from_tables(
        {"flu": [0.9, 0.1], "cold": [0.7, 0.3], "fever": (["flu", "cold"], NoisyOr(0.05, [0.8, 0.4]))}, STATES
    )


def test_each_number_is_least_squares_on_its_parents(fitted: BayesianNetwork) -> None:
    assert fitted.evidence_.holds
    weight = fitted.cpds_[2]
    for place, sex in enumerate(("f", "m")):
        own = PEOPLE[PEOPLE.sex == sex]
        peer = LinearRegression().fit(own[["height"]], own.weight)
        np.testing.assert_allclose(weight.coef[place], peer.coef_)
        assert weight.variance[place] == pytest.approx(np.mean((own.weight - peer.predict(own[["height"]])) ** 2))
    assert isinstance(fitted.cpds_[3], LogisticCPD)  # a child of a number
    assert fitted.states_[1].tolist() == ["number"]


def test_log_density_of_rows_by_hand(fitted: BayesianNetwork) -> None:
    row = PEOPLE.iloc[[0, 1]]
    height, weight, tall = (fitted.cpds_[v] for v in (1, 2, 3))
    code = (row.sex == "m").to_numpy().astype(int)[:, None]
    h, w = row[["height"]].to_numpy(), row.weight.to_numpy()
    nothing = np.empty((2, 0))
    expected = (
        np.log(fitted.tables_[0][code[:, 0]])
        + height.log_prob(code, nothing, h[:, 0])
        + weight.log_prob(code, h, w)
        + tall.log_prob(nothing.astype(int), h, (row.tall == "yes").to_numpy().astype(int))
    )
    np.testing.assert_allclose(fitted.score_samples(row), expected)
    assert fitted.score(PEOPLE) == pytest.approx(fitted.score_samples(PEOPLE).mean())
    gap = row.assign(weight=np.nan)
    shorter = BayesianNetwork(
        [e for e in EDGES if "weight" not in e], cpds={"height": LinearGaussian()}
    ).fit(PEOPLE.drop(columns="weight"))  # fmt: skip
    np.testing.assert_allclose(fitted.score_samples(gap), shorter.score_samples(row.drop(columns="weight")))


def test_questions_about_numbers(fitted: BayesianNetwork) -> None:
    answer = fitted.query(["height", "sex"], {"weight": 90.0})
    assert answer.method == "exact"
    assert answer["sex"]["m"] > 0.8
    near = PEOPLE[(PEOPLE.weight - 90).abs() < 3]
    assert answer["height"].mean == pytest.approx(near.height.mean(), abs=1.0)
    assert answer["height"].std == pytest.approx(near.height.std(), rel=0.25)
    assert "height" in repr(answer)
    assert set(answer) == {"height", "sex"}
    drawn = fitted.query(["height", "sex"], {"weight": 90.0}, method="likelihood_weighting", random_state=0)
    assert abs(drawn["height"].mean - answer["height"].mean) < 5 * drawn["height"].standard_error
    tall = fitted.query("tall", random_state=0)
    assert "'height'" in tall.notes[0]
    assert abs(tall["tall"]["yes"] - (PEOPLE.tall == "yes").mean()) < 0.02
    assert fitted.query("tall", {"height": 190.0}).method == "exact"
    everything = fitted.marginals({"height": 180.0})
    assert set(everything) == {"sex", "weight", "tall"}


def test_all_linear_gaussian_is_the_multivariate_normal() -> None:
    rng = np.random.default_rng(1)
    rows = rng.multivariate_normal([1.0, 2.0, 3.0], [[2.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.3, 0.2, 1.5]], 500)
    names = ["x0", "x1", "x2"]
    model = BayesianNetwork(
        [("x0", "x1"), ("x0", "x2"), ("x1", "x2")], cpds=dict.fromkeys(names, "linear_gaussian")
    ).fit(rows)
    normal = multivariate_normal(rows.mean(axis=0), np.cov(rows.T, bias=True))
    np.testing.assert_allclose(model.score_samples(rows[:20]), normal.logpdf(rows[:20]))
    answer = model.query(names)
    np.testing.assert_allclose(answer.mean, rows.mean(axis=0))
    np.testing.assert_allclose(answer.covariance, np.cov(rows.T, bias=True))
    assert model.query("x0", {"x1": 1.0, "x2": 2.0}).log_evidence == pytest.approx(
        multivariate_normal(normal.mean[1:], normal.cov[1:, 1:]).logpdf([1.0, 2.0])
    )


def test_posteriors_and_samples(fitted: BayesianNetwork) -> None:
    shares = fitted.posterior(PEOPLE[["height", "weight", "tall"]], "sex")
    assert (shares.argmax(axis=1) == (PEOPLE.sex == "m")).mean() > 0.8
    one = fitted.query("sex", {"height": PEOPLE.height[0], "weight": PEOPLE.weight[0], "tall": PEOPLE.tall[0]})
    np.testing.assert_allclose(shares[0], list(one["sex"].values()))
    rows = fitted.sample(4000, random_state=0)
    assert list(rows.columns) == list(PEOPLE.columns)
    assert rows.height.mean() == pytest.approx(PEOPLE.height.mean(), abs=1.0)
    assert set(rows.sex) == {"f", "m"}
    with pytest.raises(ValueError, match="needs tables"):
        fitted.sample(10, given={"sex": "m"})


def test_interventions(fitted: BayesianNetwork) -> None:
    assert fitted.do(weight=120.0).query("height").densities["height"].mean == pytest.approx(
        fitted.query("height")["height"].mean
    )
    forced = fitted.do(height=190.0)
    assert forced.query("sex")["sex"] == pytest.approx(fitted.query("sex")["sex"])
    assert forced.query("weight", {"sex": "m"})["weight"].mean == pytest.approx(
        fitted.query("weight", {"sex": "m", "height": 190.0})["weight"].mean
    )
    assert fitted.do(sex="m").query("height")["height"].mean == pytest.approx(fitted.cpds_[1].intercept[1])


def test_a_small_noisy_or_works_as_a_table_everywhere(tmp_path: Path) -> None:
    network = clinic()
    table = NoisyOr(0.05, [0.8, 0.4]).table((2, 2))
    plain = BayesianNetwork.from_tables(
        {"flu": [0.9, 0.1], "cold": [0.7, 0.3], "fever": (["flu", "cold"], table)}, STATES
    )
    given = {"fever": "yes"}
    assert network.query(["flu", "cold"], given).marginals == plain.query(["flu", "cold"], given).marginals
    assert network.map_query(given=given).states == plain.map_query(given=given).states
    assert to_bif(network) == to_bif(plain)
    rows = network.sample(3000, random_state=0)
    learned = BayesianNetwork(
        [("flu", "fever"), ("cold", "fever")], cpds={"fever": NoisyOr()}
    ).fit(rows)  # fmt: skip
    np.testing.assert_allclose(learned.cpds_[2].strengths, [0.8, 0.4], atol=0.1)
    assert learned.tables_[2].shape == (2, 2, 2)
    assert learned.evidence_.holds


def test_the_evidence_is_of_the_whole_network_and_of_each_part(fitted: BayesianNetwork) -> None:
    """Its facts are those of the network that was learned, and the bound of a noisy-or is not lost among tables."""
    facts = fitted.evidence_.facts
    assert facts["log-likelihood"] == pytest.approx(fitted.log_likelihood(PEOPLE), rel=1e-12)
    assert facts["objective"] == pytest.approx(-fitted.score(PEOPLE), rel=1e-12)
    rows, edges = clinic().sample(500, random_state=0), [("flu", "fever"), ("cold", "fever")]
    weights = np.arange(500) % 3
    model = BayesianNetwork(edges, cpds={"fever": NoisyOr()}).fit(rows, sample_weight=weights)
    assert model.evidence_.certificate.kind.name == "EXACT"
    assert model.evidence_.facts["log-likelihood"] == pytest.approx(model.score_samples(rows) @ weights, rel=1e-12)
    assert 0.0 <= model.evidence_.facts["gap of the mean log-likelihood of 'fever'"] <= 1e-8
    assert "Of 'fever' by itself: Optimal, gap of the mean log-likelihood" in str(model.evidence_)


def test_what_was_given_is_not_judged_by_counts() -> None:
    rows = clinic().sample(300, random_state=0)
    model = BayesianNetwork([("flu", "fever")], cpds={"flu": Table([0.5, 0.5])}).fit(rows)
    np.testing.assert_array_equal(model.tables_[0], [0.5, 0.5])
    assert model.evidence_.facts["log-likelihood"] == pytest.approx(model.log_likelihood(rows), rel=1e-12)
    assert model.evidence_.verify(rows)
    every = BayesianNetwork(cpds=dict.fromkeys(rows.columns, Table([0.5, 0.5]))).fit(rows)
    assert "nothing was learned" in str(every.evidence_)
    assert every.evidence_.verify(rows).stands is None


def test_many_causes() -> None:
    causes = {f"c{i}": [0.95, 0.05] for i in range(40)}
    network = BayesianNetwork.from_tables({**causes, "effect": (list(causes), NoisyOr(0.0, np.full(40, 0.5)))})
    assert network.tables_[40].shape == (1,)
    assert network.query("effect")["effect"][0] == pytest.approx(0.975**40)
    assert network.query("c0", {"effect": 1})["c0"][1] > 0.05
    with pytest.raises(ValueError, match="'effect' has the distribution NoisyOr"):
        network.map_query(given={"effect": 1})
    with pytest.raises(ValueError, match="NoisyOr"):
        to_bif(network)
    for method in ("likelihood_weighting", "rejection"):
        assert network.query("c0", {"effect": 1}, method=method, n_samples=4000, random_state=0).standard_error < 0.05
    chained = network.query("c0", {"effect": 1}, method="gibbs", n_samples=4000, random_state=0)
    assert "not mixed" in chained.notes[0]  # sure effects of effects hardly let a chain move


def test_files_and_copies(fitted: BayesianNetwork, tmp_path: Path) -> None:
    for network in (fitted, clinic()):
        network.save(tmp_path / "network.corollary")
        back = corollary.load(tmp_path / "network.corollary")
        assert back.cpds_ == network.cpds_
        assert str(back.query(random_state=0)) == str(network.query(random_state=0))
    np.testing.assert_array_equal(back.tables_[2], clinic().tables_[2])
    again = clone(fitted).fit(PEOPLE)
    np.testing.assert_array_equal(again.score_samples(PEOPLE), fitted.score_samples(PEOPLE))
    plain = clone(fitted).set_params(cpds=None).fit(PEOPLE)
    assert not hasattr(plain, "cpds_")
    assert len(plain.states_[1]) == 5


def test_a_file_with_a_wrong_part_is_refused(fitted: BayesianNetwork, tmp_path: Path) -> None:
    def tampered(**changes: Any) -> None:
        model = clone(fitted)
        model.__dict__.update({**fitted.__dict__, **changes})
        model.save(tmp_path / "bad.corollary")

    cpds = fitted.cpds_
    for wrong in (
        {**cpds, 1: LinearGaussian(0.0, [], 1.0)},
        {**cpds, 2: LinearGaussian()},
        {**cpds, 2: NoisyOr(0.1, [0.2, 0.3])},
        {v: cpd for v, cpd in cpds.items() if v != 3},
        {**cpds, 9: cpds[1]},
    ):
        with pytest.raises(ValueError, match="cannot save"):
            tampered(cpds_=wrong)
    with pytest.raises(ValueError, match="cannot save"):
        tampered(states_=[*fitted.states_[:1], np.array(["a", "b"]), *fitted.states_[2:]])
    with pytest.raises(ValueError, match="cannot save"):
        tampered(tables_=[*fitted.tables_[:3], np.full((1, 2), 0.5)])


def test_weights_are_repetitions() -> None:
    rows = PEOPLE.iloc[:60]
    weights = np.arange(60) % 3
    model = BayesianNetwork(EDGES, cpds={"height": LinearGaussian(alpha=1.0), "weight": LinearGaussian()})
    one = clone(model).fit(rows, sample_weight=weights)
    two = clone(model).fit(rows.loc[rows.index.repeat(weights)])
    np.testing.assert_allclose(one.score_samples(rows), two.score_samples(rows), rtol=1e-6)


@pytest.mark.parametrize(
    ("cpds", "message"),
    [
        ({"nobody": NoisyOr()}, "no variable of cpds 'nobody'"),
        ({"height": "magic"}, "'height' is 'magic'"),
        ({"sex": LinearGaussian()}, "must hold numbers"),
        ({"height": NoisyOr()}, "'height': NoisyOr"),
        ({"height": LinearGaussian(), "tall": Table([0.5, 0.5])}, "LogisticCPD"),
        ({"height": LinearGaussian(0.0, [1.0], 1.0)}, "shape"),
    ],
)
def test_bad_distributions_are_named(cpds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BayesianNetwork(EDGES, cpds=cpds).fit(PEOPLE.iloc[:50])


def test_bad_questions(fitted: BayesianNetwork) -> None:
    with pytest.raises(ValueError, match="complete rows"):
        clone(fitted).fit(PEOPLE.assign(height=np.where(PEOPLE.index == 3, np.nan, PEOPLE.height)))
    with pytest.raises(ValueError, match="'height' is a number, but 'tall' came"):
        fitted.query("sex", {"height": "tall"})
    with pytest.raises(ValueError, match="joint"):
        fitted.query(["sex", "height"], joint=True)
    with pytest.raises(ValueError, match="must have its numbers"):
        BayesianNetwork.from_tables({"x": LinearGaussian()})
    with pytest.raises(ValueError, match="cannot be a table"):
        BayesianNetwork.from_tables({"x": LinearGaussian(0.0, [], 1.0), "y": (["x"], [[0.5, 0.5]])})
    with pytest.raises(ValueError, match="likelihood_weighting"):
        fitted.query("tall", method="gibbs")


def test_the_referee_judges_what_was_learned() -> None:
    rows = PEOPLE[["sex", "height", "weight"]]
    edges = EDGES[:3]
    model = BayesianNetwork(edges, cpds={"height": LinearGaussian(), "weight": LinearGaussian(alpha=2.0)}).fit(rows)
    assert model.evidence_.verify(rows)
    weight = model.cpds_[2]
    for changed in (
        LinearGaussian(weight.intercept, weight.coef * 1.01, weight.variance, 2.0),
        LinearGaussian(weight.intercept + 0.5, weight.coef, weight.variance, 2.0),
        LinearGaussian(weight.intercept, weight.coef, weight.variance * 1.01, 2.0),
    ):
        model.cpds_ = {**model.cpds_, 2: changed}
        assert model.evidence_.verify(rows).stands is False
    drawn = clinic().sample(2000, random_state=1)
    causes = BayesianNetwork([("flu", "fever"), ("cold", "fever")], cpds={"fever": NoisyOr(alpha=1.0)}).fit(drawn)
    assert causes.evidence_.verify(drawn)
    found = causes.cpds_[2]
    causes.cpds_ = {2: NoisyOr(found.leak, found.strengths * 0.98, 1.0)}
    assert causes.evidence_.verify(drawn).stands is False
    logistic = BayesianNetwork(EDGES, cpds={"height": LinearGaussian(), "weight": LinearGaussian()}).fit(PEOPLE)
    assert logistic.evidence_.verify(PEOPLE).stands is None


@pytest.mark.parametrize("scale", [1e-120, 1e120])
def test_units_do_not_matter(scale: float) -> None:
    rows = PEOPLE[["sex", "height", "weight"]].iloc[:200]
    cpds = {"height": LinearGaussian(), "weight": LinearGaussian()}
    one = BayesianNetwork(EDGES[:3], cpds=cpds).fit(rows)
    two = BayesianNetwork(EDGES[:3], cpds=cpds).fit(rows.assign(height=rows.height * scale, weight=rows.weight * scale))
    first, second = (
        one.query(["sex", "height"], {"weight": 80.0}),
        two.query(["sex", "height"], {"weight": 80.0 * scale}),
    )
    assert first["sex"] == pytest.approx(second["sex"], rel=1e-6)
    assert second["height"].mean == pytest.approx(first["height"].mean * scale, rel=1e-6)
    with pytest.raises(ValueError, match="beyond 1e"):
        BayesianNetwork(EDGES[:3], cpds=cpds).fit(rows.assign(height=rows.height * 1e200))


def test_few_rows_and_constant_columns() -> None:
    one = pd.DataFrame({"a": [1.0], "b": [2.0]})
    model = BayesianNetwork([("a", "b")], cpds={"a": LinearGaussian(), "b": LinearGaussian()}).fit(one)
    assert model.query("b")["b"].mean == pytest.approx(2.0)
    assert any("exactly" in note for note in model.evidence_.notes)


def test_pictures_and_words(fitted: BayesianNetwork) -> None:
    ax = fitted.plot({"weight": 90.0})
    assert any("±" in text.get_text() for text in ax.texts)
    assert "BayesianNetwork" in fitted._repr_html_()  # looks at all properties
    why = corollary.graphical.explain_query(fitted, "sex", {"weight": 90.0, "height": 180.0})
    assert why.after["m"] > why.before["m"]
    with pytest.raises(ValueError, match="is a number"):
        corollary.graphical.explain_query(fitted, "height", {"weight": 90.0})

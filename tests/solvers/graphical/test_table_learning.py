"""Tables from counts and by EM: closed forms, weights as repetition, a brute-force twin of EM on tiny networks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from corollary.core.evidence import Status
from corollary.solvers.graphical.counts import Coded, family_tables, recounted
from corollary.solvers.graphical.hidden import Params, TableModel, learn_with_missing
from corollary.solvers.graphical.learning import learn_parameters
from corollary.solvers.graphical.missing import distinct, expect, patterns, refuse_large
from corollary.solvers.graphical.parameters import (
    Prior,
    counted,
    counting_evidence,
    family_counts,
    family_of,
    log_likelihood,
    tables_from,
)
from corollary.solvers.graphical.tan import class_tables

# flu and allergy inflame the sinus, which makes heads ache and noses run
CARDS, PARENTS = (2, 2, 2, 2, 2), ((), (), (0, 1), (2,), (2,))
SINUS = 2


def patients(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    flu, allergy = rng.random(n) < 0.1, rng.random(n) < 0.3
    sinus = rng.random(n) < np.where(flu, np.where(allergy, 0.95, 0.8), np.where(allergy, 0.6, 0.05))
    head, nose = rng.random(n) < np.where(sinus, 0.8, 0.1), rng.random(n) < np.where(sinus, 0.9, 0.2)
    return np.stack([flu, allergy, sinus, head, nose], axis=1).astype(np.int16)


def random_tables(seed: int, cards: tuple[int, ...] = CARDS, parents: tuple = PARENTS) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(seed)
    shapes = [[cards[j] for j in family_of(parents, i)] for i in range(len(cards))]
    return tables_from([rng.random(shape) + 0.1 for shape in shapes])


def brute_expectation(rows: np.ndarray, weights: np.ndarray, tables: tuple, cards: tuple, parents: tuple) -> tuple:
    """Expected counts by listing every completion of every row."""
    counts, value = [np.zeros(table.shape) for table in tables], 0.0
    for row, weight in zip(rows.tolist(), weights, strict=True):
        options = [range(card) if state < 0 else [state] for state, card in zip(row, cards, strict=True)]
        full = list(product(*options))
        places = [[tuple(each[j] for j in family_of(parents, i)) for i in range(len(cards))] for each in full]
        joint = np.array([np.prod([tables[i][place] for i, place in enumerate(each)]) for each in places])
        value += weight * np.log(joint.sum())
        for share, each in zip(weight * joint / joint.sum(), places, strict=True):
            for i, place in enumerate(each):
                counts[i][place] += share
    return counts, value


def with_gaps(rows: np.ndarray, share: float, seed: int = 1) -> np.ndarray:
    rows = rows.copy()
    rows[np.random.default_rng(seed).random(rows.shape) < share] = -1
    return rows


@pytest.mark.parametrize("hidden", [False, True])
def test_expected_counts_are_those_of_all_completions(hidden: bool) -> None:
    rows = with_gaps(patients(60), 0.3)
    if hidden:
        rows[:, SINUS] = -1
    weights, tables = np.random.default_rng(2).random(60), random_tables(0)
    complete, incomplete = patterns(Coded.of(rows, CARDS, weights), PARENTS)
    counts = family_counts(complete, PARENTS)
    value = log_likelihood(counts, tables)
    for pattern in incomplete:
        value += expect(pattern, PARENTS, tables, counts)
    twin, twin_value = brute_expectation(rows, weights, tables, CARDS, PARENTS)
    assert value == pytest.approx(twin_value, rel=1e-12)
    for one, two in zip(counts, twin, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-13)


def test_em_climbs_as_its_twin_does_with_the_sinus_hidden() -> None:
    """The five-variable example of the notes: θ ← Σ P(sinus | what was seen) / Σ, from the same start."""
    rows = patients(200)
    rows[:, SINUS] = -1
    tables, model = random_tables(3), TableModel(PARENTS)
    _, incomplete = patterns(Coded.of(rows, CARDS), PARENTS)
    place, values = Params(tables, ()), []
    for _ in range(15):
        twin, value = brute_expectation(rows, np.ones(200), place.tables, CARDS, PARENTS)
        parts = [model.e_step((pattern,), place) for pattern in incomplete]
        assert sum(part.log_likelihood for part in parts) == pytest.approx(value, rel=1e-12)
        values.append(value)
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        place = model.m_step(total)
        for one, two in zip(place.tables, tables_from(twin), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-11)
    assert (np.diff(values) >= -1e-9).all()


def test_em_rests_where_its_next_step_has_no_length() -> None:
    rows = patients(400)
    rows[:, SINUS] = -1
    rng = np.random.RandomState(0)
    found = learn_with_missing(Coded.of(rows, CARDS), PARENTS, random_state=rng, n_init=4, tol=1e-12, max_iter=3000)
    assert found.evidence.holds
    assert found.evidence.facts["largest fall"] <= 1e-9
    history = -np.asarray(found.evidence.history["objective"])
    assert (np.diff(history) >= -1e-12).all()
    counts, value = brute_expectation(rows, np.ones(400), found.tables, CARDS, PARENTS)
    assert found.evidence.facts["log-likelihood"] == pytest.approx(value, rel=1e-12)
    for i, (one, two) in enumerate(zip(found.tables, tables_from(counts), strict=True)):
        share = counts[i].sum(axis=-1, keepdims=True) / 400
        assert (np.abs(one - two) * share).max() <= 1e-5
    truth = family_counts(Coded.of(patients(400), CARDS), PARENTS)
    assert value >= brute_expectation(rows, np.ones(400), tables_from(truth), CARDS, PARENTS)[1]


def test_em_on_complete_rows_is_counting() -> None:
    data = Coded.of(patients(300), CARDS)
    found = learn_with_missing(data, PARENTS, random_state=np.random.RandomState(0), prior=Prior(0.5))
    for one, two in zip(found.tables, tables_from(family_counts(data, PARENTS), Prior(0.5)), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_weights_are_repetition_and_blocks_add_up() -> None:
    rows, weights = with_gaps(patients(80), 0.1), np.random.default_rng(0).integers(0, 4, size=80)
    repeated = Coded.of(np.repeat(rows, weights, axis=0), CARDS)
    whole = family_counts(Coded.of(rows, CARDS, weights.astype(float)), PARENTS)
    parts = [family_counts(Coded.of(rows[k::3], CARDS, weights[k::3].astype(float)), PARENTS) for k in range(3)]
    for i, one in enumerate(family_counts(repeated, PARENTS)):
        np.testing.assert_array_equal(whole[i], one)
        np.testing.assert_array_equal(sum(part[i] for part in parts), one)
    codes, sums = distinct(repeated)
    assert sums.sum() == repeated.n_rows
    assert len(np.unique(codes.T, axis=0)) == codes.shape[1]


def test_tables_are_uniform_where_nothing_was_counted_and_say_so() -> None:
    data, families = Coded.of(np.array([[1, 1, 1, 1], [0, 1, 1, 1]]).T, (2, 2)), [(0,), (0, 1)]
    tables, evidence = counted(data, families)
    counts = family_counts(data, [(), (0,)])
    np.testing.assert_array_equal(tables[1], [[0.5, 0.5], [0.25, 0.75]])
    assert evidence.holds
    assert "1 combination of parents' states has no rows" in str(evidence)
    wrong = (np.array([0.3, 0.7]), tables[1])
    assert not counting_evidence(data, families, wrong, [Prior()] * 2).holds
    np.testing.assert_allclose(tables_from(counts, Prior(ess=4.0))[0], [2 / 8, 6 / 8])
    np.testing.assert_allclose(tables_from(counts, Prior(cell=1.0))[1], [[0.5, 0.5], [2 / 6, 4 / 6]])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [False, True])
def test_a_wrong_count_is_seen(monkeypatch: pytest.MonkeyPatch, weighted: bool, gaps: bool) -> None:
    """The certificate compares with a second count that the first has no part in: one row too many and it fails."""
    rng = np.random.default_rng(0)
    cards = (2, 3, 2, 4, 70, 70)
    rows = np.stack([rng.integers(0, card, 300) for card in cards], axis=1).astype(np.int16)
    rows = with_gaps(rows, 0.1) if gaps else rows
    data = Coded.of(rows, cards, rng.random(300) if weighted else None)
    families = [(0,), (3, 0, 1), (1, 2), (2, 3), (5, 4), (4, 5, 0), (0, 5)]
    counts = family_tables(data, families)
    for one, two in zip(recounted(data, families), counts, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-13)
    priors = [Prior(1.0)] * len(families)
    assert counting_evidence(data, families, tables_from(counts, priors[0]), priors).holds
    for spoilt in counts:
        place = np.unravel_index(spoilt.argmax(), spoilt.shape)
        spoilt[place] += 1.0
        evidence = counting_evidence(data, families, tables_from(counts, priors[0]), priors)
        assert not evidence.holds
        assert evidence.status is Status.STALLED
        spoilt[place] -= 1.0

    def one_too_many(*given: object) -> list[np.ndarray]:
        found = family_tables(*given)  # type: ignore[arg-type]
        found[2].flat[0] += 1.0
        return found

    monkeypatch.setattr("corollary.solvers.graphical.parameters.family_tables", one_too_many)
    monkeypatch.setattr("corollary.solvers.graphical.tan.family_tables", one_too_many)
    if not gaps:
        assert not learn_parameters(data, [(), (0,), (1,), (2,), (), ()])[1].holds
    assert not class_tables(data, np.arange(300) % 2, 2, [-1, 0, 1, 2, 3, 0], Prior(1.0))[2].holds


def test_a_hidden_variable_that_nothing_depends_on_is_told() -> None:
    rows = patients(50)
    rows[:, 4] = -1
    found = learn_with_missing(
        Coded.of(rows, CARDS), PARENTS, random_state=np.random.RandomState(0), names=["F", "A", "S", "H", "N"]
    )
    assert "N was never seen, and nothing that was seen depends on it" in str(found.evidence)
    assert "S was never seen" not in str(found.evidence)


def test_groups_that_are_too_large_are_refused_before_anything_is_summed() -> None:
    rows = np.full((2, 14), -1, dtype=np.int16)
    rows[:, 13] = 0
    parents = (*((),) * 13, tuple(range(13)))
    data = Coded.of(rows, [4] * 14)
    with pytest.raises(ValueError, match=r"takes .* numbers, and EM allows"):
        refuse_large(data, parents, patterns(data, parents)[1])

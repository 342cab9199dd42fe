"""Words of free text, held against scikit-learn's; and messages from the table to a saved model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import Pipeline

import corollary
from corollary.tabular.columns import TextColumns, preparation
from corollary.tabular.reading import read_table
from corollary.tabular.target import separate_target

NOTES = pd.DataFrame(
    {
        "note": ["Free prize now!", "lunch now?", None, "free lunch, free prize", "see you at lunch"],
        "title": ["one day", "one night", "a day", "a night", "one day one night"],
    }
)
SMS = Path(__file__).parents[3] / "shared" / "data" / "text" / "sms_spam.tsv.gz"


def test_the_words_are_those_of_the_peer() -> None:
    ours = TextColumns().fit(NOTES[["note"]])
    peer = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True, token_pattern=r"(?u)\w+|[^\w\s]")
    expected = peer.fit_transform(NOTES["note"].fillna("")).toarray()
    found = ours.transform(NOTES[["note"]]).toarray()
    assert ours.words_[0].tolist() == peer.get_feature_names_out().tolist()
    known = np.count_nonzero(expected, axis=1)
    assert ours.scales_[0] == pytest.approx(np.sqrt(known.sum() / np.count_nonzero(known)))
    np.testing.assert_allclose(found, expected * ours.scales_[0])


def test_components_of_words() -> None:
    words = TextColumns().fit_transform(NOTES)
    found = TextColumns(components=2).fit(NOTES)
    assert found.get_feature_names_out().tolist()[:3] == ["note_length", "note_component 1", "note_component 2"]
    rows = found.transform(NOTES)
    width = len(TextColumns().fit(NOTES[["note"]]).words_[0])
    expected = TruncatedSVD(2, random_state=0).fit(words[:, :width]).transform(words[:, :width])
    np.testing.assert_allclose(np.abs(rows[:, 1:3]), np.abs(expected))
    np.testing.assert_array_equal(rows[:, 0], [15, 10, np.nan, 22, 16])


def test_many_texts_are_hashed() -> None:
    hashed = TextColumns(count_up_to=4).fit(NOTES)
    found = hashed.transform(NOTES)
    assert found.shape == (5, 2 * 2**17)
    np.testing.assert_allclose(np.linalg.norm(found[:, : 2**17].toarray()[[0, 3]], axis=1), hashed.scales_[0])
    counted = TextColumns(most_words=1000).fit_transform(NOTES.assign(note=NOTES["note"] + " x"))
    assert counted.shape[1] < 40


def test_text_without_words_in_a_fold() -> None:
    empty = pd.DataFrame({"note": [None, None, "?"]})
    assert TextColumns().fit(empty).transform(NOTES[["note"]]).shape == (5, 1)
    once = TextColumns().fit(pd.DataFrame({"note": ["one", "two", "three"]}))
    assert once.words_[0].tolist() == ["one", "three", "two"]


@pytest.mark.skipif(not SMS.exists(), reason="needs ../shared/data")
@pytest.mark.parametrize("native", [False, True])
def test_messages_end_to_end(native: bool, tmp_path: Path) -> None:
    table = read_table(SMS, header=False)
    X, target, facts = separate_target(table, "column_1", "auto", (), False)
    prepare = preparation(facts.used, len(X), native=native)
    model = corollary.DecisionTreeClassifier(max_depth=8) if native else corollary.LogisticRegression()
    half = len(X) // 2
    pipeline = Pipeline([("prepare", prepare), ("model", model)]).fit(X[:half], target.values[:half])
    assert pipeline.score(X[half:], target.values[half:]) > (0.94 if native else 0.98)
    corollary.save(pipeline, tmp_path / "m.corollary")
    again = corollary.load(tmp_path / "m.corollary")
    np.testing.assert_array_equal(again.predict_proba(X[half:]), pipeline.predict_proba(X[half:]))

"""Folds hold every row out once, and are as many as the rarest class allows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from corollary.evaluate.folds import PreparedFolds
from corollary.evaluate.splits import Split, make_splits
from corollary.tabular.messages import InputError
from corollary.tabular.target import read_target


def test_folds_shrink_to_the_rarest_class_unless_asked_for() -> None:
    target = read_target(pd.Series(["a"] * 20 + ["b"] * 3, name="y"), "auto", "t")
    splits, note = make_splits(target, None, 0, "t")
    assert len(splits) == 3
    assert note == "3 folds instead of 5, because class 'b' has only 3 rows"
    with pytest.raises(InputError, match="class 'b' has only 3 rows, too few for 4 folds; use --folds 3"):
        make_splits(target, 4, 0, "t")


def test_every_row_is_held_out_once() -> None:
    target = read_target(pd.Series(np.arange(100) % 3, name="y"), "auto", "t")
    splits, note = make_splits(target, None, 0, "t")
    assert note == ""
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(100))
    again, _ = make_splits(target, None, 0, "t")
    other, _ = make_splits(target, None, 1, "t")
    assert all((a[1] == b[1]).all() for a, b in zip(splits, again, strict=True))
    assert not all((a[1] == b[1]).all() for a, b in zip(splits, other, strict=True))


def test_intervals_know_the_share_of_every_fold() -> None:
    frame = pd.DataFrame({"when": np.arange(60), "y": np.arange(60.0)})
    target = read_target(frame["y"], "regression", "t")
    splits, _ = make_splits(target, 5, 0, "t", Split.read("time:when"), frame)
    folds = PreparedFolds({}, frame, target.values, splits)
    assert [len(train) for train, _ in splits] == [10, 20, 30, 40, 50]
    assert folds.test_share == pytest.approx(np.mean([1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]))

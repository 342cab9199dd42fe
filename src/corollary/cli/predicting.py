"""``corollary predict``: a saved model on a new table."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from corollary.cli.say import note


def run_predict(
    model_file: Path, file: Path, out: Path | None, *, proba: bool, header: bool = True, encoding: str = "utf-8"
) -> None:
    """Predict every row of ``file`` and write CSV to ``out`` or stdout."""
    from corollary.io import load
    from corollary.tabular.messages import InputError, sentences
    from corollary.tabular.reading import read_table
    from corollary.tabular.writing import check_output, write_text

    if out is not None:
        check_output(out, "--out", model_file, file)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = load(model_file)
        if not hasattr(model, "predict"):
            raise InputError(f"{model_file}: holds a {type(model).__name__}, which does not predict")
        if proba and not hasattr(model, "predict_proba"):
            raise InputError(f"--proba: the model in {model_file} has no class probabilities")
        table = read_table(file, header=header, encoding=encoding)
        rows, extra = matched_rows(model, table.frame, table.source)
        text = predictions_csv(model, rows, table.source, proba)
    if extra:
        note(f"{table.source}: columns the model does not use: {extra}")
    for sentence in sentences(caught):
        note(sentence)
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
        note(f"wrote {len(rows):,} predictions to {out}")


def matched_rows(model: Any, frame: Any, source: str) -> tuple[Any, str]:
    """The columns the model was fitted with, in its order, and the names of those it does not know."""
    from corollary.tabular.messages import InputError, count, listed

    if len(frame) == 0:
        raise InputError(f"{source}: has 0 rows of data; there is nothing to predict")
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        wanted = getattr(model, "n_features_in_", frame.shape[1])
        if frame.shape[1] != wanted:
            raise InputError(f"{source}: has {count(frame.shape[1], 'column')}; the model was fitted with {wanted}")
        return frame.to_numpy(), ""
    wanted_names = [str(name) for name in names]
    missing = [name for name in wanted_names if name not in frame.columns]
    if missing:
        what = "a column" if len(missing) == 1 else f"{len(missing)} columns"
        raise InputError(f"{source}: lacks {what} the model needs: {listed(missing, 20)}")
    extra = [name for name in frame.columns if name not in set(wanted_names)]
    return frame[wanted_names], listed(extra)


def predictions_csv(model: Any, rows: Any, source: str, proba: bool) -> str:
    """A ``prediction`` column and, if asked for, ``probability_<class>`` columns; one line for each row."""
    import numpy as np
    import pandas as pd

    from corollary.tabular.messages import InputError

    try:
        found = pd.DataFrame({"prediction": np.ravel(model.predict(rows))})
        if proba:
            names = [f"probability_{value}" for value in model.classes_]
            found = pd.concat([found, pd.DataFrame(np.asarray(model.predict_proba(rows)), columns=names)], axis=1)
    except ValueError as error:
        raise InputError(f"{source}: {error}") from None
    text: str = found.to_csv(index=False, lineterminator="\n")
    return text

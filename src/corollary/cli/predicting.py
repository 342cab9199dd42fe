"""``corollary predict``: a saved model on a new table."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

from corollary.cli.say import note

_REASONS = 3  # columns that are named with --explain
_CELL = 40  # characters of a value in them


def run_predict(
    model_file: Path,
    file: Path,
    out: Path | None,
    *,
    proba: bool,
    id_column: str | None = None,
    explain: bool = False,
    header: bool = True,
    encoding: str = "utf-8",
) -> None:
    """Predict every row of ``file`` and write CSV to ``out`` or stdout."""
    from corollary.io import load
    from corollary.tabular.messages import InputError, sentences
    from corollary.tabular.reading import read_table
    from corollary.tabular.roles import refuse_unknown
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
        table = read_table(str(file), header=header, encoding=encoding)
        refuse_unknown(table.frame, "--id", [id_column] if id_column else [], table.source)
        rows, extra = matched_rows(model, table.frame, table.source, id_column)
        found = predictions(model, rows, table.source, proba)
        told = ""
        if explain:
            reasons, told = explained(model, rows, found["prediction"], table.source)
            found = found.join(reasons)
        if id_column:
            found.insert(0, id_column, table.frame[id_column].to_numpy(), allow_duplicates=True)
    if extra:
        note(f"{table.source}: columns the model does not use: {extra}")
    for sentence in (*([told] if told else []), *sentences(caught)):
        note(sentence)
    text = found.to_csv(index=False, lineterminator="\n")
    if out is None:
        sys.stdout.write(text)
    else:
        write_text(out, text)
        note(f"wrote {len(rows):,} predictions to {out}")


def matched_rows(model: Any, frame: Any, source: str, id_column: str | None = None) -> tuple[Any, str]:
    """The columns the model was fitted with, in its order, and the names of those it does not know."""
    from corollary.tabular.messages import InputError, count, listed

    if len(frame) == 0:
        raise InputError(f"{source}: has 0 rows of data; there is nothing to predict")
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        if id_column:
            frame = frame.drop(columns=id_column)
        wanted = getattr(model, "n_features_in_", frame.shape[1])
        if frame.shape[1] != wanted:
            raise InputError(f"{source}: has {count(frame.shape[1], 'column')}; the model was fitted with {wanted}")
        return frame.to_numpy(), ""
    wanted_names = [str(name) for name in names]
    missing = [name for name in wanted_names if name not in frame.columns]
    if missing:
        what = "a column" if len(missing) == 1 else f"{len(missing)} columns"
        raise InputError(f"{source}: lacks {what} the model needs: {listed(missing, 20)}")
    extra = [name for name in frame.columns if name not in {*wanted_names, id_column}]
    return frame[wanted_names], listed(extra)


def predictions(model: Any, rows: Any, source: str, proba: bool) -> Any:
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
    return found


def explained(model: Any, rows: Any, predicted: Any, source: str) -> tuple[Any, str]:
    """Columns ``because_1``, ``adds_1`` … and a sentence about what they mean.

    The columns of the table whose Shapley values are largest in size for a row, with the row's value in them, and how
    much each adds to what the model says; of several classes, to what it says of the one that it predicts.
    """
    import numpy as np
    import pandas as pd

    import corollary
    from corollary.explaining.explain import NothingKnownError, stands_alone
    from corollary.tabular.messages import InputError, one_line, shortened

    try:
        why = corollary.explain(model, rows)
    except NothingKnownError:
        raise InputError(
            f"--explain: {source}: has one row, and this model keeps no others to hold it against; put it into one "
            "file with rows that it was fitted to"
        ) from None
    except (TypeError, ValueError) as error:
        raise InputError(f"--explain: {source}: {one_line(error)}") from None
    values, told = np.asarray(why.values), why.meaning
    if values.ndim == 3:
        place = {name: at for at, name in enumerate(why.output_names)}
        values = values[np.arange(len(values)), :, [place[str(each)] for each in predicted]]
        told += " of the predicted class"
    elif hasattr(model, "classes_"):
        told += f" of {str(model.classes_[-1])!r}"
    shown = rows if hasattr(rows, "iloc") else pd.DataFrame(rows, columns=list(why.feature_names))
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :_REASONS]
    columns: dict[str, list[Any]] = {}
    for rank in range(order.shape[1]):
        names = [why.feature_names[at] for at in order[:, rank]]
        cells = [_value(shown[name].iloc[row]) for row, name in enumerate(names)]
        columns[f"because_{rank + 1}"] = [
            f"{name} = {shortened(cell, _CELL)}" for name, cell in zip(names, cells, strict=True)
        ]
        columns[f"adds_{rank + 1}"] = [float(f"{each:.6g}") for each in values[np.arange(len(values)), order[:, rank]]]
    against = "" if stands_alone(model, rows) else f"; rows are held against those of {source}"
    return pd.DataFrame(columns), f"adds_1, adds_2 …: what these columns add to the {told}. {why.method}{against}"


def _value(value: Any) -> str:
    import pandas as pd

    return "missing" if pd.isna(value) else str(value)

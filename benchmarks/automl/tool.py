"""One tool on one table, as a process of its own: ``python tool.py TOOL FOLDER TARGET TASK MINUTES``.

It imports nothing of this package, so that a tool can live in an environment of its own. All are told to make log-loss
or RMSE small, with two threads. The last line that it prints is JSON: the scores on the test part, and the seconds.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import metrics

THREADS = 2
Said = tuple[Any, Any, Any]  # predictions, probabilities, and the classes that these are of


def corollary(train: Any, test: Any, target: str, task: str, minutes: float) -> Said:
    import corollary as package

    best = package.compare(train, target, task=task, minutes=minutes).best_
    if task == "regression":
        return best.predict(test), None, None
    return best.predict(test), best.predict_proba(test), best.classes_


def flaml(train: Any, test: Any, target: str, task: str, minutes: float) -> Said:
    from flaml import AutoML

    tool = AutoML()
    metric = "rmse" if task == "regression" else "log_loss"
    tool.fit(
        train.drop(columns=target), train[target], task=task, metric=metric, time_budget=60 * minutes, n_jobs=THREADS,
        seed=0, verbose=0,
    )  # fmt: skip
    if task == "regression":
        return tool.predict(test), None, None
    return tool.predict(test), tool.predict_proba(test), tool.classes_


def autogluon(train: Any, test: Any, target: str, task: str, minutes: float) -> Said:
    from autogluon.tabular import TabularPredictor

    kind = "regression" if task == "regression" else ("binary" if train[target].nunique() == 2 else "multiclass")
    metric = "root_mean_squared_error" if task == "regression" else "log_loss"
    with tempfile.TemporaryDirectory() as folder:
        tool = TabularPredictor(target, problem_type=kind, eval_metric=metric, path=folder, verbosity=0)
        tool.fit(
            train, time_limit=60 * minutes, num_cpus=THREADS, num_gpus=0, excluded_model_types=["NN_TORCH", "FASTAI"]
        )
        if task == "regression":
            return tool.predict(test).to_numpy(), None, None
        probabilities = tool.predict_proba(test)
        return tool.predict(test).to_numpy(), probabilities.to_numpy(), probabilities.columns.to_numpy()


TOOLS = {"corollary": corollary, "FLAML": flaml, "AutoGluon": autogluon}


def scores(truth: Any, said: Said, task: str) -> dict[str, float]:
    """Of the test part: log-loss and accuracy, or RMSE and R²."""
    values, probabilities, classes = said
    if task == "regression":
        return {"rmse": metrics.root_mean_squared_error(truth, values), "r2": metrics.r2_score(truth, values)}
    order = np.argsort(np.asarray(classes).astype(str))
    named = np.asarray(classes).astype(str)[order]
    truth = truth.astype(str)
    return {
        "log-loss": metrics.log_loss(truth, np.asarray(probabilities)[:, order], labels=named),
        "accuracy": metrics.accuracy_score(truth, np.asarray(values).astype(str)),
    }


def main(name: str, folder: str, target: str, task: str, minutes: str) -> None:
    train, test = (pd.read_csv(Path(folder) / f"{part}.csv") for part in ("train", "test"))
    truth = test.pop(target)
    start = time.perf_counter()
    said = TOOLS[name](train, test, target, task, float(minutes))
    seconds = time.perf_counter() - start
    print(json.dumps({key: float(value) for key, value in scores(truth, said, task).items()} | {"seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])

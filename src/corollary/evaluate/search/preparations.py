"""Which preparation of the table a model gets: categories and gaps as they are, indicators, or principal components."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils import get_tags

from corollary.evaluate.folds import PreparedFolds
from corollary.tabular.columns import categorical_positions, preparation
from corollary.tabular.roles import Column

COMPONENTS = 50
_WIDE = 1000  # columns from which more of them than rows are too many for most models


def kinds_of(columns: Sequence[Column], rows: int) -> dict[str, Callable[[], Any]]:
    """The kinds of preparation, by name."""
    return {
        "plain": lambda: preparation(columns, rows),
        "native": lambda: preparation(columns, rows, native=True),
        "reduced": lambda: preparation(columns, rows, components=COMPONENTS),
        "rotated": lambda: preparation(columns, rows, components=rows),
    }


class Preparing:
    """Chooses the kind for each model, and tells trees which columns are categories."""

    def __init__(self, folds: PreparedFolds, columns: Sequence[Column]) -> None:
        self.folds, self.positions = folds, categorical_positions(columns)

    def __call__(self, model: Any, wide: str) -> tuple[str, tuple[str, ...]]:
        """The kind, and a note if the model sees components only; ``wide`` is its kind for more columns than rows."""
        native = takes_categories(model)
        kind = "native" if native else "plain"
        train = self.folds.part(kind, 0).train
        rows, width = train.shape
        if hasattr(train, "tocsr") and not get_tags(model).input_tags.sparse:
            return "reduced", (f"sees {COMPONENTS} principal components, because the {width:,} columns are sparse",)
        if width > _WIDE and width > rows and wide in ("reduced", "rotated"):
            seen = f"{COMPONENTS} principal components" if wide == "reduced" else "all principal components"
            return wide, (f"sees {seen} of the {width:,} columns",)
        if native:
            model.set_params(categorical_features=self.positions or None)
        return kind, ()


def takes_categories(model: Any) -> bool:
    """Whether the model takes codes of categories and missing values, and was not told which columns these are."""
    given = model.get_params(deep=False).get("categorical_features", "no such parameter")
    return (given is None or given == "from_dtype") and bool(get_tags(model).input_tags.allow_nan)

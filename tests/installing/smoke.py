"""What a fresh install must be able to do; run by its interpreter: python smoke.py FOLDER.

The package comes from FOLDER, knows its version and its types, fits, saves and loads.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

import corollary


def main(folder: Path) -> None:
    package = Path(corollary.__file__).resolve().parent
    assert package.is_relative_to(folder), f"imported {package}, not what was installed in {folder}"
    assert importlib.metadata.version("corollary-learn") == corollary.__version__
    assert (package / "py.typed").is_file()

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = corollary.Lasso(alpha=0.5).fit(X, y)
    assert model.evidence_.holds, model.evidence_
    with tempfile.TemporaryDirectory() as place:
        model.save(Path(place) / "lasso.corollary")
        same = corollary.load(Path(place) / "lasso.corollary")
    np.testing.assert_array_equal(model.predict(X), same.predict(X))
    print(f"corollary {corollary.__version__}: {model.evidence_}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())

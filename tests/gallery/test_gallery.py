"""Programs in the manner of scikit-learn's gallery: run as they are, on our classes, they find what scikit-learn finds.

They import scikit-learn and know nothing of corollary; ``corollary --report script.py`` puts our classes in its place.
Each prints names with numbers.
"""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path

import numpy as np
import pytest

from corollary.cli import main
from corollary.patch.ledger import LEDGER

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))

# per script, how far numbers may be apart, relatively and absolutely: other draws of rows, columns and starts, or,
# where scikit-learn's solver stops early, an answer of ours that is nearer to the optimum
CLOSE: dict[str, tuple[float, float]] = {
    "forest_importances": (0.0, 0.04),
    "boosted_regression": (0.06, 0.05),
    "stacked_models": (0.02, 0.08),
    "digits_in_clusters": (0.03, 0.05),
    "pruned_trees": (1e-6, 0.03),
    "logistic_sparsity": (0.0, 0.02),
    "components_then_classes": (1e-6, 0.01),
    "mixture_selection": (1e-3, 0.0),
    "sparse_signals": (2e-3, 0.0),
}
USUAL = (1e-4, 1e-6)


def numbers(printed: str) -> dict[str, list[float]]:
    found = {}
    for line in printed.splitlines():
        name, *values = line.split()
        found[name] = [float({"True": 1, "False": 0}.get(value, value)) for value in values]
    return found


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_same_program_on_our_classes(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(script), run_name="__main__")
    theirs = numbers(printed.getvalue())
    capsys.readouterr()
    LEDGER.clear()
    assert main(["--report", str(script)]) == 0
    out, report = capsys.readouterr()
    ours = numbers(out)
    assert ours.keys() == theirs.keys()
    rtol, atol = CLOSE.get(script.stem, USUAL)
    for name, values in theirs.items():
        np.testing.assert_allclose(ours[name], values, rtol=rtol, atol=atol, err_msg=name)
    fits = report[report.index("corollary in the place of scikit-learn") :].splitlines()[1:]
    assert not [line for line in fits if "×" in line], report
    assert any(line.split()[-1] in ("optimal", "exact", "stationary", "checked") for line in fits), report

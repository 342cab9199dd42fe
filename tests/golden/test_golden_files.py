"""Files of every release load in this one and predict what they predicted then."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from corollary import io
from corollary.core.evidence import Kind

FILES = sorted(Path(__file__).parent.glob("*.corollary"))


def test_there_is_a_golden_file():
    assert FILES


@pytest.mark.filterwarnings("ignore::corollary.io.ModelVersionWarning")  # the files outlive scikit-learn's versions
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_golden_file(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    assert path.stat().st_size < 20_000
    summary = io.inspect(path)
    assert summary.class_id == expected["class"]
    assert summary.evidence is not None
    model = io.load(path)
    certificate = dataclasses.asdict(model[-1].evidence_.certificate)
    assert certificate.pop("kind") is Kind.OPTIMAL  # version 0.1 did not say; its name does
    assert certificate == expected["certificate"]
    frame = pd.DataFrame(expected["rows"], columns=expected["columns"], dtype=object)
    numeric = dict.fromkeys(("area", "rooms"), float)
    np.testing.assert_allclose(model.predict(frame.astype(numeric)), expected["predictions"], rtol=1e-12)
    np.testing.assert_allclose(model[-1].coef_, expected["coefficients"], rtol=1e-12)

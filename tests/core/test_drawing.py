"""Pictures share one palette and one way to make axes."""

from __future__ import annotations

import re
import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest

from corollary.core.drawing import PALETTE, axes, colours
from corollary.report.style import STYLE

mpl.use("Agg")


def test_new_axes_are_open_and_in_our_colours_and_given_ones_are_kept() -> None:
    import matplotlib.pyplot as plt
    from matplotlib.colors import to_hex

    ax = axes(size=(3, 2))
    assert [to_hex(ax.plot([0, 1])[0].get_color()) for _ in PALETTE] == list(PALETTE)
    assert not ax.spines["top"].get_visible()
    assert axes(ax) is ax
    plt.close("all")


@pytest.mark.parametrize("k", [0, 1, 10, 11, 40])
def test_colours_differ(k: int) -> None:
    found = colours(k)
    assert found.shape == (k, 3)
    assert len(np.unique(found, axis=0)) == k


def test_the_report_has_the_same_palette() -> None:
    assert re.findall(r"--c\d: (#\w{6});", STYLE)[: len(PALETTE)] == list(PALETTE)


def test_matplotlib_waits_until_something_is_drawn() -> None:
    code = "import sys, corollary.core.drawing, corollary.core.evidence; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

"""Draw the picture of the report on the front page: parts of the page that ``make demo`` writes.

Run from the root of the repository: python docs/images/report_picture.py (Chromium must be there, see ``make test``)
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PIL import Image

from corollary.cli import main

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "report"))
from browser import Browser, find_browser  # noqa: E402 (it lies with the tests)

HEIGHT = 1560


def make(out: Path) -> None:
    executable = find_browser()
    if executable is None:
        raise SystemExit("there is no Chromium on this machine; make test installs Debian's, as root")
    with tempfile.TemporaryDirectory() as folder, Browser(executable) as browser:
        main(["demo", "--out", folder])
        browser.open(Path(folder) / "report.html", width=1100)
        browser.ask("document.querySelectorAll('#asked, #data, #leaderboard details').forEach(each => each.remove())")
        browser.picture(out, height=HEIGHT)
    picture = Image.open(out).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    picture.save(out, optimize=True)
    print(f"{out.name}: {out.stat().st_size / 1000:.0f} kB, {picture.width} × {picture.height}")


if __name__ == "__main__":
    make(HERE / "report.png")

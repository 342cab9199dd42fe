"""Draw the pictures of the documentation: run each example, then reduce its picture to 128 colours.

Run from the root of the repository: python docs/images/make.py [NAME ...]
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"


def make(name: str) -> None:
    out = HERE / f"{name}.png"
    command = [sys.executable, str(EXAMPLES / f"{name}.py"), "--out", str(out)]
    subprocess.run(command, check=True, env=os.environ | {"MPLBACKEND": "Agg"})
    picture = Image.open(out).convert("RGB").quantize(128, dither=Image.Dither.NONE)
    picture.save(out, optimize=True)
    print(f"{out.name}: {out.stat().st_size / 1000:.0f} kB, {picture.width} × {picture.height}\n")


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in EXAMPLES.glob("*.py")):
        make(name)

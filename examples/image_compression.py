"""A photograph in few bits: k-means as a vector quantiser, of single colours and of whole blocks of pixels.

Each pixel, or each block of 4 × 4 pixels, is replaced by the nearest entry of a codebook that k-means learns from the
picture itself. Colours cost log2(k) bits a pixel; blocks cost a sixteenth of that, and fine detail.

Run: python examples/image_compression.py --out image_compression.png
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_sample_image

from corollary import KMeans

SIDE = 4
DETAIL = (slice(140, 230), slice(250, 385))  # the part that is drawn, large enough to see single pixels


def to_blocks(picture: Any, side: int) -> Any:
    """The picture as rows: one row for each block of side × side pixels."""
    height, width, depth = picture.shape
    tiles = picture.reshape(height // side, side, width // side, side, depth).swapaxes(1, 2)
    return tiles.reshape(-1, side * side * depth)


def from_blocks(rows: Any, shape: tuple[int, ...], side: int) -> Any:
    """The inverse of :func:`to_blocks`."""
    height, width, depth = shape
    return rows.reshape(height // side, width // side, side, side, depth).swapaxes(1, 2).reshape(shape)


def compress(picture: Any, k: int, side: int) -> tuple[Any, float, float]:
    """The picture as its codebook sees it, bits a pixel (codes and codebook), and the signal-to-noise ratio in dB."""
    rows = to_blocks(picture, side)
    model = KMeans(k, random_state=0, tol=1e-3).fit(rows)
    print(f"{k} entries of {side} × {side} pixels: {model.evidence_}")
    codes = model.predict(rows)  # all that a decoder needs, with the codebook
    decoded = from_blocks(model.inverse_transform(codes), picture.shape, side)
    pixels = picture.shape[0] * picture.shape[1]
    bits = (len(codes) * np.log2(k) + model.cluster_centers_.size * 8) / pixels
    noise = float(np.mean((decoded - picture) ** 2))
    return decoded, float(bits), 10 * np.log10(1 / noise)


def draw(panels: list[tuple[str, Any]], out: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(8.2, 5.9), layout="constrained")
    for ax, (title, picture) in zip(axes.flat, panels, strict=True):
        ax.imshow(np.clip(picture[DETAIL], 0, 1), interpolation="nearest")
        ax.set(xticks=[], yticks=[])
        ax.set_title(title, fontsize="medium")
    figure.savefig(out, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("image_compression.png"), help="the picture")
    out = parser.parse_args().out
    photo = load_sample_image("flower.jpg").astype(np.float32) / 255
    height, width = (size // SIDE * SIDE for size in photo.shape[:2])
    photo = photo[:height, :width]
    print(f"A photograph of {height} × {width} pixels, {height * width * 24 / 8e3:.0f} kB.")
    panels = [("the photograph: 24 bits a pixel", photo)]
    for k, side, what in ((8, 1, "8 colours"), (64, 1, "64 colours"), (256, SIDE, "256 blocks of 4 × 4 pixels")):
        decoded, bits, ratio = compress(photo, k, side)
        panels.append((f"{what}: {bits:.2g} bits a pixel, {ratio:.1f} dB", decoded))
    draw(panels, out)


if __name__ == "__main__":
    main()

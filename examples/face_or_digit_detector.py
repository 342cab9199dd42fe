"""A detector trained from scratch in seconds: integral images, Haar features, a boosted cascade, boxes.

It learns handwritten digits on paper labels, and finds those that were stuck onto a photograph. Negatives come from
photographs: after each stage, windows that the cascade still mistakes for an object are cut out of them. With ``--faces
FOLDER`` it learns faces from 19 × 19 crops (MIT CBCL) instead, and looks for them in portraits (AT&T Laboratories
Cambridge) and around an astronaut (NASA), where you have those pictures.

Run: python examples/face_or_digit_detector.py --out face_or_digit_detector.png
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.ndimage import zoom
from sklearn.datasets import load_digits, load_sample_images

from corollary.core.drawing import BLUE, ORANGE
from corollary.ensemble.cascade import CascadeClassifier, Detector
from corollary.ensemble.cascade.plots import OUTLINE, draw_boxes, draw_features, draw_rates
from corollary.solvers.trees.cascade.integral import as_grey


@dataclass
class Task:
    """What to learn from, and where to look for it: pictures with the true boxes (left, top, width, height)."""

    name: str
    windows: Any
    labels: Any
    scenes: list[Any]
    pictures: list[tuple[Any, Any]]
    smallest: int


def turned(photograph: Any) -> list[Any]:
    """A photograph in its eight orientations: more background of the same kind."""
    grey = as_grey(photograph)
    return [np.rot90(side, turns) for side in (grey, grey[:, ::-1]) for turns in range(4)]


def faces(folder: Path) -> Task:
    """CBCL crops to learn from; portraits of the Olivetti set on a wall, and an astronaut, to look at."""
    import matplotlib.pyplot as plt

    with np.load(folder / "cbcl_faces_train.npz", allow_pickle=False) as data:
        positive, negative = data["faces"], data["nonfaces"]
    with np.load(folder / "olivetti.npz", allow_pickle=False) as data:
        people = data["images"][::10]
    rng = np.random.default_rng(3)
    wall, truth = np.full((302, 426), 70.0), []
    for number, person in enumerate(people[rng.permutation(40)[:24]]):
        row, column = divmod(number, 6)
        side = int(rng.integers(38, 61))
        top, left = row * 75 + 6 + rng.integers(0, 66 - side + 1), column * 71 + 4 + rng.integers(0, 63 - side + 1)
        wall[top : top + side, left : left + side] = zoom(person.astype(float), side / 64, order=1)[:side, :side]
        truth.append((left, top, side, side))
    astronaut = as_grey(plt.imread(folder / "astronaut.png")[20:270, 100:390]) * 255
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    scenes = [view for photograph in load_sample_images().images for view in turned(photograph)]
    return Task("faces", np.concatenate([positive, negative]), labels, scenes,
                [(wall, np.array(truth)), (astronaut, np.array([[83, 50, 92, 110]]))], 28)  # fmt: skip


def label(digit: Any, side: int, rng: Any) -> Any:
    """A digit in dark ink on a paper label of that many pixels."""
    ink = zoom(np.pad(digit, 1) / 16, side / 10, order=1)[:side, :side]
    return rng.uniform(170, 235) - ink * rng.uniform(110, 160)


def digits() -> Task:
    """Labels on one photograph to learn from, on another to look at."""
    source, rng = load_digits().images, np.random.default_rng(0)
    china, flower = load_sample_images().images
    scenes = turned(china)
    views = [np.lib.stride_tricks.sliding_window_view(scene, (16, 16)) for scene in scenes]
    patches = np.array(
        [view[rng.integers(view.shape[0]), rng.integers(view.shape[1])] for view in views for _ in range(400)]
    )
    positive, negative = patches[::2].copy(), patches[1::2]
    for window, digit in zip(positive, source, strict=False):  # not always quite in the middle
        side = int(rng.integers(14, 17))
        top, left = rng.integers(0, 17 - side, 2)
        window[top : top + side, left : left + side] = label(digit, side, rng)
    picture, truth = as_grey(flower[90:390]), []
    for number, (row, column) in enumerate(np.ndindex(2, 6)):
        side = int(rng.integers(24, 64))
        top, left = 15 + row * 150 + rng.integers(0, 60), 12 + column * 105 + rng.integers(0, 35)
        picture[top : top + side, left : left + side] = label(source[1700 + number], side, rng)
        truth.append((left, top, side, side))
    labels = np.repeat([1, 0], [len(positive), len(negative)])
    return Task("digits", np.concatenate([positive, negative]), labels, scenes, [(picture, np.array(truth))], 22)


def found(boxes: Any, truth: Any) -> tuple[int, int]:
    """(objects with a box that agrees in place and size, boxes without such an object)."""
    low = np.maximum(boxes[:, None, :2], truth[:, :2])
    high = np.minimum((boxes[:, :2] + boxes[:, 2:])[:, None], truth[:, :2] + truth[:, 2:])
    common = np.prod(np.maximum(high - low, 0), axis=2)
    either = np.prod(boxes[:, 2:], axis=1)[:, None] + np.prod(truth[:, 2:], axis=1) - common
    agree = common > 0.3 * either
    return int(agree.any(axis=0).sum()), int((~agree.any(axis=1)).sum())


def train(task: Task) -> CascadeClassifier:
    began = time.perf_counter()
    cascade = CascadeClassifier(max_stages=12, max_candidates=3000, n_negatives=3000, random_state=0)
    cascade.fit(task.windows, task.labels, negatives=task.scenes)
    facts = cascade.evidence_.facts
    print(
        f"{len(task.windows)} windows of {cascade.window_[0]} × {cascade.window_[1]} and {len(task.scenes)} scenes: "
        f"{len(cascade.stage_ends_)} stages, {len(cascade.cuts_)} stumps in {time.perf_counter() - began:.1f} s"
    )
    print(f"  {cascade.evidence_}")
    print(
        f"  measured on windows kept aside: {facts['detection rate']:.1%} of the {task.name} pass, and "
        f"{facts['false positive rate']:.1e} of all other windows"
    )
    return cascade


def draw(task: Task, cascade: CascadeClassifier, results: list[tuple[Any, Any]], out: Path) -> None:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 6.2), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.75, 1))
    shapes = [picture.shape[1] / picture.shape[0] for picture, _ in task.pictures]
    axes = np.atleast_1d(upper.subplots(1, len(shapes), width_ratios=shapes))
    for ax, (picture, _), (boxes, scores) in zip(axes, task.pictures, results, strict=True):
        draw_boxes(picture, boxes, scores, ax)
    left, right = lower.subfigures(1, 2, width_ratios=(1, 1.25))
    draw_features(cascade, task.windows[task.labels == 1].mean(axis=0), left.subplots(1, 3))
    left.suptitle(f"First features, over the mean of the {task.name}", fontsize="medium")
    draw_rates(cascade.evidence_.history, right.subplots())
    right.suptitle("What each stage leaves", fontsize="medium")
    save(figure, out)


def save(figure: Any, out: Path) -> None:
    """Photographs make large files: twelve greys and the colours of lines and boxes are enough."""
    from io import BytesIO

    from PIL import Image

    buffer = BytesIO()
    figure.savefig(buffer, dpi=100)
    greys = [(level, level, level) for level in np.linspace(0, 255, 12).astype(int).tolist()]
    lines = [tuple(int(code[i : i + 2], 16) for i in (1, 3, 5)) for code in (BLUE, ORANGE, OUTLINE)]
    pale = [tuple((value + 255) // 2 for value in line) for line in lines]
    palette = Image.new("P", (1, 1))
    palette.putpalette([value for colour in (*greys, *lines, *pale) for value in colour])
    Image.open(buffer).convert("RGB").quantize(palette=palette, dither=Image.Dither.NONE).save(out, optimize=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, default=Path("face_or_digit_detector.png"), help="the picture")
    parser.add_argument("--faces", type=Path, metavar="FOLDER", help="learn faces from the pictures in this folder")
    arguments = parser.parse_args()
    task = faces(arguments.faces) if arguments.faces else digits()
    cascade = train(task)
    detector = Detector(cascade, scale_factor=1.1, min_size=task.smallest, min_hits=6)
    results = []
    for picture, truth in task.pictures:
        began = time.perf_counter()
        boxes, scores = detector.detect(picture)
        seconds = time.perf_counter() - began
        right, wrong = found(boxes, truth)
        print(f"{right} of {len(truth)} {task.name} found in {seconds:.2f} s, {wrong} boxes elsewhere")
        results.append((boxes, scores))
    draw(task, cascade, results, arguments.out)
    print(f"picture: {arguments.out}")


if __name__ == "__main__":
    main()

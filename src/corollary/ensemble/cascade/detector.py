"""Finding objects of any size in a picture: a fitted cascade slid over an image pyramid, and the best box of each."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from corollary.base import Estimator, assigning
from corollary.core.limits import N_JOBS, Choice, Instance, Integer, Limit, Real
from corollary.core.memory import check_memory
from corollary.core.parallel import threads
from corollary.core.types import Array
from corollary.ensemble.cascade.cascade import CascadeClassifier
from corollary.solvers.trees.cascade.integral import as_grey
from corollary.solvers.trees.cascade.stages import check_fits, pyramid


def non_maximum_suppression(boxes: Array, scores: Array, overlap: float = 0.5) -> tuple[Array, Array]:
    """(kept, hits): the boxes that no better kept box overlaps, best first, and how many boxes each stands for.

    Boxes are (left, top, width, height). Two overlap if their intersection is more than ``overlap`` of the smaller one,
    so that a box inside another is not kept; a box counts for the best one it overlaps. Of equal scores the earlier box
    wins. Cost: O(boxes × kept).

    Examples
    --------
    >>> import numpy as np
    >>> from corollary.ensemble.cascade import non_maximum_suppression
    >>> boxes = np.array([[0, 0, 10, 10], [1, 0, 10, 10], [50, 50, 10, 10]])
    >>> non_maximum_suppression(boxes, np.array([1.0, 3.0, 2.0]))
    (array([1, 2]), array([2, 1]))
    """
    left, top, width, height = np.asarray(boxes, dtype=np.float64).reshape(-1, 4).T
    right, bottom, area = left + width, top + height, width * height
    waiting = np.argsort(-np.asarray(scores), kind="stable")
    kept, hits = [], []
    while waiting.size:
        best = waiting[0]
        across = np.minimum(right[best], right[waiting]) - np.maximum(left[best], left[waiting])
        down = np.minimum(bottom[best], bottom[waiting]) - np.maximum(top[best], top[waiting])
        common = np.maximum(across, 0.0) * np.maximum(down, 0.0)
        same = common > overlap * np.minimum(area[best], area[waiting])
        same[0] = True
        kept.append(best)
        hits.append(np.count_nonzero(same))
        waiting = waiting[~same]
    return np.array(kept, dtype=np.intp), np.array(hits, dtype=np.intp)


class Detector(Estimator):
    """Boxes around the objects in a picture that a fitted cascade knows.

    The picture is made smaller step by step, each pixel the mean of what it covers; on every level the cascade judges
    windows ``step`` pixels apart. Of accepted windows that overlap, the one of the highest score is kept.

    Parameters
    ----------
    cascade : CascadeClassifier
        A fitted one.
    scale_factor : float > 1, default 1.2
        Ratio of the sizes of one level and the next.
    step : int ≥ 1, default 1
        Pixels of a level between windows.
    min_size : int or None
        Height of the smallest objects to look for, at least that of the cascade's window; None is just that.
    max_size : int or None
        Height of the largest; None is as large as the picture.
    overlap : float in [0, 1], default 0.5
        Boxes whose intersection is more than this part of the smaller one are the same object.
    min_hits : int ≥ 1, default 1
        Accepted windows that must agree on a box. A true object is found by several neighbours, so 2 or 3 spare
        mistakes.
    n_jobs : int or None
        Threads; None means all usable cores. The answer does not depend on it.

    Notes
    -----
    *Cost.* Windows × the stumps that an average one takes (commonly about 10), at most 9 look-ups a stump.

    Nothing is learnt here: the evidence is that of the cascade.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_digits
    >>> from corollary.ensemble.cascade import CascadeClassifier, Detector
    >>> digits = load_digits()
    >>> cascade = CascadeClassifier(random_state=0).fit(digits.images, digits.target == 0)
    >>> picture = np.zeros((40, 60))
    >>> picture[10:26, 30:46] = np.kron(digits.images[0], np.ones((2, 2)))
    >>> boxes, scores = Detector(cascade, min_hits=3).detect(picture)
    >>> (boxes[0, :2] + boxes[0, 2:] / 2).round(-1)  # the middle of the best box, to the nearest ten
    array([40., 20.])
    """

    limits: ClassVar[dict[str, Limit]] = {
        "cascade": Instance("a CascadeClassifier", CascadeClassifier),
        "scale_factor": Real(low=1, above=True),
        "step": Integer(1),
        "min_size": Choice(None) | Integer(1),
        "max_size": Choice(None) | Integer(1),
        "overlap": Real(low=0, high=1),
        "min_hits": Integer(1),
        "n_jobs": N_JOBS,
    }

    @assigning
    def __init__(
        self,
        cascade: CascadeClassifier,
        *,
        scale_factor: float = 1.2,
        step: int = 1,
        min_size: int | None = None,
        max_size: int | None = None,
        overlap: float = 0.5,
        min_hits: int = 1,
        n_jobs: int | None = None,
    ) -> None: ...

    def windows(self, image: Any) -> tuple[Array, Array]:
        """All windows that the cascade accepts, before boxes are merged: (boxes, scores) as in ``detect``."""
        self._check_parameters()
        check_is_fitted(self.cascade)
        stages = self.cascade._stages()
        grey = as_grey(image)
        check_fits(grey, stages.window)
        check_memory(
            48 * grey.size,
            f"Looking through {grey.shape[0]:,} × {grey.shape[1]:,} pixels",
            "make the picture smaller, or cut it into parts that overlap by the size of the largest object",
        )
        height, width = stages.window
        smallest = height if self.min_size is None else self.min_size
        if smallest < height:
            raise ValueError(
                f"min_size is {smallest}, but the cascade's window is {height} pixels high; enlarge the picture to "
                "find smaller objects."
            )
        largest = np.inf if self.max_size is None else self.max_size / height
        boxes, scores = [np.empty((0, 4))], [np.empty(0)]
        with threads(self.n_jobs):
            for scale, level in pyramid(grey, stages.window, self.scale_factor, smallest / height, largest):
                verdicts = stages.scan(level, self.step)
                rows, columns = np.nonzero(verdicts > 0)
                corner = np.column_stack([columns, rows]) * (self.step * scale)
                sides = np.broadcast_to([width * scale, height * scale], corner.shape)
                boxes.append(np.hstack([corner, sides]))
                scores.append(verdicts[rows, columns])
        return np.concatenate(boxes), np.concatenate(scores)

    def detect(self, image: Any) -> tuple[Array, Array]:
        """Boxes (m, 4) as (left, top, width, height) in pixels of the picture, best first, and their scores (m,).

        The picture is (height, width), or (height, width, 3) in colour.
        """
        boxes, scores = self.windows(image)
        kept, hits = non_maximum_suppression(boxes, scores, self.overlap)
        kept = kept[hits >= self.min_hits]
        return boxes[kept], scores[kept]

    def plot(self, image: Any, ax: Any = None) -> Any:
        """Draw the picture and the boxes of ``detect``; returns the matplotlib axes."""
        from corollary.ensemble.cascade.plots import draw_boxes

        return draw_boxes(image, *self.detect(image), ax)

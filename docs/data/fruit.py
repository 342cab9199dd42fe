"""Write fruit.csv, a table to try things on: 400 fruit of three kinds, made up here, with gaps in their records.

Python's own random numbers, rounded, give the same table on every machine. Run: python fruit.py
"""

import csv
import math
import random

#        share, orchards (hill, river, village), length and width in mm, sugar in per cent, share with a russet skin
KINDS = {
    "apple": (0.42, (0.2, 0.4, 0.4), (68, 6), (74, 6), (12.5, 1.2), 0.2),
    "pear": (0.36, (0.1, 0.7, 0.2), (98, 9), (66, 5), (13.5, 1.3), 0.5),
    "quince": (0.22, (0.7, 0.1, 0.2), (88, 8), (80, 6), (10.2, 1.0), 0.1),
}
COLUMNS = ("label", "kind", "orchard", "length_mm", "width_mm", "weight_g", "sugar_pct", "skin")
SPARSE = {"weight_g": 0.03, "sugar_pct": 0.06, "skin": 0.04}  # how often it was not written down


def table(rows=400, seed=0):
    """The fruit, each as a dictionary; a gap is None."""
    rng = random.Random(seed)
    return [{"label": f"F{row:03d}"} | _fruit(rng) for row in range(1, rows + 1)]


def _fruit(rng):
    kind = rng.choices(list(KINDS), [about[0] for about in KINDS.values()])[0]
    _, orchards, length, width, sugar, russet = KINDS[kind]
    orchard = rng.choices(("hill", "river", "village"), orchards)[0]
    size = rng.gauss(0, 1)  # a large fruit is long and wide
    long, wide = (mean + spread * (0.7 * size + 0.7 * rng.gauss(0, 1)) for mean, spread in (length, width))
    weight = 0.00086 * math.pi / 6 * long * wide**2 * rng.gauss(1, 0.06)  # an ellipsoid, a little lighter than water
    skin = "russet" if rng.random() < russet else "smooth"
    values = (kind, orchard, round(long, 1), round(wide, 1), round(weight), round(rng.gauss(*sugar), 1), skin)
    fruit = dict(zip(COLUMNS[1:], values, strict=True))
    return {name: None if rng.random() < SPARSE.get(name, 0.0) else value for name, value in fruit.items()}


if __name__ == "__main__":
    with open("fruit.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        lines.writeheader()
        lines.writerows(table())

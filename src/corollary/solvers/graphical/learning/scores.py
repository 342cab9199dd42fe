"""What a structure is worth: scores that are sums over families.

Each takes the counts of one family as a table with the parents' states on the first axis and the variable's own on the
second (further axes are further parents), of which parents' states that never occur may be left out, and the number q
of parents' states that are possible.

- ``"log-likelihood"``: Σ N log(N / N of the parents), the largest log-likelihood that the family can reach;
- ``"bic"``: less ½ log n for each free parameter; ``"aic"``: less one for each;
- ``"bdeu"``: the log evidence under Dirichlet priors worth ``ess`` rows in all, spread evenly;
- ``"k2"``: the same under priors of one row for each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from corollary.core.log_gamma import log_evidence
from corollary.core.types import Array

SCORES = ("bic", "aic", "bdeu", "k2", "log-likelihood")


@dataclass(frozen=True)
class Score:
    """One of ``SCORES`` for data of ``total`` rows; ``ess`` is the equivalent sample size of BDeu.

    A row counts ``unit`` in tables, and scores come in that unit.
    """

    name: str
    total: float
    ess: float = 10.0
    unit: float = 1.0

    def family(self, table: Array, q: float) -> float:
        """The score of a family with ``q`` parents' states."""
        return self.families([table], [q])[0]

    def families(self, tables: Sequence[Array], qs: Sequence[float]) -> list[float]:
        """The scores of families of one variable, worked out together."""
        if not tables:
            return []
        r = tables[0].shape[1]
        rows = [np.moveaxis(table, 1, -1).reshape(-1, r) for table in tables]
        rows = [each[each.any(axis=1)] for each in rows] if self.name in ("bdeu", "k2") else rows
        ends = np.cumsum([len(each) for each in rows])[:-1]
        joined = np.concatenate(rows)
        if self.name in ("bdeu", "k2"):
            cells = [self.ess / (q * r) if self.name == "bdeu" else 1.0 for q in qs]
            alphas = np.repeat(cells, [len(each) for each in rows])[:, None]
            parts = np.split(log_evidence(joined / self.unit, alphas), ends)
            return [float(part.sum()) * self.unit for part in parts]
        fits = zip(*(np.split(part, ends) for part in _log_likelihood(joined)), strict=True)
        return [
            float(light.sum() - heavy.sum()) - self.price * q * (r - 1)
            for (light, heavy), q in zip(fits, qs, strict=True)
        ]

    @property
    def price(self) -> float:
        """What a free parameter costs."""
        if self.name == "bic":
            return 0.5 * max(float(np.log(self.total) - np.log(self.unit)), 0.0) * self.unit
        return self.unit if self.name == "aic" else 0.0


def _log_likelihood(rows: Array) -> tuple[Array, Array]:
    """Terms of Σ N log(N / N of the row): of all cells but the largest count of a row, and of that, to be subtracted.

    All terms have one sign, and what is beside the largest count of a row is added up.

    So nothing cancels, whatever the weights: that of one row may be 1e18 times those of all others.
    """
    places, top = np.arange(len(rows)), rows.argmax(axis=1)
    heavy, light = rows[places, top], rows.copy()
    light[places, top] = 0.0
    others = light.sum(axis=1)
    some = np.where(heavy > 0, heavy, 1.0)
    return xlogy(light, light / (some + others)[:, None]), heavy * np.log1p(others / some)

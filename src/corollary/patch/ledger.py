"""What a patched process has done, for its report."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from corollary.core.evidence import Evidence


@dataclass
class _Line:
    """The fits of one class, or the calls of one function."""

    count: int = 0
    seconds: float = 0.0
    proved: Counter[str] = field(default_factory=Counter)  # kinds of claims that hold
    open: Counter[str] = field(default_factory=Counter)  # claims that do not


class Ledger:
    """Fits and what became scikit-learn's again; threads may write at the same time."""

    def __init__(self) -> None:
        self.fits: dict[str, _Line] = {}
        self.fell_back: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def fitted(self, name: str, seconds: float, evidence: Evidence | None = None) -> None:
        """Note a fit of one of our classes."""
        with self._lock:
            line = self.fits.setdefault(name, _Line())
            line.count += 1
            line.seconds += seconds
            if evidence is not None:
                (line.proved if evidence.holds else line.open)[evidence.claim.lower()] += 1

    def fell(self, name: str, why: str) -> None:
        """Note that scikit-learn's class was used after all."""
        with self._lock:
            self.fell_back[name, " ".join(why.split())] += 1

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]  # as new: all it has is made there

    def text(self, replaced: list[str]) -> str:
        """The report."""
        lines = [f"corollary in the place of scikit-learn: {len(replaced)} names replaced"]
        if not self.fits:
            lines.append("  nothing was fitted in this process")
        width = max(map(len, self.fits), default=0)
        for name, line in sorted(self.fits.items()):
            claims = [f"{count} {words}" for words, count in line.proved.items()]
            claims += [f"NOT PROVED: {count} {words}" for words, count in line.open.items()]
            times = f"{line.count} time{'s' * (line.count != 1)}"
            lines.append(f"  {name:{width}s}  {times:>9s}  {line.seconds:8.3f} s  {', '.join(claims)}".rstrip())
        for (name, why), count in self.fell_back.items():
            lines.append(f"  {count}× scikit-learn's {name}, because {why.removeprefix(f'{name}: ')}")
        return "\n".join(lines)


LEDGER = Ledger()

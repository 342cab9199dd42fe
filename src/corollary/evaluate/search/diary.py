"""What a search has finished, line by line in a file, so that one that was broken off can go on where it was.

Each line is a JSON object: the key of a fit (data, settings, configuration and fold), what it cost, and its predictions
as a compressed NumPy archive in base64. Nothing in it is executed when it is read.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from corollary.core.evidence import Certificate, Evidence, Kind, Status
from corollary.evaluate.candidates import Configuration
from corollary.evaluate.cross_validation import FoldFit
from corollary.evaluate.jobs import described
from corollary.evaluate.metrics import Prediction
from corollary.tabular.messages import InputError

_FORMAT = "corollary search 1"


class Diary:
    """Fits by key. Without a path it remembers nothing."""

    def __init__(self, path: Any, about: Mapping[str, Any]) -> None:
        self.path = None if path is None else Path(path)
        self._about = json.dumps(dict(about), sort_keys=True, default=str)
        self._known: dict[str, dict[str, Any]] = {}
        self.found = 0  # fits that were not done again
        if self.path is not None:
            self._open(self.path)

    def _open(self, path: Path) -> None:
        try:
            text = path.read_text(encoding="utf-8") if path.exists() else ""
            if not text:
                path.write_text(json.dumps({"format": _FORMAT}) + "\n", encoding="utf-8")
                return
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise InputError(f"--resume {path}: cannot be used ({reason}); give another path") from None
        lines = text.split("\n")
        whole, rest = lines[:-1], lines[-1]
        for number, line in enumerate(whole, start=1):
            self._read(line, number, path)
        if rest:  # the machine stopped while this line was being written: forget it
            path.write_text("".join(line + "\n" for line in whole), encoding="utf-8")

    def _read(self, line: str, number: int, path: Path) -> None:
        try:
            entry = json.loads(line)
            if number == 1:
                if entry["format"] != _FORMAT:
                    raise ValueError
                return
            _fit(entry)
            self._known[str(entry["key"])] = entry
        except Exception:  # of JSON, base64, zip or NumPy: whichever part was hurt
            what = "is not a file of a search" if number == 1 else f"line {number:,} is damaged"
            raise InputError(f"--resume {path}: {what}; delete the file to begin anew, or give another path") from None

    def _key(self, configuration: Configuration, kind: str, fold: int) -> str:
        source = configuration.candidate.source
        what = [self._about, configuration.model, dict(configuration.settings), kind, fold, described(source)]
        return hashlib.sha256(json.dumps(what, sort_keys=True, default=str).encode()).hexdigest()[:32]

    def find(self, configuration: Configuration, kind: str, fold: int, rows: int, classes: Any) -> FoldFit | None:
        """The fit of this configuration on this fold of ``rows`` rows, if it was finished before."""
        if self.path is None:
            return None
        entry = self._known.get(self._key(configuration, kind, fold))
        fit = None if entry is None else _fit(entry)
        if fit is None or not _suits(fit.prediction, rows, classes):
            return None
        self.found += 1
        return fit

    def write(self, configuration: Configuration, kind: str, fold: int, fit: FoldFit) -> None:
        """Append a finished fit; one that the time has ended is not finished."""
        if self.path is None or fit.stopped or fit.error or fit.prediction is None:
            return
        entry = {
            "key": self._key(configuration, kind, fold), "model": configuration.model,
            "settings": dict(configuration.settings), "fold": fold, "seconds": fit.seconds, "rounds": fit.rounds,
            "warnings": list(fit.warnings), "evidence": _evidence_entry(fit.evidence),
            "prediction": _packed(fit.prediction),
        }  # fmt: skip
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, default=str) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _suits(said: Prediction | None, rows: int, classes: Any) -> bool:
    """Whether predictions from a file can be those of so many rows, and of these classes (None: of numbers)."""
    if said is None or said.values.shape != (rows,):
        return False
    numbers = said.values.dtype.kind in "fiu"
    if classes is None:
        return said.probabilities is None and numbers and bool(np.isfinite(said.values).all())
    if not (numbers or said.values.dtype.kind in "Ub") or not np.isin(said.values, classes).all():
        return False
    chances = said.probabilities
    if chances is None:
        return True
    whole = chances.shape == (rows, len(classes)) and chances.dtype.kind == "f"
    return whole and bool(np.isfinite(chances).all())


def _packed(said: Prediction) -> str:
    values = said.values.astype(str) if said.values.dtype.kind == "O" else said.values
    buffer = io.BytesIO()
    if said.probabilities is None:
        np.savez_compressed(buffer, values=values)
    else:
        np.savez_compressed(buffer, values=values, probabilities=said.probabilities)
    return base64.b64encode(buffer.getvalue()).decode("ascii")


def _fit(entry: Mapping[str, Any]) -> FoldFit:
    with np.load(io.BytesIO(base64.b64decode(entry["prediction"])), allow_pickle=False) as arrays:
        said = Prediction(arrays["values"], arrays.get("probabilities"))
    rounds = None if entry["rounds"] is None else int(entry["rounds"])
    warnings = tuple(str(text) for text in entry["warnings"])
    return FoldFit(float(entry["seconds"]), said, _evidence(entry["evidence"]), warnings, rounds=rounds)


def _evidence_entry(evidence: Evidence | None) -> dict[str, Any] | None:
    if evidence is None:
        return None
    kept = {each.name: getattr(evidence, each.name) for each in fields(Evidence) if each.name != "history"}
    certificate = evidence.certificate
    claim = [certificate.kind.name, certificate.name, certificate.value, certificate.tolerance]
    return kept | {"status": evidence.status.name, "certificate": claim, "facts": dict(evidence.facts)}


def _evidence(entry: Mapping[str, Any] | None) -> Evidence | None:
    if entry is None:
        return None
    kind, name, value, tolerance = entry["certificate"]
    facts = {str(key): float(number) for key, number in entry["facts"].items()}
    return Evidence(
        Status[entry["status"]], Certificate(Kind[kind], str(name), float(value), float(tolerance)),
        str(entry["solver"]), int(entry["n_iter"]), float(entry["seconds"]), {}, facts, tuple(entry["notes"]),
    )  # fmt: skip

"""Many fits: in parallel, with progress, kept in a file as they finish, so that what was interrupted goes on later."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np

from corollary.evaluate.identity import identity, versions

Progress = Callable[[int, int, str], None]  # called with (done, in all, what is being done)
_KIND = "corollary fits"


class Unfinished(KeyboardInterrupt):
    """Ctrl-C ended a run of fits; ``finished`` maps the numbers of those that were done to their results."""

    def __init__(self, finished: Mapping[int, Any], total: int, resume: Path | None) -> None:
        later = f"; resume={str(resume)!r} goes on from there" if resume is not None else ""
        super().__init__(f"{len(finished)} of {total} fits were finished{later}")
        self.finished = dict(finished)


def run_jobs(
    function: Callable[..., Any],
    jobs: Sequence[tuple[Any, ...]],
    *,
    what: str,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    resume: Any = None,
    about: Mapping[str, Any] | None = None,
) -> list[Any]:
    """``[function(*job) for job in jobs]``, several at a time; results must be what JSON can hold.

    With ``resume``, a path, every result is appended to that file as soon as it is there, and results that the file
    has already are not computed again. ``about`` is what the results depend on: a file about something else is an
    error.
    """
    path = None if resume is None else Path(resume)
    header = {"kind": _KIND, "what": what, "jobs": len(jobs), "about": dict(about or {})}
    done = {} if path is None else _read(path, header)
    left = [number for number in range(len(jobs)) if number not in done]
    if progress is not None:
        progress(len(done), len(jobs), what)
    try:
        for number, result in _each(function, jobs, left, n_jobs):
            done[number] = result
            if path is not None:
                _append(path, {"job": number, "result": result})
            if progress is not None:
                progress(len(done), len(jobs), what)
    except KeyboardInterrupt:
        raise Unfinished(done, len(jobs), path) from None
    return [done[number] for number in range(len(jobs))]


def _each(
    function: Callable[..., Any], jobs: Sequence[tuple[Any, ...]], left: list[int], n_jobs: int | None
) -> Iterable[tuple[int, Any]]:
    if n_jobs in (None, 1):  # in this thread, where Ctrl-C is heard at once
        return ((number, function(*jobs[number])) for number in left)
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
    return parallel(joblib.delayed(_numbered)(function, number, jobs[number]) for number in left)


def _numbered(function: Callable[..., Any], number: int, job: tuple[Any, ...]) -> tuple[int, Any]:
    return number, function(*job)


def _read(path: Path, header: dict[str, Any]) -> dict[int, Any]:
    """The results in the file; a new file gets the header. A last line that was cut off is dropped."""
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        lines = text.split("\n")
        whole, rest = lines[:-1], lines[-1]
        if not whole:
            if rest and not json.dumps(header).startswith(rest):
                raise ValueError
            path.write_text(json.dumps(header) + "\n", encoding="utf-8")
            return {}
        found, *results = (json.loads(line) for line in whole)
        if found.get("kind") != _KIND:
            raise ValueError
        done = {int(each["job"]): each["result"] for each in results}
    except OSError as error:
        raise ValueError(f"resume={str(path)!r} cannot be used: {error.strerror or error}.") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError(f"resume={str(path)!r} is not a file of finished fits; give another path.") from None
    if found != json.loads(json.dumps(header)):
        differs = next(iter(_differences(found, json.loads(json.dumps(header)))), "contents")
        raise ValueError(
            f"resume={str(path)!r} holds the fits of another run ({differs} differ); delete it, or give another path."
        )
    if rest:
        path.write_text("\n".join(whole) + "\n", encoding="utf-8")
    return done


def _differences(found: dict[str, Any], header: dict[str, Any]) -> Iterable[str]:
    for name in ("what", "jobs"):
        if found.get(name) != header[name]:
            yield name
    for name in header["about"]:
        if found.get("about", {}).get(name) != header["about"][name]:
            yield name


def _append(path: Path, line: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def about(estimator: Any, X: Any, y: Any, **others: Any) -> dict[str, Any]:
    """What results of fits depend on: the model and its parameters, the rows, the rest, and the versions."""
    known = {"model": identity(estimator), "rows": str(joblib.hash((_plain(X), _plain(y))))}
    return known | {name: identity(value) for name, value in others.items()} | {"versions": versions()}


def described(value: Any) -> str:
    """A text to be read: of models with their parameters, of arrays their hash."""
    if hasattr(value, "get_params") and not isinstance(value, type):
        inside = ", ".join(f"{name}={described(each)}" for name, each in sorted(value.get_params(deep=False).items()))
        return f"{type(value).__name__}({inside})"
    if isinstance(value, np.ndarray) or hasattr(value, "iloc"):
        return str(joblib.hash(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {described(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(described(each) for each in value) + "]"
    return re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value))


def jsonable(value: Any) -> Any:
    """A parameter's value as JSON can hold it: numbers, texts, None, lists of them; anything else by its repr."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [jsonable(each) for each in value]
    return described(value)


def _plain(rows: Any) -> Any:
    return rows if hasattr(rows, "shape") else np.asarray(rows)

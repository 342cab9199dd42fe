"""``learn_network``: the Bayesian network of a table, or of a BIF file, ready to be asked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from corollary.core.evidence import Evidence
from corollary.tabular.messages import InputError, as_option, count, one_line, sentences, shown
from corollary.tabular.reading import Table, read_table
from corollary.tabular.roles import Column, DataFacts, Role, find_roles, refuse_few_rows, refuse_unknown
from corollary.tabular.values import labels, numbers

STRUCTURES = {"hill-climb": "HillClimb", "chow-liu": "ChowLiu", "tan": "TreeAugmentedNB"}
BINS = 5
FEW = 10  # different numbers that are states as they are
GAPS = 0.5  # of a column, beyond which it is left out: rows that lack a value show no structure
MOST = 50  # states of a category; beyond, tables have more cells than rows can fill


@dataclass(frozen=True, eq=False)
class NetworkOfTable:
    """A network with where it came from: a table (``facts``, and the ``evidence`` of the fit) or a file."""

    source: str
    network: Any
    facts: DataFacts | None = None
    evidence: Evidence | None = None
    notes: tuple[str, ...] = ()

    @property
    def edges(self) -> list[tuple[str, str]]:
        """(parent, child), by child."""
        names: list[str] = self.network.variables_.tolist()
        return [(names[p], names[v]) for v, above in enumerate(self.network.parents_) for p in above.tolist()]

    @property
    def free_parameters(self) -> int:
        """Numbers in the tables, less those that follow from the others of their row."""
        return sum(table.size - table.size // table.shape[-1] for table in self.network.tables_)

    def findings(self, option: str, given: Sequence[str]) -> dict[str, Any]:
        """``["rain=yes", "wind=12.5"]`` as states by variable; ``option`` is blamed for what is not one."""
        found: dict[str, Any] = {}
        for text in given:
            variable, state = self._finding(option, text)
            if variable in found:
                raise InputError(f"{option} {text}: {shown(variable)} is given twice")
            found[variable] = state
        return found

    def _finding(self, option: str, text: str) -> tuple[str, Any]:
        names = self.network.variables_.tolist()
        cuts = [at for at, letter in enumerate(text) if letter == "="]
        if not cuts:
            raise InputError(f"{option} {text}: expected NAME=STATE")
        cut = next((at for at in reversed(cuts) if text[:at].strip() in names), cuts[0])
        name, state = text[:cut].strip(), text[cut + 1 :].strip()
        try:
            place = self.network._findings({name: state})
        except ValueError as error:
            place = self._nearly(name, state)
            if place is None:
                raise InputError(f"{option} {text}: {one_line(error)}") from None
        return next(iter(self.network._named(place).items()))

    def _nearly(self, name: str, state: str) -> dict[int, int] | None:
        """A state in other letters (tables turn TRUE into True), or the interval that a number lies in."""
        names = self.network.variables_.tolist()
        known = self.network.states_[names.index(name)].tolist() if name in names else []
        alike = [place for place, label in enumerate(known) if str(label).casefold() == state.casefold()]
        if len(alike) == 1:
            return {names.index(name): alike[0]}
        try:
            found: dict[int, int] = self.network._findings({name: float(state)})
        except ValueError:
            return None
        return found

    def variable(self, option: str, name: str) -> str:
        """The name, if there is such a variable; ``option`` is blamed if not."""
        from corollary.graphical.states import find

        try:
            find(name, self.network.variables_.tolist())
        except ValueError as error:
            raise InputError(f"{option} {name}: {one_line(error)}") from None
        return name


def learn_network(
    data: Any,
    *,
    structure: str | None = None,
    target: str | None = None,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    bins: int = BINS,
    seed: int = 0,
    header: bool = True,
    encoding: str = "utf-8",
) -> NetworkOfTable:
    """Learn which columns of a table depend on which, and how; or read a network from a ``.bif`` file.

    Parameters
    ----------
    data : path or data frame
        CSV, TSV, JSON lines, Excel, Parquet or Arrow (packed ones too), BIF, or a pandas, polars or pyarrow table.
    structure : {"hill-climb", "chow-liu", "tan"} or None
        By hill climbing on BIC (as None is), the best tree, or naive Bayes with a tree, which needs a ``target``.
    target : str or None
        The column of the classes, for "tan" alone.
    columns, drop : sequences of str
        Columns to use (all by default), and columns to leave out.
    bins : int ≥ 2
        Columns of more than ten different numbers are cut at quantiles into as many states.
    seed : int
    header, encoding
        Of a text file.
    """
    if structure is not None and structure not in STRUCTURES:
        raise InputError(f"--structure {structure}: expected one of {', '.join(STRUCTURES)}")
    if isinstance(data, str | os.PathLike) and str(data).lower().endswith(".bif"):
        asked: dict[str, Any] = {"--structure": structure, "--target": target, "--columns": columns, "--drop": drop}
        asked |= {"--bins": bins != BINS, "--no-header": not header}
        for option in (name for name, value in asked.items() if value):
            raise InputError(f"{option}: {data} is a network already, of which nothing is learned; leave it out")
        return _read(Path(data))
    structure = structure or "hill-climb"
    if bins < 2:
        raise InputError(f"--bins {bins}: expected a whole number of 2 or more")
    if (structure == "tan") != (target is not None):
        told = "needs --target COLUMN, the class" if target is None else "has no target; only tan has"
        raise InputError(f"--structure {structure}: {told}")
    table = read_table(data, header=header, encoding=encoding)
    frame, facts = _columns(table, columns, drop, target)
    if structure == "hill-climb":
        _refuse_gaps(frame, table.source)
    model = _model(structure, bins, seed)
    if target is not None:
        model.set_params(target=target)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if target is None:
                model.fit(frame)
            else:
                model.fit(frame.drop(columns=target), _target(frame[target], target, table.source))
        except (ValueError, MemoryError) as error:
            raise InputError(f"{table.source}: {one_line(error)}") from None
    evidence = model.evidence_
    return NetworkOfTable(table.source, model, facts, evidence, (*table.notes, *sentences(caught, evidence)))


def _read(path: Path) -> NetworkOfTable:
    from corollary.graphical.bif import read_bif

    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            network = read_bif(path)
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder; give a BIF file") from None
    except (ValueError, MemoryError) as error:
        raise InputError(f"{path}: {one_line(error)}") from None
    return NetworkOfTable(str(path), network, notes=sentences(caught))


def _columns(
    table: Table, columns: Sequence[str], drop: Sequence[str], target: str | None
) -> tuple[pd.DataFrame, DataFacts]:
    """The columns that become variables, each as it is to be read, and the facts about all."""
    frame, source = table.frame, table.source
    wanted = () if target is None else (target,)
    for option, names in (("--columns", columns), ("--drop", drop), ("--target", wanted)):
        refuse_unknown(frame, option, names, source)
    kept = [name for name in (columns or frame.columns) if name not in set(drop)]
    kept += [name for name in wanted if name not in kept]
    if len(kept) < 2:
        raise InputError(f"{source}: a network needs at least two columns, and {count(len(kept), 'column')} is left")
    refuse_few_rows(len(frame), source, "learning a network")
    named = {*columns, *wanted}
    roles = find_roles(frame[kept], source, text=False)
    found = tuple(_role(column, len(frame), named=column.name in named) for column in roles)
    facts = DataFacts(source, table.sha256, len(frame), found)
    if len(facts.used) < 2:
        reasons = "; ".join(f"{shown(column.name)}: {column.note}" for column in found if column.role is Role.UNUSED)
        raise InputError(f"{source}: a network needs at least two columns ({reasons})")
    if target is not None and target not in [column.name for column in facts.used]:
        note = next(column.note for column in found if column.name == target)
        raise InputError(f"--target {target}: cannot be the class ({note})")
    return pd.DataFrame({column.name: _values(frame[column.name], column) for column in facts.used}), facts


def _refuse_gaps(frame: pd.DataFrame, source: str) -> None:
    """Say which columns to leave out where no row is complete."""
    shares = frame.isna().mean().sort_values(ascending=False)
    if not frame.isna().any(axis=1).all():
        return
    gone = next(n for n in range(1, len(shares) + 1) if frame[shares.index[n:]].notna().all(axis=1).any())
    named = ", ".join(f"{shown(name)} {share:.0%}" for name, share in shares.iloc[: max(gone, 3)].items() if share)
    drop = " ".join(as_option("--drop", str(name)) for name in shares.index[:gone])
    told = f"leave some out, as by {drop}" if len(shares) - gone > 1 else "--structure chow-liu needs no such row"
    raise InputError(f"{source}: no row has a value in every column (missing: {named}); {told}")


def _role(column: Column, rows: int, *, named: bool) -> Column:
    """As it was found, but dates, categories of too many states, and gaps that nobody asked for, are left out."""
    if column.role is Role.UNUSED:
        return column
    if not named and column.missing > GAPS * rows:
        return replace(column, role=Role.UNUSED, note=f"{column.missing / rows:.0%} missing")
    if column.role is Role.DATE:
        return replace(column, role=Role.UNUSED, note="a date")
    if column.role is Role.CATEGORY and column.distinct > MOST:
        return replace(column, role=Role.UNUSED, note=f"{column.distinct:,} different values, more than {MOST}")
    return column


def _values(series: Any, column: Column) -> Any:
    """Text as states, few numbers as states in their order, many numbers as numbers."""
    if column.role is Role.NUMBER and column.distinct > FEW:
        return numbers(series, column.decimal)
    texts = labels(series)
    present = pd.unique(texts[texts != None])  # noqa: E711 (elementwise)
    if column.role is Role.NUMBER:
        present = present[np.argsort(numbers(pd.Series(present), column.decimal), kind="stable")]
    else:
        present = np.sort(present)
    return pd.Categorical(texts, categories=present)


def _target(series: Any, name: str, source: str) -> Any:
    """The classes as text."""
    if series.isna().any():
        raise InputError(
            f"{source}: {shown(name)} is missing in {count(int(series.isna().sum()), 'row')}; leave them out"
        )
    if not isinstance(series.dtype, pd.CategoricalDtype):
        raise InputError(f"--target {name}: has too many different numbers to be the class")
    return series.astype(str).to_numpy(dtype=object).astype(str)


def _model(structure: str, bins: int, seed: int) -> Any:
    from corollary.graphical.chow_liu import ChowLiu
    from corollary.graphical.hill_climb import HillClimb
    from corollary.graphical.tan import TreeAugmentedNB

    makers: Mapping[str, Any] = {"hill-climb": HillClimb, "chow-liu": ChowLiu, "tan": TreeAugmentedNB}
    return makers[structure](n_bins=bins, max_states=FEW, random_state=seed)

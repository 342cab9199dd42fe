"""``corollary network``."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from corollary.cli.comparing import say_where
from corollary.cli.show import plain_table, safe, say, show_left_out
from corollary.tabular.messages import InputError, count, one_line, shortened

if TYPE_CHECKING:
    from corollary.evaluate.networks import NetworkOfTable

PICTURES = (".png", ".svg", ".pdf")
VARIABLES = 40  # that are listed
ANSWERS = 12  # variables that are shown where nothing was asked
STATES = 12  # of a variable that was asked
BAR = 24  # letters


def run_network(
    file: Path,
    options: Mapping[str, Any],
    given: Sequence[str] = (),
    query: Sequence[str] = (),
    do: Sequence[str] = (),
    samples: int | None = None,
    save: Path | None = None,
    picture: Path | None = None,
) -> None:
    """Learn or read a network, print it and its answers, and write what was asked for."""
    from corollary.evaluate.networks import learn_network
    from corollary.tabular.writing import check_output, write_text

    for path, option in ((save, "--save"), (picture, "--picture")):
        if path is not None:
            check_output(path, option)
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: expected a name that ends in {', '.join(PICTURES)}")
    if samples is not None and samples < 1:
        raise InputError(f"--samples {samples}: expected a whole number of 1 or more")
    found = learn_network(file, **options)
    known, asked = found.findings("--given", given), [found.variable("--query", name) for name in query]
    for name in asked:
        if name in known:
            raise InputError(f"--query {name}: is given; ask for another variable")
    network = _set(found, do, known)
    answers = _Answers.of(network, known, asked, samples)
    console = Console()
    _show(console, found)
    if answers is not None:
        answers.show(console)
    console.print()
    if found.evidence is not None:
        name = type(found.network).__name__
        say(console, "Evidence", f"{name}, fitted to every row. {found.evidence}", "bold")
    if save is not None:
        from corollary.graphical.bif import to_bif

        write_text(save, _told("--save", lambda: to_bif(network)))
        say_where(console, "Network", save)
    if picture is not None:
        _told("--picture", lambda: _draw(network, known, asked, picture))
        say_where(console, "Picture", picture)
    say(console, "Next", _following(found, file, known, asked, save), "bold", wrap=False)


def _set(found: NetworkOfTable, do: Sequence[str], known: Mapping[str, Any]) -> Any:
    """The network, with the variables that are set from outside."""
    forced = found.findings("--do", do)
    for name in forced:
        if name in known:
            raise InputError(f"--do {name}: is also given; what is set needs no finding")
    return found.network.do(forced) if forced else found.network


def _told(option: str, call: Any) -> Any:
    """What a call returns; what it refuses is one line."""
    try:
        return call()
    except (ValueError, MemoryError) as error:
        raise InputError(f"{option}: {one_line(error)}") from None


def _show(console: Console, found: NetworkOfTable) -> None:
    from corollary.tabular.roles import tally

    names = found.network.variables_.tolist()
    console.print()
    if found.facts is not None:
        say(console, "Data", f"{found.source}: {found.facts.rows:,} rows; {tally(found.facts.columns)}")
        show_left_out(console, found.facts)
    else:
        say(console, "File", found.source)
    for note in found.notes:
        say(console, "Note", note)
    edges, parameters = count(len(found.edges), "edge"), count(found.free_parameters, "free parameter")
    say(console, "Network", f"{count(len(names), 'variable')}, {edges}, {parameters}", "bold")
    console.print()
    table = plain_table(["variable", "states", "depends on"], (0, 1, 2))
    left = max(10, min(22, max(map(len, names)) + 1))
    room = max(16, (console.width - left - 4) // 2)
    for v, name in enumerate(names[:VARIABLES]):
        states = ", ".join(map(str, found.network.states_[v].tolist()))
        above = ", ".join(names[p] for p in found.network.parents_[v].tolist()) or "–"
        table.add_row(*(Text(_short(text, width)) for text, width in ((name, left), (states, room), (above, room))))
    console.print(table)
    if len(names) > VARIABLES:
        console.print(Text(f"and {len(names) - VARIABLES} more variables", style="dim"))


@dataclass(frozen=True)
class _Answers:
    """Probabilities before and after the findings, and why they changed; asked before anything is printed."""

    known: dict[str, Any]
    asked: list[str]
    before: Any
    after: Any
    why: dict[str, str]

    @classmethod
    def of(cls, network: Any, known: dict[str, Any], asked: list[str], samples: int | None) -> _Answers | None:
        from corollary.graphical.reasons import explain_query

        if not asked and not known:
            return None
        draw = {"method": "likelihood_weighting", "n_samples": samples, "random_state": 0}
        how = {} if samples is None else draw
        wanted = asked or None
        before = _told("--query", lambda: network.query(wanted, {}, **how))
        after = _told("--given", lambda: network.query(wanted, known, **how)) if known else before
        explained = asked if known and samples is None else []
        why = {name: _told("--query", partial(explain_query, network, name, known)) for name in explained}
        return cls(known, asked, before, after, {name: str(each) for name, each in why.items()})

    def show(self, console: Console) -> None:
        if self.known:
            console.print()
            say(console, "Given", ", ".join(f"{name} = {state}" for name, state in self.known.items()), "bold")
        names = self.asked or _most_moved(self.before, self.after)
        for name in names:
            console.print()
            _show_change(console, name, self.before[name], self.after[name] if self.known else None)
            for place, line in enumerate(self.why.get(name, "").splitlines()[1:]):
                say(console, "" if place else "Why", line)
        if not self.asked and len(self.after) > len(names):
            more = f"and {len(self.after) - len(names)} more variables, which changed less"
            console.print(Text(more, style="dim"))
        for note in self.after.notes:
            say(console, "Note", note)


def _most_moved(before: Any, after: Any) -> list[str]:
    def moved(name: str) -> float:
        return sum(abs(after[name][state] - before[name][state]) for state in after[name])

    return sorted(after, key=lambda name: -moved(name))[:ANSWERS]


def _show_change(console: Console, name: str, before: Mapping[Any, float], after: Mapping[Any, float] | None) -> None:
    table = plain_table(
        [_short(name, 26), "before" if after else "share", *(["after", ""] if after else [""])], (0, 3 if after else 2)
    )
    shares = before if after is None else after
    shown = sorted(shares, key=lambda state: -shares[state])[:STATES]
    for state in (each for each in shares if each in shown):
        bar = "█" * round(BAR * shares[state]) or ("▏" if shares[state] > 0 else "")
        cells = [_short(str(state), 26), f"{before[state]:.4f}", *([f"{after[state]:.4f}"] if after else []), bar]
        table.add_row(*map(Text, cells))
    console.print(table)
    if len(shown) < len(shares):
        console.print(Text(f"and {len(shares) - len(shown)} more states", style="dim"))


def _draw(network: Any, known: dict[str, Any], asked: list[str], path: Path) -> None:
    """The graph; with findings what follows from them; with a question too, why."""
    import io

    import matplotlib as mpl

    from corollary.graphical.plots import plot_network, plot_query
    from corollary.io.replacing import replacing

    with mpl.rc_context({"backend": "agg"}):
        if asked and known:
            figure = plot_query(network, asked[0], known)
        else:
            figure = plot_network(network, known or None).figure
        drawn = io.BytesIO()
        figure.savefig(drawn, format=path.suffix[1:].lower(), dpi=130)
        import matplotlib.pyplot as plt

        plt.close(figure)
    with replacing(path) as stream:
        stream.write(drawn.getvalue())


def _following(found: NetworkOfTable, file: Path, known: dict[str, Any], asked: list[str], save: Path | None) -> str:
    """A command that goes on from here."""
    source = file if found.facts is None else save
    if source is None:
        return shlex.join(["corollary", "network", str(file), "--save", "network.bif", "--picture", "network.png"])
    names = [name for name in found.network.variables_.tolist() if name not in known and name not in asked]
    if known and asked:
        given = [part for name, state in known.items() for part in ("--given", f"{name}={state}")]
        return shlex.join(["corollary", "network", str(source), *given, "--query", asked[0], "--picture", "query.png"])
    first = found.network.variables_.tolist()[0]
    last = next((name for name in reversed(names) if name != first), first)
    state = found.network.states_[0].tolist()[0]
    return shlex.join(["corollary", "network", str(source), "--given", f"{first}={state}", "--query", last])


def _short(text: str, limit: int) -> str:
    return shortened(safe(text).replace("\n", " "), limit)

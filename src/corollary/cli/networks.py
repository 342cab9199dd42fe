"""``corollary network``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from corollary.cli.comparing import repeated, say_where
from corollary.cli.grid import drawn, plain
from corollary.cli.say import safe, say
from corollary.cli.show import show_left_out
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
            check_output(path, option, file)
    if save is not None and save.suffix.lower() != ".bif":
        raise InputError(f"--save {save}: expected a name that ends in .bif")
    if picture is not None and picture.suffix.lower() not in PICTURES:
        raise InputError(f"--picture {picture}: expected a name that ends in {', '.join(PICTURES)}")
    if samples is not None and samples < 1:
        raise InputError(f"--samples {samples}: expected a whole number of 1 or more")
    found = learn_network(file, **options)
    known, asked = found.findings("--given", given), [found.variable("--query", name) for name in query]
    for name in asked:
        if name in known:
            raise InputError(f"--query {name}: is given; ask for another variable")
    forced = _forced(found, do, known)
    network = found.network.do(forced) if forced else found.network
    answers = _Answers.of(found.network, network, forced, known, asked, samples)
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
    if save is None:
        following = {"given": tuple(given), "query": tuple(query), "do": tuple(do), "samples": samples}
    else:  # which has what was set, and states in place of numbers
        following = {"given": tuple(f"{name}={state}" for name, state in known.items()), "query": tuple(query)}
        file, options = save, {}
    following = _more(found, following, learned=found.facts is not None and save is None, drawn=picture is not None)
    say(console, "Next", repeated("network", file, {**options, **following}), "bold", wrap=False)


def _forced(found: NetworkOfTable, do: Sequence[str], known: Mapping[str, Any]) -> dict[str, Any]:
    """The variables that are set from outside, with their states."""
    forced = found.findings("--do", do)
    for name in forced:
        if name in known:
            raise InputError(f"--do {name}: is also given; what is set needs no finding")
    return forced


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
    rows = []
    left = max(10, min(22, max(map(len, names)) + 1))
    room = max(16, (console.width - left - 4) // 2)
    for v, name in enumerate(names[:VARIABLES]):
        states = ", ".join(map(str, found.network.states_[v].tolist()))
        above = ", ".join(names[p] for p in found.network.parents_[v].tolist()) or "–"
        rows.append([_short(text, width) for text, width in ((name, left), (states, room), (above, room))])
    console.print(drawn(plain(["variable", "states", "depends on"], rows, (0, 1, 2))), soft_wrap=True)
    if len(names) > VARIABLES:
        console.print(Text(f"and {len(names) - VARIABLES} more variables", style="dim"))


@dataclass(frozen=True)
class _Answers:
    """Probabilities before and after what was set and found, and why they changed; asked before anything is printed."""

    forced: dict[str, Any]
    known: dict[str, Any]
    asked: list[str]
    before: Any
    after: Any
    why: dict[str, str]

    @classmethod
    def of(
        cls, plain: Any, network: Any, forced: dict[str, Any], known: dict[str, Any], asked: list[str],
        samples: int | None,
    ) -> _Answers | None:  # fmt: skip
        from corollary.graphical.reasons import explain_query

        if not asked and not known and not forced:
            return None
        draw = {"method": "likelihood_weighting", "n_samples": samples, "random_state": 0}
        how = {} if samples is None else draw
        wanted = asked or None
        before = _told("--query", lambda: plain.query(wanted, {}, **how))
        after = before
        if known or forced:
            after = _told("--given" if known else "--do", lambda: network.query(wanted, known, **how))
        explained = asked if known and samples is None else []
        why = {name: _told("--query", partial(explain_query, network, name, known)) for name in explained}
        return cls(forced, known, asked, before, after, {name: str(each) for name, each in why.items()})

    def show(self, console: Console) -> None:
        changed = {"Set": self.forced, "Given": self.known}
        console.print()
        for word, states in changed.items():
            if states:
                say(console, word, ", ".join(f"{name} = {state}" for name, state in states.items()), "bold")
        others = [name for name in self.after if name not in self.forced]
        names = self.asked or _most_moved(self.before, self.after, others)
        for name in names:
            if name != names[0] or any(changed.values()):
                console.print()
            _show_change(console, name, self.before[name], self.after[name] if any(changed.values()) else None)
            first = 2 if self.forced else 1  # its "before" is after what was set
            for place, line in enumerate(self.why.get(name, "").splitlines()[first:]):
                say(console, "" if place else "Why", line)
        if not self.asked and len(others) > len(names):
            more = f"and {len(others) - len(names)} more variables, which changed less"
            console.print(Text(more, style="dim"))
        for note in self.after.notes:
            say(console, "Note", note)


def _most_moved(before: Any, after: Any, names: list[str]) -> list[str]:
    def moved(name: str) -> float:
        return sum(abs(after[name][state] - before[name][state]) for state in after[name])

    return sorted(names, key=lambda name: -moved(name))[:ANSWERS]


def _show_change(console: Console, name: str, before: Mapping[Any, float], after: Mapping[Any, float] | None) -> None:
    titles = [_short(name, 26), "before" if after else "share", *(["after", ""] if after else [""])]
    rows = []
    shares = before if after is None else after
    shown = sorted(shares, key=lambda state: -shares[state])[:STATES]
    for state in (each for each in shares if each in shown):
        bar = "█" * round(BAR * shares[state]) or ("▏" if shares[state] > 0 else "")
        rows.append([_short(str(state), 26), f"{before[state]:.4f}", *([f"{after[state]:.4f}"] if after else []), bar])
    console.print(drawn(plain(titles, rows, (0, 3 if after else 2))), soft_wrap=True)
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


def _more(found: NetworkOfTable, asked: dict[str, Any], *, learned: bool, drawn: bool) -> dict[str, Any]:
    """What was asked, and something to go on with: files, a question, or a picture of the answer."""
    if learned:
        return {**asked, "save": "network.bif", "picture": "network.png"}
    if asked["given"] and asked["query"]:
        return asked if drawn else {**asked, "picture": "query.png"}
    names = found.network.variables_.tolist()
    told = {text.partition("=")[0] for text in (*asked["given"], *asked.get("do", ()))} | set(asked["query"])
    free = [v for v, name in enumerate(names) if name not in told]
    if not asked["given"] and free:
        first = free.pop(0)
        asked["given"] = (f"{names[first]}={found.network.states_[first].tolist()[0]}",)
    if not asked["query"] and free:
        asked["query"] = (names[free[-1]],)
    return asked


def _short(text: str, limit: int) -> str:
    return shortened(safe(text).replace("\n", " "), limit)

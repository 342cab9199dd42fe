"""The commands and their options; each body is a thin call into the library."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from corollary.evaluate.metric_names import METRIC_NAMES

_WELCOME = """Compare models on a table, keep the best one, and know what is certain about its fit.

\b
  corollary demo                                   a tour, without network
  corollary compare houses.csv -t price            rank the models
  corollary compare houses.csv -t price --minutes 5  search for the best
  corollary compare houses.csv -t price --report r.html --save best.corollary
  corollary predict best.corollary new-houses.csv  use the best one
  corollary inspect best.corollary                 what it is and how good
  corollary cluster customers.csv                  find groups of similar rows
  corollary network survey.csv                     learn what depends on what

\b
  corollary [--report] script.py [arguments]       run a program that uses
  corollary [--report] -m module [arguments]       scikit-learn, on ours
"""

app = typer.Typer(
    name="corollary",
    help=_WELCOME,
    invoke_without_command=True,
    add_completion=False,
    rich_markup_mode=None,  # plain help is denser than boxes, and fits 80 columns
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Task = StrEnum("Task", ["auto", "regression", "classification"])
Preset = StrEnum("Preset", ["fast", "full"])
Shell = StrEnum("Shell", ["bash", "zsh", "fish"])
Method = StrEnum("Method", ["auto", "kmeans", "gmm", "medoids", "hierarchical", "spectral"])
Structure = StrEnum("Structure", [("hill_climb", "hill-climb"), ("chow_liu", "chow-liu"), ("tan", "tan")])
_FORMATS = "CSV, TSV, JSON lines, Excel, Parquet or Arrow, also .gz; - is stdin."
Table = Annotated[Path, typer.Argument(metavar="FILE", help=_FORMATS, show_default=False)]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by compare --save.", show_default=False)]
NoHeader = Annotated[bool, typer.Option("--no-header", help="The first line is data: columns are column_1, column_2 …")]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
Encoding = Annotated[str, typer.Option(metavar="NAME", help="Of a text file, for instance latin-1.")]


def _version(wanted: bool) -> None:
    if wanted:
        from corollary import __version__

        typer.echo(f"corollary {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
) -> None:
    if context.invoked_subcommand is None:  # versions of typer differ in how they show help by themselves
        typer.echo(context.get_help())


TASK_NAMES = ("auto", "regression", "classification")
_METRICS = f"{'; '.join(', '.join(names) for names in METRIC_NAMES.values())}."
Target = Annotated[str, typer.Option("--target", "-t", metavar="COLUMN", help="What to predict.", show_default=False)]
TaskOption = Annotated[Task, typer.Option("--task", metavar="TASK", help="auto, regression or classification.")]
PresetOption = Annotated[Preset, typer.Option(help="How many models to try.")]
Folds = Annotated[int | None, typer.Option(metavar="N", help="Of the cross-validation.", show_default="5")]
Metric = Annotated[str | None, typer.Option(metavar="NAME", help=f"What ranks: {_METRICS}", show_default=False)]
Drop = Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="Leave out a column; may be repeated.")]
DropMissing = Annotated[bool, typer.Option("--drop-missing-target", help="Leave out rows that have no target.")]
Report = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a self-contained HTML report.")]
Save = Annotated[Path | None, typer.Option(metavar="FILE", help="Write the best pipeline, fitted to every row.")]
Minutes = Annotated[
    float | None, typer.Option(metavar="M", help="Search for the best settings so long, and blend the best models.")
]
SplitOption = Annotated[
    str, typer.Option("--split", metavar="HOW", help="Held-out rows: random, time:COLUMN (later), group:COLUMN.")
]
HoldOut = Annotated[Path | None, typer.Option(metavar="FILE", help="Rows on which the winner is scored once.")]
Weights = Annotated[str | None, typer.Option(metavar="COLUMN", help="How much each row counts.")]
Categorical = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Numbers that are categories; may be repeated.")
]
Id = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Names the rows; not used to predict.")]
Resume = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Keep finished fits here, and go on from there next time.")
]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column of the table, however wide.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Of folds and models.")]
Budget = Annotated[float | None, typer.Option(metavar="SECONDS", help="As --minutes, in seconds.")]
Jobs = Annotated[int, typer.Option(metavar="N", help="Folds fitted at the same time; -1: all cores.")]


@app.command()
def compare(
    file: Table,
    target: Target,
    minutes: Minutes = None,
    report: Report = None,
    save: Save = None,
    split: SplitOption = "random",
    holdout: HoldOut = None,
    metric: Metric = None,
    task: TaskOption = Task.auto,
    preset: PresetOption = Preset.fast,
    folds: Folds = None,
    drop: Drop = None,
    categorical: Categorical = None,
    id_column: Id = None,
    weights: Weights = None,
    drop_missing_target: DropMissing = False,
    resume: Resume = None,
    time_budget: Budget = None,
    seed: Seed = 0,
    n_jobs: Jobs = 1,
    wide: Wide = False,
    no_header: NoHeader = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Cross-validate every suitable model on a table and rank them.

    The task, the kinds of columns, missing values, categories, dates and text are found and treated inside the folds.

    \b
      corollary compare houses.csv -t price                  a minute's answer
      corollary compare houses.csv -t price --minutes 5      search settings too
      corollary compare sales.csv -t units --split time:day  judge on later rows
      corollary compare visits.csv -t ill --split group:patient --report r.html
      corollary compare train.csv -t y --holdout test.csv --save best.corollary
      zcat log.gz | corollary compare - -t failed
    """
    from corollary.cli.comparing import run_compare

    options = {
        "task": task.value, "preset": preset.value, "minutes": minutes, "time_budget": time_budget, "folds": folds,
        "metric": metric, "split": split, "holdout": holdout, "drop": tuple(drop or ()),
        "categorical": tuple(categorical or ()), "id": id_column, "weights": weights, "resume": resume, "seed": seed,
        "n_jobs": n_jobs, "drop_missing_target": drop_missing_target, "header": not no_header, "encoding": encoding,
    }  # fmt: skip
    return run_compare(file, target, options, report, save, wide=wide)


@app.command()
def predict(
    model: Model,
    file: Table,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write CSV here instead of stdout.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of each class.")] = False,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Put this column of FILE beside the predictions.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also the three columns that moved each prediction most.")
    ] = False,
    no_header: NoHeader = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Predict every row of a table with a saved model.

    Columns may be in any order; extra ones are noted, missing ones are an error.

    \b
      corollary predict best.corollary new.csv
      corollary predict best.corollary new.parquet --proba --out predictions.csv
      corollary predict best.corollary new.csv --id customer --explain
    """
    from corollary.cli.predicting import run_predict

    run_predict(
        model, file, out, proba=proba, id_column=id_column, explain=explain, header=not no_header, encoding=encoding
    )
    return 0


@app.command()
def cluster(
    file: Table,
    k: Annotated[
        str, typer.Option("--k", "-k", metavar="N", help="How many clusters; auto: ask five criteria.")
    ] = "auto",
    method: Annotated[Method, typer.Option("--method", metavar="METHOD", help="How to find them.")] = Method.auto,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Use only these; may be repeated.", show_default="all")
    ] = None,
    drop: Drop = None,
    report: Report = None,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the fitted pipeline.")] = None,
    labels: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the cluster of each row as CSV.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of samples and models.")] = 0,
    no_header: NoHeader = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Divide the rows of a table into groups of similar ones.

    Methods: auto, kmeans, gmm, medoids, hierarchical, spectral. Columns are prepared as in compare.

    \b
      corollary cluster customers.csv
      corollary cluster customers.csv --k 4 --method gmm --labels groups.csv
      corollary cluster shops.csv --columns size --columns sales --report r.html
    """
    from corollary.cli.clustering import run_cluster

    options = {
        "k": k, "method": method.value, "columns": tuple(columns or ()), "drop": tuple(drop or ()), "seed": seed,
        "header": not no_header, "encoding": encoding,
    }  # fmt: skip
    run_cluster(file, options, report, save, labels)
    return 0


@app.command()
def network(
    file: Annotated[Path, typer.Argument(metavar="FILE", help=f"BIF; or {_FORMATS}", show_default=False)],
    structure: Annotated[
        Structure | None,
        typer.Option(
            metavar="METHOD", help="How edges are found: hill-climb, chow-liu or tan.", show_default="hill-climb"
        ),
    ] = None,
    target: Annotated[str | None, typer.Option("--target", "-t", metavar="COLUMN", help="The class, for tan.")] = None,
    given: Annotated[
        list[str] | None, typer.Option("--given", metavar="NAME=STATE", help="What was observed; may be repeated.")
    ] = None,
    query: Annotated[
        list[str] | None, typer.Option("--query", metavar="NAME", help="What to ask for; may be repeated.")
    ] = None,
    do: Annotated[
        list[str] | None, typer.Option("--do", metavar="NAME=STATE", help="Set from outside; may be repeated.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(metavar="N", help="Answer by so many draws, not exactly.", show_default=False)
    ] = None,
    columns: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Use only these; may be repeated.", show_default="all")
    ] = None,
    drop: Drop = None,
    bins: Annotated[int, typer.Option(metavar="N", help="States of a column of many numbers.")] = 5,
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the network as BIF.")] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: .png, .svg or .pdf.")] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of random starts.")] = 0,
    no_header: NoHeader = False,
    encoding: Encoding = "utf-8",
) -> int:
    """Learn which columns depend on which, and ask.

    The network is learnt from a table or read from BIF. Answers come with what each finding changes, and by which
    ways; --picture draws that.

    \b
      corollary network survey.csv --save survey.bif --picture survey.png
      corollary network survey.bif --given age=old --query travel
      corollary network cars.csv --structure tan --target price
    """
    from corollary.cli.networks import run_network

    options = {
        "structure": structure and structure.value, "target": target, "columns": tuple(columns or ()),
        "drop": tuple(drop or ()), "bins": bins, "seed": seed, "header": not no_header, "encoding": encoding,
    }  # fmt: skip
    run_network(file, options, given or (), query or (), do or (), samples, save, picture)
    return 0


@app.command()
def models(
    task: Annotated[
        str | None, typer.Option("--task", metavar="TASK", help="Only those for this task.", show_default="all")
    ] = None,
    json: AsJson = False,
) -> int:
    """List the models: task, place in the canon, what each can do.

    \b
      corollary models
      corollary models --task regression --json
    """
    from corollary.cli.listing import run_models

    run_models(task, json)
    return 0


@app.command()
def inspect(file: Model, json: AsJson = False) -> int:
    """Say what is in a model file, as a model card.

    Target, columns, score and how it was found, data, evidence; nothing in the file is run.

    \b
      corollary inspect best.corollary
      corollary inspect best.corollary --json
    """
    from corollary.cli.listing import run_inspect

    run_inspect(file, json)
    return 0


@app.command()
def warmup(
    package: Annotated[
        bool, typer.Option("--package", help="Put the code into the package, for any processor of this kind.")
    ] = False,
) -> int:
    """Compile every kernel now, so that no later fit waits for it."""
    from corollary.cli.warming import run_warmup

    return run_warmup(package)


@app.command()
def doctor(json: AsJson = False) -> int:
    """Look at this machine: what is wrong, what to do.

    Versions, optional packages, threads, memory, compiled code, and a small fit as a test. The exit code is 1 only
    if something does not work.
    """
    from corollary.cli.doctor import run_doctor

    return run_doctor(json)


@app.command()
def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
) -> int:
    """Print what makes a shell complete our commands.

    \b
      eval "$(corollary completion bash)"        in ~/.bashrc
      eval "$(corollary completion zsh)"         in ~/.zshrc, after compinit
      corollary completion fish > ~/.config/fish/completions/corollary.fish
    """
    from corollary.cli.completion import script

    typer.echo(script(shell.value), nl=False)
    return 0


@app.command()
def demo(
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the data, the report and the model.")] = Path(
        "corollary-demo"
    ),
) -> int:
    """Compare models on data that come along, offline."""
    from corollary.cli.comparing import run_demo

    return run_demo(out)

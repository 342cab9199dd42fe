"""``corollary completion``: scripts with which a shell completes commands, options and their values.

They are written out from the commands themselves and need no Python when they run, so that a Tab is answered at once.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, get_args, get_type_hints

from typer.models import OptionInfo

from corollary.cli.app import TASK_NAMES, app
from corollary.evaluate.metric_names import METRIC_NAMES

SHELLS = ("bash", "zsh", "fish")
_VALUES = {
    "--metric": tuple(name for names in METRIC_NAMES.values() for name in names),
    "--task": TASK_NAMES,
    "--k": ("auto",),
    "--split": ("random", "time:", "group:"),
}
_ROOT = ("--help", "--report", "--version")


@dataclass(frozen=True)
class Option:
    """An option of a command: its spellings, a word about it, and what may follow (None: nothing; empty: anything)."""

    names: tuple[str, ...]
    help: str
    values: tuple[str, ...] | None


@dataclass(frozen=True)
class Command:
    name: str
    help: str
    options: tuple[Option, ...]
    arguments: tuple[str, ...]  # values of its first argument, if they are known


def commands() -> list[Command]:
    """Every command with its options, as declared."""
    found = []
    for info in app.registered_commands:
        callback: Any = info.callback
        first = (callback.__doc__ or "").strip().split("\n")[0]
        hints = get_type_hints(callback, include_extras=True)
        options = [option for name, hint in hints.items() for option in _option(name, *get_args(hint))]
        known = SHELLS if callback.__name__ == "completion" else ()
        found.append(Command(callback.__name__, first, (*options, Option(("--help",), "Show it.", None)), known))
    return found


def _option(name: str, kind: Any = None, *about: Any) -> Iterator[Option]:
    """The option that a parameter declares, if it does; one without a spelling of its own is named after it."""
    for each in about:
        if isinstance(each, OptionInfo):
            given = [word for word in (each.default, *(each.param_decls or ())) if isinstance(word, str)]
            names = tuple(dict.fromkeys(given)) or (f"--{name.replace('_', '-')}",)
            long = next(word for word in names if word.startswith("--"))
            values = None if kind is bool else _VALUES.get(long) or _choices(kind)
            yield Option(names, str(each.help or "").split("\n")[0], values)


def _choices(kind: Any) -> tuple[str, ...]:
    kinds = [each for each in (kind, *get_args(kind)) if isinstance(each, type) and issubclass(each, Enum)]
    return tuple(str(each.value) for each in kinds[0]) if kinds else ()


def script(shell: str) -> str:
    """What a shell is to run at its start."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands())


def _cases(found: list[Command], answer: str, begun: str) -> str:
    """Lines of a ``case`` over ``command:word before``: known values; else, where a dash is ``begun``, the options."""
    lines = []
    for command in found:
        for option in command.options:
            patterns = "|".join(f"{command.name}:{name}" for name in option.names)
            if option.values is not None:
                words = " ".join(option.values)
                lines.append(f"    {patterns}) {answer.format(words=words) if words else 'return'} ;;")
        names = answer.format(words=" ".join(name for option in command.options for name in option.names))
        others = answer.format(words=" ".join(command.arguments))
        lines.append(f"    {command.name}:*) if {begun}; then {names}; else {others}; fi ;;")
    return "\n".join(lines)


def _bash(found: list[Command]) -> str:
    first = " ".join([*(command.name for command in found), *_ROOT])
    return f"""# for ~/.bashrc: eval "$(corollary completion bash)"
_corollary() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} words=
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then words="{first}"; else
  case "${{COMP_WORDS[1]}}:${{COMP_WORDS[COMP_CWORD-1]}}" in
{_cases(found, 'words="{words}"', "[[ $word == -* ]]")}
  esac; fi
  COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
complete -o default -F _corollary corollary
"""


def _zsh(found: list[Command]) -> str:
    named = " ".join(shlex.quote(f"{command.name}:{command.help}") for command in found)
    return f"""#compdef corollary
# for ~/.zshrc, after compinit: eval "$(corollary completion zsh)"
_corollary() {{
  local -a offered
  if (( CURRENT == 2 )); then
    offered=({named}); _describe command offered; compadd -- {" ".join(_ROOT)}; _files; return
  fi
  case "$words[2]:$words[CURRENT-1]" in
{_cases(found, "offered=({words})", "[[ $PREFIX == -* ]]").replace("return ;;", "_files; return ;;")}
  esac
  compadd -- $offered
  [[ $PREFIX == -* ]] || _files
}}
compdef _corollary corollary
"""


def _fish(found: list[Command]) -> str:
    lines = ["# for ~/.config/fish/completions/corollary.fish"]
    for command in found:
        lines.append(f"complete -c corollary -n __fish_use_subcommand -a {command.name} -d {_quoted(command.help)}")
        given = f'-n "__fish_seen_subcommand_from {command.name}"'
        lines += [f"complete -c corollary {given} -fa {_quoted(' '.join(command.arguments))}"] * bool(command.arguments)
        for option in command.options:
            flags = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)
            takes = (
                "" if option.values is None else f" -xa {_quoted(' '.join(option.values))}" if option.values else " -r"
            )
            lines.append(f"complete -c corollary {given} {flags}{takes} -d {_quoted(option.help)}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

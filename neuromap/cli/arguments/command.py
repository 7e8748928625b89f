"""Commands: typer's parameters and help are built from options, those of a command's parameters and of its groups.

``--help`` shows arguments, common options and the names of the groups, ``--help-all`` every option under its group.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field, is_dataclass, replace
from pathlib import Path
from textwrap import fill
from types import new_class
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_origin

import typer
from typer.core import TyperCommand

from neuromap.errors import InputError, NetworkError, NeuromapError
from neuromap.options import COMMON, Option, named, options_of

Asked = TypeVar("Asked")
# Types that typer converts words to, by the type of an option; all others are text, which the option itself reads.
_READ_BY_TYPER = {"bool": bool, "Path": Path, "list[Path]": list[Path], "list[str]": list[str]}


class Given(dict[str, Any], Generic[Asked]):
    """Typed options of a class, by name: ``Given[TrainingOptions]`` is a parameter with all its flags.

    Subclasses add options, or describe those of the library's class differently. As attributes, options that were not
    typed have their defaults.
    """

    library: ClassVar[Any] = None  # class of the options
    said: ClassVar[Mapping[str, Option]] = {}  # all options, by name
    flags: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # options with other flags here
    first: ClassVar[tuple[str, ...]] = ()  # options shown before the library's in the help
    without: ClassVar[tuple[str, ...]] = ()  # options not available here

    def __init_subclass__(cls) -> None:
        found = dict(cls.said)
        for base in vars(cls).get("__orig_bases__", ()):
            if get_origin(base) is Given and is_dataclass(get_args(base)[0]):
                cls.library = get_args(base)[0]
                found = options_of(cls.library)
        for name in [name for name, made in vars(cls).items() if isinstance(made, Field)]:
            said = vars(cls)[name].metadata["option"]
            group = said.group or getattr(cls, "_group", "")
            found[name] = named(replace(said, group=group), name, cls.__annotations__[name])
            delattr(cls, name)  # so that attributes are values, from __getattr__
        found |= {name: replace(found[name], flags=flags) for name, flags in cls.flags.items()}
        cls.said = {name: found[name] for name in (*cls.first, *found) if name not in cls.without}

    def __getattr__(self, name: str) -> Any:
        if name not in self.said:
            raise AttributeError(name)
        return self.get(name, self.said[name].default)

    @property
    def keywords(self) -> dict[str, Any]:
        """Typed options of the library's class."""
        theirs = options_of(self.library)
        return {name: self[name] for name in self if name in theirs}

    def made(self, **others: Any) -> Asked:
        """Make an instance of the library's class; arguments override typed options."""
        return self.library(**self.keywords | others)  # type: ignore[no-any-return]

    @property
    def words(self) -> list[str]:
        """The typed options, with their values."""
        return [self.said[name].typed(value) for name, value in self.items()]

    def refuse(self, why: str) -> None:
        """Refuse the first typed option, if any."""
        if self:
            raise InputError(f"{self.words[0]}: {why}")


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Add the options of parameters and groups to a command; typed values are parsed before it runs."""
    shown = inspect.signature(run, eval_str=True)
    groups: dict[str, type[Given[Any]]] = {}
    plain: dict[str, Option] = {}
    expanded: list[inspect.Parameter] = []
    for name, parameter in shown.parameters.items():
        kind, made = parameter.annotation, parameter.default
        if get_origin(kind) is Given or (isinstance(kind, type) and issubclass(kind, Given)):
            groups[name] = new_class("Given", (kind,)) if get_origin(kind) is Given else kind
            expanded += [_shown(f"{name}__{key}", said, None) for key, said in groups[name].said.items()]
        elif isinstance(made, Field):
            plain[name] = named(made.metadata["option"], name, run.__annotations__[name])
            expanded.append(_shown(name, plain[name], made.default))
        else:
            expanded.append(parameter)

    @functools.wraps(run)
    def called(help_all: None, **typed: Any) -> None:
        for name, group in groups.items():
            words = {key: typed.pop(f"{name}__{key}") for key in group.said}
            typed[name] = group(
                {key: group.said[key].read(word) for key, word in words.items() if word not in (None, [])}
            )
        for name, said in plain.items():
            if isinstance(typed[name], str | list):
                typed[name] = said.read(typed[name])
        run(**typed)

    expanded.append(_HELP_ALL)
    called.__signature__ = shown.replace(parameters=expanded)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return called


def _shown(name: str, said: Option, default: Any) -> inspect.Parameter:
    """Make the parameter for typer."""
    kind: Any = list[str] if said.repeats or said.items else _READ_BY_TYPER.get(said.kind, str)
    how: dict[str, Any] = {"metavar": said.metavar or None, "help": said.told, "show_default": False}
    if said.choices or said.metavar in _WORDS:
        how["autocompletion"] = _completion(said)
    if said.is_argument:
        made: Any = typer.Argument(**how)
    else:
        made = typer.Option(*said.flags, hidden=said.hidden, rich_help_panel=said.group or COMMON, **how)
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=empty if default is ... else default,
        annotation=Annotated[kind if default is ... else kind | None, made],
    )


# Shell completion of values, besides commands, options and files.


def _completion(said: Option) -> Callable[[typer.Context, str], list[str]]:
    """Return the completion function for an option's value; in a comma-separated list, for the last one."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        before, comma, word = incomplete.rpartition(",")
        try:
            words = said.choices or _WORDS[said.metavar](ctx)
        except NeuromapError:  # a file that cannot be read: the command will report it
            words = ()
        return [f"{before}{comma}{one}" for one in map(str, words) if one.startswith(word)]

    return complete


def _chips(_: typer.Context) -> Iterable[str]:
    from neuromap.hardware.chip.chip_file import chip_names

    return chip_names()


def _patterns(_: typer.Context) -> Iterable[str]:
    """Return the patterns of the network file typed before."""
    # nothing is parsed before an option without its value, so the file is searched among the words
    from neuromap.files.toml_table import read_toml
    from neuromap.network.network import RESERVED_PATTERNS
    from neuromap.network.network_file import MAX_FILE_BYTES

    words = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")  # bash; all others
    path = next(iter(re.findall(r"\S+\.toml", words)), None)
    table = {} if path is None else read_toml(Path(path), "network file", MAX_FILE_BYTES, NetworkError)
    own = table.get("rollouts")
    return dict.fromkeys([*RESERVED_PATTERNS, *(own if isinstance(own, dict) else ())])


def _formats(_: typer.Context) -> Iterable[str]:
    from neuromap.backends.scripts import SCRIPT_FORMATS
    from neuromap.exchange.formats import IMPORT_FORMATS

    return [*IMPORT_FORMATS, *SCRIPT_FORMATS]


_EXECUTIONS = ("windowed", "pipelined", "pipelined:best")
# By metavar.
_WORDS: Mapping[str, Callable[[typer.Context], Iterable[str]]] = {
    "CHIP": _chips,
    "NAME|PATH": _chips,
    "PATTERN": _patterns,
    "PATTERNS": _patterns,
    "EXECUTION": lambda _: _EXECUTIONS,
    "EXECUTIONS": lambda _: _EXECUTIONS,
    "FORMAT": _formats,
}

# Help pages: ``--help`` and ``--help-all``.

# Columns of help pages.
WIDTH = 80


class Command(TyperCommand):
    """A command whose help shows common options first, and on request all options by group."""

    def format_options(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write arguments, common options and the groups: on request in full, otherwise only their flags."""
        is_all = "all" in ctx.meta
        parts: dict[str, list[Any]] = {"Arguments": [], "Options": []}
        groups: dict[str, list[Any]] = {}
        for param in self.get_params(ctx):
            group = getattr(param, "rich_help_panel", None) or COMMON
            if (record := param.get_help_record(ctx)) is None:
                continue
            if param.param_type_name == "argument":
                parts["Arguments"].append((record[0].replace("<list[Path]>", "<path> ..."), record[1]))
            elif group == COMMON:
                parts["Options"].append(record)
            else:
                flag = next(flag for flag in param.opts if flag.startswith("--"))
                groups.setdefault(group, []).append(record if is_all else flag)
        if is_all:
            parts |= {group.capitalize(): records for group, records in groups.items()}
        elif groups:
            room = WIDTH - 8 - max(map(len, groups))
            parts["More options, explained by --help-all"] = [
                (group, "\b\n" + fill(" ".join(flags), room, break_on_hyphens=False)) for group, flags in groups.items()
            ]
        for title, records in parts.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """Write examples as typed, long ones over several lines."""
        formatter.write(f"\n{in_columns(self.epilog or '')}")


def _show_all(ctx: typer.Context, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.meta["all"] = True
        typer.echo(ctx.get_help())
        raise typer.Exit


_HELP_ALL = inspect.Parameter(
    "help_all",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool,
        typer.Option(
            "--help-all",
            is_eager=True,
            expose_value=False,
            callback=_show_all,
            show_default=False,
            help="Show every option, those of the groups too.",
        ),
    ],
)


def in_columns(epilog: str) -> str:
    """Break command lines wider than a page before an option, in shell syntax."""
    lines = []
    for line in epilog.replace("\n\b\n", "\n\n").removeprefix("\b\n").splitlines():
        broken = f"  {line}"
        while len(broken) > WIDTH - 2 and (cuts := _cuts(broken)):
            lines.append(f"{broken[: cuts[-1]]} \\")
            broken = f"      {broken[cuts[-1] + 1 :]}"
        lines.append(broken)
    return "\n".join(lines) + "\n"


def _cuts(line: str) -> list[int]:
    """Find the blanks before options at which to break a line so that it fits."""
    found = [match.start() for match in re.finditer(r"(?<=\S) (?=--?[a-z])", line)]
    return [cut for cut in found if cut <= WIDTH - 4 and all(line[:cut].count(q) % 2 == 0 for q in "\"'")]

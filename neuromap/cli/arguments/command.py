"""Commands: what typer shows and reads is made of options, those of a command's parameters and of groups among them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import Field, is_dataclass, replace
from pathlib import Path
from types import new_class
from typing import Annotated, Any, ClassVar, Generic, TypeVar, get_args, get_origin

import typer

from neuromap.errors import InputError
from neuromap.options import Option, named, options_of

Asked = TypeVar("Asked")
_READ_BY_TYPER = {"bool": bool, "Path": Path, "list[Path]": list[Path], "list[str]": list[str]}
"""What typer makes of words, by the type of an option; all else is text, which the option itself reads."""


class Given(dict[str, Any], Generic[Asked]):
    """Options of a class that were typed, by name: ``Given[TrainingOptions]`` is a parameter with all its flags.

    A class derived from it adds options, or says those of the library's class in other words. As attributes options
    have their defaults where they were not typed.
    """

    library: ClassVar[Any] = None  # whose options they are
    said: ClassVar[Mapping[str, Option]] = {}  # all options, by name
    flags: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # options that have other flags here
    first: ClassVar[tuple[str, ...]] = ()  # options that the help shows before the library's

    def __init_subclass__(cls) -> None:
        found = dict(cls.said)
        for base in vars(cls).get("__orig_bases__", ()):
            if get_origin(base) is Given and is_dataclass(get_args(base)[0]):
                cls.library = get_args(base)[0]
                found = options_of(cls.library)
        for name in [name for name, made in vars(cls).items() if isinstance(made, Field)]:
            found[name] = named(vars(cls)[name].metadata["option"], name, cls.__annotations__[name])
            delattr(cls, name)  # so that attributes are values, by __getattr__
        found |= {name: replace(found[name], flags=flags) for name, flags in cls.flags.items()}
        cls.said = {name: found[name] for name in (*cls.first, *found)}

    def __getattr__(self, name: str) -> Any:
        if name not in self.said:
            raise AttributeError(name)
        return self.get(name, self.said[name].default)

    @property
    def keywords(self) -> dict[str, Any]:
        """Those that are of the library's class."""
        theirs = options_of(self.library)
        return {name: self[name] for name in self if name in theirs}

    def made(self, **others: Any) -> Asked:
        """Make the library's value; what is given here stands for what was typed."""
        return self.library(**self.keywords | others)  # type: ignore[no-any-return]

    @property
    def words(self) -> list[str]:
        """The options that were typed, with their values."""
        return [self.said[name].typed(value) for name, value in self.items()]

    def refuse(self, why: str) -> None:
        """Refuse the first option that was typed."""
        if self:
            raise InputError(f"{self.words[0]}: {why}")


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of its parameters and groups; what was typed is read before it runs."""
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
    def called(**typed: Any) -> None:
        for name, group in groups.items():
            words = {key: typed.pop(f"{name}__{key}") for key in group.said}
            typed[name] = group(
                {key: group.said[key].read(word) for key, word in words.items() if word not in (None, [])}
            )
        for name, said in plain.items():
            if isinstance(typed[name], str | list):
                typed[name] = said.read(typed[name])
        run(**typed)

    called.__signature__ = shown.replace(parameters=expanded)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return called


def _shown(name: str, said: Option, default: Any) -> inspect.Parameter:
    """Make the parameter that typer reads."""
    kind: Any = list[str] if said.repeats or said.items else _READ_BY_TYPER.get(said.kind, str)
    how: dict[str, Any] = {"metavar": said.metavar or None, "help": said.told, "show_default": False}
    made = typer.Argument(**how) if said.is_argument else typer.Option(*said.flags, hidden=said.hidden, **how)
    empty = inspect.Parameter.empty
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=empty if default is ... else default,
        annotation=Annotated[kind if default is ... else kind | None, made],
    )

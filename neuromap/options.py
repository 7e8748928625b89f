"""Options, each defined once: a dataclass field or a command parameter with default, bounds and help.

Flags, checks, keywords of public functions, docstring sections and a table of the documentation are derived from these
fields; TOML tables are read into the same classes. The text is what ``--help`` shows, such as
``"--seed, --mapping-seed N  Seed of placement."``; the flag is omitted where it follows from the name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from inspect import cleandoc, signature
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from neuromap.errors import InputError
from neuromap.files.argument_checks import real_number, whole_number, yes_or_no
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.registry import others

P = ParamSpec("P")
First = TypeVar("First")
Second = TypeVar("Second")
Asked = TypeVar("Asked")
Result = TypeVar("Result")

# Flags and metavar, two spaces, then the help.
_TEXT = re.compile(r"(?:((?:--?[a-z][a-z-]*(?:, ?|/)?)*) ?(\S*)  )?(.+)", re.DOTALL)
# By the first word of a field's type.
_CHECKS: Mapping[str, Callable[..., Any]] = {"int": whole_number, "float": real_number, "bool": yes_or_no}
# Upper bounds from here on are left out of type errors.
_HUGE = 2**53
# The group of options that ``--help`` shows in full.
COMMON = "common"


@dataclass(frozen=True)
class Option:
    """An option: its name, type, default, bounds and help."""

    help: str  # for people, in one line, without flags
    default: Any = None
    flags: tuple[str, ...] = ()  # as typed; a switch has its negative form after a slash
    metavar: str = ""  # placeholder for the value in the help
    within: tuple[float | None, float | None] = (None, None)  # least and greatest value
    above: float | None = None  # strict lower bound; the value must be finite, too
    choices: Collection[Any] = ()  # all values, if they can be listed
    groups: tuple[str, ...] = ()  # entry-point groups that name more values, added to the help
    needs: str = ""  # what a word must be, for errors where the bounds do not say it best
    must: str = ""  # error text after option and value, where the bounds do not say it best
    reads: Callable[[Option, Any], Any] | None = None  # converts what was typed to a value
    hidden: bool = False  # whether help leaves it out
    repeats: bool = False  # whether it may be repeated, one value each time
    items: str = ""  # item type of a comma-separated list: "str", "int", "float"
    is_argument: bool = False  # whether it is typed without a flag
    group: str = ""  # heading under which --help-all shows it; --help shows the common ones
    name: str = ""
    kind: str = "str"  # first word of the type: "int", "float", "bool", "Path", "list[str]", ...

    @property
    def flag(self) -> str:
        """Flag shown in messages."""
        return next((flag for flag in self.flags if flag.startswith("--")), "").partition("/")[0] or self.metavar

    @property
    def told(self) -> str:
        """Help with choices of other packages, and the default unless it states that itself."""
        more = [name for group in self.groups for name in others(group)]
        help = f"{self.help} Of other packages: {', '.join(more)}." if more else self.help
        is_plain = (
            isinstance(self.default, str | int | float | tuple) and self.default is not False and self.default != ()
        )
        if not is_plain or "[default:" in help:
            return help
        shown = self.flag.lstrip("-") if self.default is True else self.default
        return f"{help}  [default: {','.join(map(str, shown)) if isinstance(shown, tuple) else shown}]"

    @property
    def bounds(self) -> str:
        """Bounds, as worded in error messages."""
        if self.must:
            return self.must
        if self.choices:
            return f"is not known; choose one of {', '.join(map(str, self.choices))}"
        if self.above is not None:
            return f"must be above {self.above:g}, and finite"
        low, high = self.within
        return f"must be {low} or more" if high is None else f"must be {low} to {high}"

    @property
    def type_told(self) -> str:
        """Expected type, as worded in errors about a word that is not a number."""
        if self.needs:
            return f"must be {self.needs}"
        noun = "a whole number" if self.kind == "int" else "a number"
        if self.above is not None:
            return f"must be {noun} above {self.above:g}"
        low, high = self.within
        if low is None:
            return f"must be {noun}"
        bounded = high is not None and high < _HUGE
        return f"must be {noun} from {low} to {high}" if bounded else f"must be {noun}, {low} or more"

    def near(self, word: object) -> str:
        """Suggest the closest choice, if any is close."""
        return did_you_mean(str(word), map(str, self.choices))

    def takes(self, value: Any) -> bool:
        """Return whether a value of the right type is within the bounds."""
        if self.choices:
            return value in self.choices
        if self.above is not None:
            return bool(self.above < value < math.inf)  # a comparison with NaN is false
        low, high = self.within
        return (low is None or value >= low) and (high is None or value <= high)

    def typed(self, value: Any) -> str:
        """Return the option with a value, as typed."""
        if isinstance(value, bool):
            both = next(flag for flag in self.flags if flag.startswith("--")).split("/")
            return both[0 if value else -1]
        shown = value if isinstance(value, list | tuple) else [value]
        return f"{self.flag} {','.join(f'{part:g}' if isinstance(part, float) else str(part) for part in shown)}"

    def read(self, words: Any) -> Any:
        """Convert a typed word, or a list of words, to a value."""
        if self.items:
            found = [word.strip() for text in words for word in text.split(",")]
            if not any(found):
                raise InputError(f"{self.flag}: is empty; give {self.needs or ', '.join(map(str, self.choices))}")
            if not all(found):
                raise InputError(f"{self.flag} {show_name(','.join(words))}: has nothing between two commas; drop one")
            one = replace(self, items="", kind=self.items)
            return list(dict.fromkeys(map(one.read, found)))
        if self.reads is not None:
            return self.reads(self, words)
        if self.kind in ("int", "float"):
            return self.number(words)
        if self.choices and words not in self.choices:
            raise InputError(f"{self.flag} {show_name(words)}: {self.bounds}{self.near(words)}")
        return words

    def number(self, word: str) -> Any:
        """Read a number within the bounds."""
        try:
            if not word.isascii() or "_" in word:  # Python's numbers, which no one means here
                raise ValueError
            value = float(word) if self.kind == "float" else int(word)
        except ValueError:
            raise InputError(f"{self.flag} {show_name(word)}: {self.type_told}") from None
        if not self.takes(value):
            raise InputError(f"{self.flag} {show_name(word)}: {self.bounds}")
        return value


def option(text: str, default: Any = None, **said: Any) -> Any:
    """Define an option as a dataclass field or parameter default; ``said`` are further fields of :class:`Option`."""
    flags, metavar, words = _TEXT.fullmatch(text).groups("")  # type: ignore[union-attr] # any text matches
    names = tuple(flags.replace(",", " ").split())
    return field(default=default, metadata={"option": Option(words, default, names, metavar, **said)})


def argument(text: str, default: Any = ..., **said: Any) -> Any:
    """Define an option that is typed without a flag."""
    return option(text, default, is_argument=True, **said)


def options_of(cls: type[Any]) -> dict[str, Option]:
    """Return the options of a class by name; those without a group get the class's."""
    group = getattr(cls, "_group", "")
    said = {f: f.metadata["option"] for f in fields(cls) if "option" in f.metadata}
    return {f.name: named(replace(one, group=one.group or group), f.name, f.type) for f, one in said.items()}


def named(said: Option, name: str, kind: Any) -> Option:
    """Complete an option with the name and type of its field."""
    kind = kind.__name__ if isinstance(kind, type) else str(kind).partition(" ")[0]
    flags = said.flags or (() if said.is_argument else (f"--{name.replace('_', '-')}",))
    return replace(said, name=name, flags=flags, kind=kind)


def documented(cls: type[Asked]) -> type[Asked]:
    """Add an Attributes section, made from the options, to the docstring of their class."""
    told = [f"{name} : {cls.__annotations__[name]}\n    {said.help}" for name, said in options_of(cls).items()]
    text, raises, errors = cleandoc(cls.__doc__ or "").partition("\n\nRaises\n")
    cls.__doc__ = "\n".join([text, "\nAttributes", "----------", *told]) + raises + errors
    return cls


def check_options(
    options: Any,
    where: str = "{name} = {value}: ",
    unknown: str = "{name} {value!r} is not known; choose one of {choices}",
    only: Collection[str] = (),
) -> None:
    """Refuse values of a wrong type or out of bounds; convert NumPy numbers to Python's."""
    for name, said in options_of(type(options)).items():
        value = getattr(options, name)
        if said.items or (only and name not in only) or (value is None and said.default is None):
            continue
        if said.choices and not said.takes(value):
            choices = ", ".join(map(str, said.choices))
            message = unknown.format(name=name, value=value, shown=show(value), choices=choices)
            raise InputError(message + said.near(value))
        if said.kind in _CHECKS and not said.choices:
            label = where.partition("{name}")[0] + name
            value = _CHECKS[said.kind](label, value)
            object.__setattr__(options, name, value)
            if not said.takes(value):
                raise InputError(f"{where.format(name=name, value=show(value))}{said.bounds}")


class keywords_of(Generic[P, Asked]):
    """Decorator that lets a function of one or two values and an options object take the options as keywords."""

    def __init__(self, options: Callable[P, Asked]) -> None:
        self._options = options

    @overload
    def __call__(self, run: Callable[[First, Asked], Result]) -> Callable[Concatenate[First, P], Result]: ...
    @overload
    def __call__(
        self, run: Callable[[First, Second, Asked], Result]
    ) -> Callable[Concatenate[First, Second, P], Result]: ...
    def __call__(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with these keywords, each with its type and default."""
        shown, theirs = signature(run), signature(self._options)
        *values, last = shown.parameters.values()

        @wraps(run)
        def called(*args: Any, **keywords: Any) -> Any:
            named = {one.name: keywords.pop(one.name) for one in values[len(args) :] if one.name in keywords}
            asked = {last.name: self._options(*args[len(values) :], **keywords)}
            return run(*args[: len(values)], **named, **asked)

        called.__signature__ = shown.replace(parameters=[*values, *theirs.parameters.values()])  # type: ignore[attr-defined]
        # so that Python names the function in errors about unknown keywords
        self._options.__init__.__qualname__ = run.__name__
        return called

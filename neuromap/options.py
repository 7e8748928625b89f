"""Options, each said once: a field of a frozen dataclass, or a parameter of a command, with default, bounds and help.

Flags, checks, keywords of public functions, sections of docstrings and a table of the documentation are made of these
fields; tables of TOML files are read into the same classes. The text is what ``--help`` shows, such as
``"--seed, --mapping-seed N  Seed of placement."``; the flag is left away where it follows from the name.
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

# Flags and what stands for the value, before two spaces; the help.
_TEXT = re.compile(r"(?:((?:--?[a-z][a-z-]*(?:, ?|/)?)*) ?(\S*)  )?(.+)", re.DOTALL)
# By the first word of a field's type.
_CHECKS: Mapping[str, Callable[..., Any]] = {"int": whole_number, "float": real_number, "bool": yes_or_no}
# Bounds beyond it are told to nobody.
_HUGE = 2**53
# The group of options that ``--help`` shows in full.
COMMON = "common"


@dataclass(frozen=True)
class Option:
    """An option: its name, type, default, bounds and help."""

    help: str  # for people, in one line, without flags
    default: Any = None
    flags: tuple[str, ...] = ()  # as they are typed; the negative one of a switch after a slash
    metavar: str = ""  # what stands for the value
    within: tuple[float | None, float | None] = (None, None)  # least and greatest value
    above: float | None = None  # what a value must be above, and finite
    choices: Collection[Any] = ()  # all values, where they can be listed
    groups: tuple[str, ...] = ()  # entry points that name more values, which the help adds
    needs: str = ""  # what a word must be that is no number, where the bounds do not say it best
    must: str = ""  # what a refusal says after option and value, where the bounds do not say it best
    reads: Callable[[Option, Any], Any] | None = None  # what makes a value of what was typed
    hidden: bool = False  # whether help leaves it out
    repeats: bool = False  # whether it may be typed several times, each time a value
    items: str = ""  # type of its items, where it is a list of them with commas between: "str", "int", "float"
    is_argument: bool = False  # whether a word without a flag is meant
    group: str = ""  # under which name --help-all shows it; --help shows what is common
    name: str = ""
    kind: str = "str"  # first word of the type: "int", "float", "bool", "Path", "list[str]", ...

    @property
    def flag(self) -> str:
        """The flag that messages name."""
        return next((flag for flag in self.flags if flag.startswith("--")), "").partition("/")[0] or self.metavar

    @property
    def told(self) -> str:
        """The help with the default, if it does not say that itself."""
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
        """What the bounds allow, as refusals say it."""
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
        """What a word must be that is no number."""
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
        """Name the choice that was probably meant."""
        return did_you_mean(str(word), map(str, self.choices))

    def takes(self, value: Any) -> bool:
        """Whether a value of the right type is within the bounds."""
        if self.choices:
            return value in self.choices
        if self.above is not None:
            return bool(self.above < value < math.inf)  # a comparison with NaN is false
        low, high = self.within
        return (low is None or value >= low) and (high is None or value <= high)

    def typed(self, value: Any) -> str:
        """Give the option with a value, as it is typed."""
        if isinstance(value, bool):
            both = next(flag for flag in self.flags if flag.startswith("--")).split("/")
            return both[0 if value else -1]
        shown = value if isinstance(value, list | tuple) else [value]
        return f"{self.flag} {','.join(f'{part:g}' if isinstance(part, float) else str(part) for part in shown)}"

    def read(self, words: Any) -> Any:
        """Make a value of what was typed: a word, or a list of them."""
        if self.items:
            found = [word.strip() for text in words for word in text.split(",") if word.strip()]
            if not found:
                raise InputError(f"{self.flag}: is empty; give {self.needs or ', '.join(map(str, self.choices))}")
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
            value = float(word) if self.kind == "float" else int(word)
        except ValueError:
            raise InputError(f"{self.flag} {show_name(word)}: {self.type_told}") from None
        if not self.takes(value):
            raise InputError(f"{self.flag} {show_name(word)}: {self.bounds}")
        return value


def option(text: str, default: Any = None, **said: Any) -> Any:
    """Make the field of a dataclass, or the default of a parameter, that is an option; ``said`` are its bounds."""
    flags, metavar, words = _TEXT.fullmatch(text).groups("")  # type: ignore[union-attr] # any text matches
    names = tuple(flags.replace(",", " ").split())
    return field(default=default, metadata={"option": Option(words, default, names, metavar, **said)})


def argument(text: str, default: Any = ..., **said: Any) -> Any:
    """Make the default of a parameter that is typed without a flag."""
    return option(text, default, is_argument=True, **said)


def options_of(cls: type[Any]) -> dict[str, Option]:
    """Give the options of a class of them, by name; their group is the class's, where they name none."""
    group = getattr(cls, "_group", "")
    said = {f: f.metadata["option"] for f in fields(cls) if "option" in f.metadata}
    return {f.name: named(replace(one, group=one.group or group), f.name, f.type) for f, one in said.items()}


def named(said: Option, name: str, kind: Any) -> Option:
    """Complete what is said by the name and the type of its field."""
    kind = kind.__name__ if isinstance(kind, type) else str(kind).partition(" ")[0]
    flags = said.flags or (() if said.is_argument else (f"--{name.replace('_', '-')}",))
    return replace(said, name=name, flags=flags, kind=kind)


def documented(cls: type[Asked]) -> type[Asked]:
    """Give the docstring of a class of options their section, made of what is said of them."""
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
    """Refuse values of a wrong type or out of bounds; numbers of NumPy become those of Python."""
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
    """Let a function of a value or two and of options take these as its keywords, each with its type and default."""

    def __init__(self, options: Callable[P, Asked]) -> None:
        self._options = options

    @overload
    def __call__(self, run: Callable[[First, Asked], Result]) -> Callable[Concatenate[First, P], Result]: ...
    @overload
    def __call__(
        self, run: Callable[[First, Second, Asked], Result]
    ) -> Callable[Concatenate[First, Second, P], Result]: ...
    def __call__(self, run: Callable[..., Any]) -> Callable[..., Any]:
        """Give the function with these keywords."""
        shown, theirs = signature(run), signature(self._options)
        *values, last = shown.parameters.values()

        @wraps(run)
        def called(*args: Any, **keywords: Any) -> Any:
            named = {one.name: keywords.pop(one.name) for one in values[len(args) :] if one.name in keywords}
            asked = {last.name: self._options(*args[len(values) :], **keywords)}
            return run(*args[: len(values)], **named, **asked)

        called.__signature__ = shown.replace(parameters=[*values, *theirs.parameters.values()])  # type: ignore[attr-defined]
        # so that Python names the function where a keyword is unknown
        self._options.__init__.__qualname__ = run.__name__
        return called

"""The exception tree of neuromap.

::

    NeuromapError
    ├── InputError            exit code 2   a file, flag, pattern, stimulus or value is wrong
    │   ├── NetworkError                    a network or its file
    │   ├── PatternError                    a rollout pattern (an invalid one names its cycle)
    │   ├── ChipError                       a chip file
    │   ├── ProgramError                    a program file, or a program that breaks its chip's rules
    │   ├── StimulusError                   input frames
    │   └── TrainingError                   a training run that cannot continue as requested
    ├── DoesNotFitError       exit code 3   the network does not fit the chip; carries the infeasibility as data
    ├── NotSupportedError     exit code 4   valid, but not (yet) something neuromap does
    │   └── InstallationError               installed beside another project of the same name; also an ImportError
    └── VerificationError     exit code 5   chip and reference differ

Every message is one line that names the object, the value found, the bound and, if there is one, a remedy. These
classes make it a single printable line, because typed text and files may hold any characters.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

__all__ = [
    "ChipError",
    "DoesNotFitError",
    "InputError",
    "InstallationError",
    "NetworkError",
    "NeuromapError",
    "NotSupportedError",
    "PatternError",
    "ProgramError",
    "StimulusError",
    "TrainingError",
    "VerificationError",
]


# Longest message, and how many characters of its end, with the remedy, are kept when it is cut.
_LONGEST, _TAIL = 2000, 500


class NeuromapError(Exception):
    """Base of all errors that neuromap raises on purpose.

    Parameters
    ----------
    message : str
        Characters that cannot be printed are escaped; a message of more than 2000 characters loses its middle.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(_one_line(str(message)))


@contextmanager
def prefixed(prefix: str, kind: type[NeuromapError]) -> Iterator[None]:
    """Put a prefix in front of the messages of errors of a class that are raised in the block."""
    try:
        yield
    except kind as error:
        raise kind(f"{prefix}{error}") from None


def _one_line(message: str) -> str:
    if len(message) > _LONGEST:
        message = f"{message[: _LONGEST - _TAIL - 5]} ... {message[-_TAIL:]}"
    if message.isprintable():
        return message
    message = " ".join(message.split("\n"))  # libraries may give several lines
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    return line if len(line) <= _LONGEST else _one_line(line)


class InputError(NeuromapError):
    """Something the user gave (file, flag, pattern, stimulus, value) is wrong."""

    exit_code: ClassVar[int] = 2


class NetworkError(InputError):
    """A network, or the file that describes it, is malformed."""


class PatternError(InputError):
    """A rollout pattern names unknown edges, or its sequential edges form a cycle.

    Attributes
    ----------
    cycle : tuple of str
        The nodes of the offending cycle, first node not repeated; empty for other faults.
    """

    def __init__(self, message: str, cycle: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.cycle = cycle


class ChipError(InputError):
    """A chip file is malformed, or no chip of that name is known."""


class ProgramError(InputError):
    """A program file cannot be read, or a program breaks the rules of its chip."""


class StimulusError(InputError):
    """Input frames do not match the network: missing node, wrong size or wrong values."""


class TrainingError(InputError):
    """A training run cannot continue as requested: its loss is not a number, or memory does not suffice."""


class DoesNotFitError(NeuromapError):
    """The network does not fit the chip.

    Attributes
    ----------
    infeasibility : Any
        The refusal as data (:class:`neuromap.mapping.options.infeasibility.Infeasibility`): node, demand, bound, gap
        and remedies.
    """

    exit_code: ClassVar[int] = 3

    def __init__(self, message: str, infeasibility: Any = None) -> None:
        super().__init__(message)
        self.infeasibility = infeasibility


class NotSupportedError(NeuromapError):
    """The request is well formed, but neuromap does not do it."""

    exit_code: ClassVar[int] = 4


class InstallationError(NotSupportedError, ImportError):
    """Another project of the same name is installed, whose files lie among ours."""


class VerificationError(NeuromapError):
    """The simulated chip and the reference differ."""

    exit_code: ClassVar[int] = 5


def __dir__() -> list[str]:
    return __all__

"""Output of commands: lines safe for any terminal, tables, one JSON document, files."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from neuromap.errors import NeuromapError
from neuromap.files.whole_file import write_all
from neuromap.jobs.silent import silent
from neuromap.render.table import escaped, print_text

if TYPE_CHECKING:
    from rich.console import Console

    from neuromap.render.value import Card, Documented
    from neuromap.sweep.chip_sweep import ChipSweep


@contextmanager
def progress_bar(description: str) -> Iterator[Callable[..., None]]:
    """Show a progress bar while the block runs."""
    if not sys.stderr.isatty():
        yield silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(description, total=None)
        notes = _Notes(bar.console)
        logger = logging.getLogger("neuromap")
        logger.addHandler(notes)
        logger.setLevel(logging.INFO)

        def report(*news: object) -> None:
            words = [n for n in news if isinstance(n, str)]
            numbers = [n for n in news if isinstance(n, (int, float))]
            bar.update(
                task,
                description=f"{description}: {words[0]}" if words else description,
                completed=float(numbers[0]) if numbers else None,
                total=float(numbers[1]) if len(numbers) > 1 else None,
            )

        try:
            yield report
        finally:
            logger.removeHandler(notes)


class _Notes(logging.Handler):
    """Shows log messages of the library above the bar."""

    def __init__(self, console: Console) -> None:
        super().__init__(logging.INFO)
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        """Show one message."""
        self._console.print(f"neuromap: {record.getMessage()}", markup=False, highlight=False)


_LONGEST_LINE = 1000
# Prefix of lines on stderr: the program and its command.
PROGRAM = ContextVar("PROGRAM", default="neuromap")


def one_line(text: str) -> str:
    """Make any text safe for one line of a terminal: join blanks, escape control characters, cut the middle."""
    text = " ".join(text.split())
    if len(text) > _LONGEST_LINE:
        text = f"{text[: _LONGEST_LINE - 300]} ... {text[-295:]}"  # keep the end, which has the remedy
    return escaped(text)


def print_error(line: str) -> None:
    """Write a line of :func:`one_line` to stderr, ignoring a stderr that cannot be written."""
    with suppress(OSError):
        sys.stderr.write(f"{PROGRAM.get()}: {line}\n")
        sys.stderr.flush()


def fail(line: str, exit_code: int) -> NoReturn:
    """End a command whose result is already printed, with one line on what is wrong with it."""
    print_error(one_line(line))
    raise typer.Exit(exit_code)


def text_width() -> int:
    """Return the columns for text on stdout: those of the terminal, else ``COLUMNS`` (40 to 1000), else 80."""
    if sys.stdout.isatty():
        return os.get_terminal_size(sys.stdout.fileno()).columns or 80  # some terminals report 0
    width = int(os.environ.get("COLUMNS", 0))  # a number: see main.py
    return min(width, 1000) if width >= 40 else 80


def text_console() -> Console:
    """Return the console for tables on stdout."""
    from rich.console import Console

    return Console(file=sys.stdout, width=text_width(), highlight=False)


def print_line(console: Console, text: str) -> None:
    """Print any text literally, broken between words."""
    print_text(console, one_line(text))


def print_form(console: Console, text: str) -> None:
    """Print a text of tables, which fit, and sentences, which are broken between words."""
    for line in text.rstrip("\n").splitlines():
        if len(line) > console.width:
            print_text(console, line, indent="  ")
        else:
            console.print(line, markup=False, soft_wrap=True)


def print_written(console: Console, *paths: str | None) -> None:
    """Print the paths of written files, if any."""
    for path in paths:
        if path is not None:
            console.print(f"written to {one_line(path)}", markup=False, soft_wrap=True)


def write_forms(*forms: tuple[str | None, Callable[[], str | bytes]]) -> list[str]:
    """Make the forms for which a file is given, write all or none of them, and return their files."""
    contents = [(path, make()) for path, make in forms if path is not None]
    write_all(contents)
    return [path for path, _ in contents]


def give_form(value: Card, *written: str | None, as_json: bool, **members: Any) -> None:
    """Print a value as text with the files written, or its JSON document with further members."""
    from neuromap.render.value import form

    if as_json:
        print_json({**form(value, "dict"), **members})
        return
    console = text_console()
    print_form(console, form(value, "text", console.width))
    print_written(console, *written)


def give_shown(value: Documented, show: Callable[[Console], object], *written: str | None, as_json: bool) -> None:
    """Show a value on a console with the files written, or print its JSON document."""
    if as_json:
        sys.stdout.write(value.to_json())
        return
    console = text_console()
    show(console)
    print_written(console, *written)


def give_sweep(sweep: ChipSweep, files: Mapping[str, str | None], *, every: bool, as_json: bool) -> None:
    """Write the requested files, print the table, and set the exit code by whether it fits any chip."""
    from neuromap.sweep.chip_sweep import print_sweep

    written = write_forms(*((path, getattr(sweep, f"to_{name}")) for name, path in files.items()))
    give_shown(sweep, lambda console: print_sweep(sweep, console, every=every), *written, as_json=as_json)
    if not sweep.exit_code:
        return
    if sweep.failed:
        row = sweep.failed[0]
        line = f"{row.chip.name}: {', '.join((*row.labels, 'chip and reference differ'))}; neuromap verify says where"
    else:
        first = sweep.rows[0]
        line = f"none of {sweep.n_chips} chips is enough, first {first.chip.name}: {first.reason}"
    fail(line, sweep.exit_code)


# JSON on stdout: exactly one document, also for an error.


def _plain(value: Any) -> Any:
    """Convert values of the library to JSON types."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, (set, frozenset, tuple)):
        return list(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _layout(value: Any, indent: str = "") -> str:
    """Format JSON for readers: one member per line, but lists of plain values on one line."""
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        members = (f"{inner}{json.dumps(str(key))}: {_layout(item, inner)}" for key, item in value.items())
        return "{\n" + ",\n".join(members) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
        return "[\n" + ",\n".join(inner + _layout(item, inner) for item in value) + f"\n{indent}]"
    return json.dumps(value, allow_nan=False)


def print_json(data: Any) -> None:
    """Write one JSON document to stdout."""
    plain = json.loads(json.dumps(data, allow_nan=False, default=_plain))
    sys.stdout.write(_layout(plain) + "\n")


def error_object(error: BaseException, message: str, exit_code: int) -> dict[str, Any]:
    """Return the JSON document that ``--json`` prints if a command fails."""
    kind = type(error).__name__
    if not isinstance(error, (NeuromapError, OSError)) and exit_code == 2:
        kind = "UsageError"  # instead of typer's class name
    more = {name: found for name in ("infeasibility", "cycle") if (found := getattr(error, name, None))}
    return {"error": {"kind": kind, "message": message, "exit_code": exit_code, **more}}

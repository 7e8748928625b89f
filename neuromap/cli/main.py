"""The program ``neuromap``: its commands and its entry point.

Only typer is imported here. Each command imports what it needs when it runs, so that ``neuromap --help``
starts at once.
"""

from __future__ import annotations

import _thread
import errno
import importlib
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, TextIO

import typer
import typer.main
from typer.core import TyperGroup

import neuromap
from neuromap.cli.arguments.command import WIDTH, Command, in_columns
from neuromap.cli.printing.text_output import PROGRAM, error_object, one_line, print_error, print_json
from neuromap.errors import NeuromapError, VerificationError
from neuromap.files.messages import did_you_mean

_EPILOG = """\
\b
Exit codes:
  0 ok   2 usage or bad input   3 does not fit the chip   4 not supported
  5 verification failed, not proven   130 interrupted
\b
Examples:
  neuromap rollouts examples/structures/sr.toml
  neuromap report examples/digits/sr.toml --patterns streaming,sequential,hybrid
  neuromap explore examples/digits/sr.toml --max-cores 200 --max-full-response 5ms --best sampling-frequency
"""


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"neuromap {neuromap.__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Map rolled-out networks onto simulated neuromorphic chips; predict, measure and prove their latency."""


# Help texts of commands; modules have the names of their commands, except those below.
COMMANDS = {
    "rollouts": "Count and list rollout patterns, with times.",
    "chips": "List packaged chips, or show one in full.",
    "map": "Map a rolled-out network onto a chip.",
    "simulate": "Run a program on input frames.",
    "watch": "Watch a run in the terminal.",
    "verify": "Check that the chip computes the rollout.",
    "prove": "Prove a program for every input.",
    "report": "Compare patterns: responses, cores, energy.",
    "explore": "Find the best rollouts: Pareto fronts.",
    "search": "Train patterns and weights together: which is right most often.",
    "sweep": "Run many combinations into one store.",
    "accuracy": "Accuracy over ticks.",
    "faults": "Measure the effect of faults.",
    "studio": "Explore patterns and a live chip in the browser.",
    "bench": "Measure simulation speed.",
    "train": "Train a network under a rollout pattern.",
    "experiment": "Train and compare patterns.",
    "import": "Import a network from another tool.",
    "export": "Export a program, network or trace.",
    "lift": "Turn a program back into a network.",
    "new": "Write a chip, network or sweep file to start from.",
}
# Commands whose modules have other names.
_MODULES = {"import": "import_command", "export": "export_command"}


class _Commands(TyperGroup):
    """The commands, each imported when it runs or its help is requested."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, _, rest = super().resolve_command(ctx, args)
        PROGRAM.set(f"neuromap {name}")
        module = importlib.import_module(f"neuromap.cli.commands.{_MODULES.get(str(name), name)}")
        run = getattr(module, str(name), None) or getattr(module, f"{name}_command")
        one = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
        one.command(name, cls=Command, epilog=module.EXAMPLES)(run)
        return name, typer.main.get_command(one), rest

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"\n{in_columns(self.epilog or '')}")


app = typer.Typer(
    name="neuromap",
    cls=_Commands,
    callback=_program,
    epilog=_EPILOG,
    no_args_is_help=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)
for _name, _short in COMMANDS.items():
    app.command(_name, short_help=_short)(lambda: None)


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code; nothing is raised and no traceback is shown."""
    return run_guarded(app, arguments)


# Outer boundary of the program: every exception becomes one line on stderr and an exit code.
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_INTERNAL = 1
_USAGE = 2

# Since 0.26, typer has its own copy of click; the base class of usage errors is accessible in both.
_UsageError = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _fail(error: BaseException, message: str, exit_code: int, as_json: bool) -> int:
    """Print one line to stderr and, with ``--json``, an error object to stdout."""
    line = one_line(message)
    if exit_code == _INTERRUPTED:
        PROGRAM.set("neuromap")
    print_error(line)
    try:
        sys.stdout.flush()  # if stdout itself failed, nothing more is written to it
        if as_json and not isinstance(error, VerificationError):  # its document is already printed
            print_json(error_object(error, line, exit_code))
            sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)
    return exit_code


def _message_of(error: BaseException) -> tuple[str, int]:
    """Return the message and exit code of any exception."""
    if isinstance(error, NeuromapError):
        return str(error), error.exit_code
    if isinstance(error, _UsageError):
        return _usage_line(error), _USAGE
    if isinstance(error, MemoryError):
        return "out of memory; use a smaller network or fewer frames", _INTERNAL
    if isinstance(error, RecursionError):
        return "the input is nested too deeply to be processed", _INTERNAL
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "threads: the system starts no more of them; ask for fewer with --threads", _INTERNAL
    if isinstance(error, OSError) and error.filename == "stdout":
        what = "is closed" if error.errno == errno.EBADF else f"cannot be written ({error.strerror})"
        return f"stdout: {what}, what was to be printed is lost; send it to a file, a pipe or /dev/null", _USAGE
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return (
            "files: the system opens no more of them; raise its limit (ulimit -n), or ask for fewer processes",
            _USAGE,
        )
    if isinstance(error, OSError):
        where = error.filename or "input or output"
        return f"{where}: {error.strerror or error}", _USAGE
    return (
        f"internal error, please report it: {type(error).__name__}: {error} (set NEUROMAP_DEBUG=1 to see where)",
        _INTERNAL,
    )


def _usage_line(error: Any) -> str:
    """Write a usage error with similar words of the same command, and a pointer to its help."""
    if (name := getattr(error, "option_name", None)) and hasattr(error, "possibilities"):
        params = error.ctx.command.get_params(error.ctx)
        flags = {flag.lstrip("-"): flag for param in params for flag in param.opts + param.secondary_opts}
        near = did_you_mean(name.lstrip("-"), flags)  # dashes would make any two flags similar
        said = f"No such option: {name}" + re.sub("'(.*)'", lambda found: f"'{flags[found[1]]}'", near)
    elif match := re.fullmatch(r"No such command ['\"](.*?)['\"].*", error.format_message(), re.DOTALL):
        said = f"No such command {match[1]!r}{did_you_mean(match[1], COMMANDS)}"
    else:
        said = error.format_message().rstrip(".")
    return f"{said}; see {PROGRAM.get()} --help"


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an error was caused by an interrupt, as happens inside imports."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


class _NamedStdout(io.FileIO):
    """Stdout whose errors name it."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "stdout") from None


@contextmanager
def _named_stdout() -> Iterator[None]:
    """Replace a stdout that is a file, pipe or terminal by :class:`_NamedStdout`."""
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        before.reconfigure(errors="replace")  # lines and marks of tables must not fail in ASCII
    binary = getattr(before, "buffer", None)
    if not isinstance(getattr(binary, "raw", binary), io.FileIO):  # if Python runs unbuffered, it is the file
        yield
        return
    raw = _NamedStdout(before.fileno(), "w", closefd=False)
    sys.stdout = io.TextIOWrapper(
        raw if isinstance(binary, io.FileIO) else io.BufferedWriter(raw),
        before.encoding,
        "replace",
        line_buffering=before.isatty(),
        write_through=isinstance(binary, io.FileIO),
    )
    try:
        yield
    finally:
        with suppress(OSError):  # already reported
            sys.stdout.flush()
        sys.stdout = before


def _silence(stream: TextIO) -> None:
    # Buffered data have nowhere to go when the interpreter closes the stream.
    with suppress(OSError, ValueError):  # a stream without a file descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _reader_gone() -> int:
    _silence(sys.stdout)
    return _BROKEN_PIPE


def _interrupt_main() -> None:
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)  # also ends a sleep
    else:
        _thread.interrupt_main()


def _interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
    """Repeat an interrupt that came in a callback (of a weak reference or the collector), where Python ignores it."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        threading.Timer(0.01, _interrupt_main).start()  # from here it would be ignored again
    else:
        sys.__unraisablehook__(ignored)


def run_guarded(app: typer.Typer, arguments: list[str] | None) -> int:
    """Run a typer app; never raise."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    as_json = "--json" in words
    # Streams closed by the calling process (``2>&-``) are replaced by the null device. For stdout it is read-only, so
    # that writing fails as on a full disk and no result is lost silently.
    for name, mode in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, mode), "r" if name == "stdin" else "w"))
    for name in ("COLUMNS", "LINES"):  # rich accepts any Unicode digit, and then fails
        value = os.environ.get(name, "")
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            os.environ.pop(name, None)
    with _named_stdout():
        return _run(app, words, as_json)


def _run(app: typer.Typer, words: list[str], as_json: bool) -> int:
    hook, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    PROGRAM.set("neuromap")
    try:
        result = app(args=words, prog_name="neuromap", standalone_mode=False, obj=words)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # typer treats it as the end of typed input, of which there is none
            return _fail(error.__cause__, *_message_of(error.__cause__), as_json)
        return _fail(KeyboardInterrupt(), "interrupted", _INTERRUPTED, as_json)
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer converts it to its own exit
            return _reader_gone()
        return error.code if isinstance(error.code, int) else _INTERNAL
    except Exception as error:
        if _was_interrupted(error):
            return _fail(KeyboardInterrupt(), "interrupted", _INTERRUPTED, as_json)
        if os.environ.get("NEUROMAP_DEBUG"):
            raise
        message, exit_code = _message_of(error)
        name = PROGRAM.get().rpartition(" ")[2]
        if words.count(name) == 1:  # functions name themselves as the command does; a file so called stays named
            message = message.removeprefix(f"{name}: ")
        return _fail(error, message, exit_code, as_json)
    finally:
        sys.unraisablehook = hook
    if result == _INTERRUPTED:
        return _fail(KeyboardInterrupt(), "interrupted", _INTERRUPTED, as_json)
    return result if isinstance(result, int) else 0

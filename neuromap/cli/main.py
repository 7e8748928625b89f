"""The program ``neuromap``: its commands and its entry point.

Only typer is imported here. Each command imports what it needs when it runs, so that ``neuromap --help``
starts at once.
"""

from __future__ import annotations

import _thread
import errno
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Annotated, Any, TextIO

import typer

import neuromap
from neuromap.cli.commands.accuracy import EXAMPLES as ACCURACY_EXAMPLES
from neuromap.cli.commands.accuracy import accuracy
from neuromap.cli.commands.bench import EXAMPLES as BENCH_EXAMPLES
from neuromap.cli.commands.bench import bench
from neuromap.cli.commands.chips import EXAMPLES as CHIPS_EXAMPLES
from neuromap.cli.commands.chips import chips
from neuromap.cli.commands.experiment import EXAMPLES as EXPERIMENT_EXAMPLES
from neuromap.cli.commands.experiment import experiment
from neuromap.cli.commands.explore import EXAMPLES as EXPLORE_EXAMPLES
from neuromap.cli.commands.explore import explore
from neuromap.cli.commands.export_command import EXAMPLES as EXPORT_EXAMPLES
from neuromap.cli.commands.export_command import export_command
from neuromap.cli.commands.faults import EXAMPLES as FAULTS_EXAMPLES
from neuromap.cli.commands.faults import faults
from neuromap.cli.commands.import_command import EXAMPLES as IMPORT_EXAMPLES
from neuromap.cli.commands.import_command import import_command
from neuromap.cli.commands.map import EXAMPLES as MAP_EXAMPLES
from neuromap.cli.commands.map import map_command
from neuromap.cli.commands.report import EXAMPLES as REPORT_EXAMPLES
from neuromap.cli.commands.report import report
from neuromap.cli.commands.rollouts import EXAMPLES as ROLLOUTS_EXAMPLES
from neuromap.cli.commands.rollouts import rollouts
from neuromap.cli.commands.simulate import EXAMPLES as SIMULATE_EXAMPLES
from neuromap.cli.commands.simulate import simulate
from neuromap.cli.commands.studio import EXAMPLES as STUDIO_EXAMPLES
from neuromap.cli.commands.studio import studio
from neuromap.cli.commands.sweep import EXAMPLES as SWEEP_EXAMPLES
from neuromap.cli.commands.sweep import sweep
from neuromap.cli.commands.train import EXAMPLES as TRAIN_EXAMPLES
from neuromap.cli.commands.train import train
from neuromap.cli.commands.verify import EXAMPLES as VERIFY_EXAMPLES
from neuromap.cli.commands.verify import verify
from neuromap.cli.commands.watch import EXAMPLES as WATCH_EXAMPLES
from neuromap.cli.commands.watch import watch
from neuromap.cli.printing.pattern_figures import error_object, print_json
from neuromap.cli.printing.text_output import one_line, print_error
from neuromap.errors import NeuromapError, VerificationError

_EPILOG = """\
\b
Exit codes:
  0 ok   2 usage or bad input   3 does not fit the chip   4 not supported
  5 verification failed   130 interrupted
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
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Map rolled-out networks onto simulated neuromorphic chips; predict, measure and prove their latency."""


app = typer.Typer(
    name="neuromap",
    callback=_program,
    epilog=_EPILOG,
    no_args_is_help=False,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
app.command("rollouts", short_help="Count and list rollout patterns, with times.", epilog=ROLLOUTS_EXAMPLES)(rollouts)
app.command("chips", short_help="List packaged chips, or show one in full.", epilog=CHIPS_EXAMPLES)(chips)
app.command("map", short_help="Map a rolled-out network onto a chip.", epilog=MAP_EXAMPLES)(map_command)
app.command("simulate", short_help="Run a program on input frames.", epilog=SIMULATE_EXAMPLES)(simulate)
app.command("watch", short_help="A run in the terminal, while it goes.", epilog=WATCH_EXAMPLES)(watch)
app.command("verify", short_help="Check that the chip computes the rollout.", epilog=VERIFY_EXAMPLES)(verify)
app.command("report", short_help="Responses and costs per pattern.", epilog=REPORT_EXAMPLES)(report)
app.command("explore", short_help="Which rollout to run: Pareto fronts.", epilog=EXPLORE_EXAMPLES)(explore)
app.command("sweep", short_help="Many runs at once, into one store.", epilog=SWEEP_EXAMPLES)(sweep)
app.command("accuracy", short_help="How often a chip is right, by tick.", epilog=ACCURACY_EXAMPLES)(accuracy)
app.command("faults", short_help="What a network does on a chip with faults.", epilog=FAULTS_EXAMPLES)(faults)
app.command("studio", short_help="Patterns and a running chip in the browser.", epilog=STUDIO_EXAMPLES)(studio)
app.command("bench", short_help="How fast this machine runs a chip.", epilog=BENCH_EXAMPLES)(bench)
app.command("train", short_help="Train a network under a rollout pattern.", epilog=TRAIN_EXAMPLES)(train)
app.command("experiment", short_help="Patterns trained and compared.", epilog=EXPERIMENT_EXAMPLES)(experiment)
app.command("import", short_help="A network from another tool.", epilog=IMPORT_EXAMPLES)(import_command)
app.command("export", short_help="A program or trace for another tool.", epilog=EXPORT_EXAMPLES)(export_command)


def main(arguments: list[str] | None = None) -> int:
    """Run the program and give its exit code; nothing is raised and no traceback is shown."""
    return run_guarded(app, arguments)


# The outer boundary of the program: every exception becomes one line on stderr and an exit code.
_INTERRUPTED = 130
_BROKEN_PIPE = 141
_INTERNAL = 1
_USAGE = 2

# typer carries its own copy of click since 0.26; its base of usage errors is reached the same way in both.
_UsageError = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _fail(error: BaseException, message: str, exit_code: int, as_json: bool) -> int:
    """Print one line to stderr, with ``--json`` also an error object to stdout."""
    line = one_line(message)
    print_error(line)
    try:
        sys.stdout.flush()  # where stdout is what failed, nothing more is written to it
        if as_json and not isinstance(error, VerificationError):  # its document, which says what differs, is out
            print_json(error_object(error, line, exit_code))
            sys.stdout.flush()
    except OSError:
        _silence(sys.stdout)
    try:
        sys.stderr.flush()
    except OSError:
        _silence(sys.stderr)
    return exit_code


def _message_of(error: BaseException, words: Sequence[str] = ()) -> tuple[str, int]:
    """Name the fault of any exception, and its exit code."""
    if isinstance(error, NeuromapError):
        return str(error), error.exit_code
    if isinstance(error, _UsageError):
        text = error.format_message()  # type: ignore[attr-defined]
        text = not_a_number(text, getattr(getattr(error, "param", None), "opts", ()), words) or text
        return f"{text.rstrip('.')}; see neuromap --help", _USAGE
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


def _was_interrupted(error: BaseException | None) -> bool:
    """Tell an error that an interrupt was turned into, as happens inside imports."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


class _NamedStdout(io.FileIO):
    """Stdout, which is named by the error where it takes nothing."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, "stdout") from None


@contextmanager
def _named_stdout() -> Iterator[None]:
    """Put :class:`_NamedStdout` in the place of a stdout that is a file, a pipe or a terminal."""
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        before.reconfigure(errors="replace")  # a table's lines and marks are no reason to fail in ASCII
    binary = getattr(before, "buffer", None)
    if not isinstance(getattr(binary, "raw", binary), io.FileIO):  # where Python runs unbuffered, it is the file
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
        with suppress(OSError):  # told already
            sys.stdout.flush()
        sys.stdout = before


def _silence(stream: TextIO) -> None:
    # What is still buffered has nowhere to go when the interpreter closes the stream.
    with suppress(OSError, ValueError):  # a stream without a file of its own
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _reader_gone() -> int:
    _silence(sys.stdout)
    return _BROKEN_PIPE


def _open_closed_streams() -> None:
    """Put the null device where a stream was closed by whoever started the program (``2>&-``)."""
    # On stdout it takes nothing, so that writing there fails as on a full disk and no result is lost in silence.
    for name, mode in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, mode), "r" if name == "stdin" else "w"))


def _drop_false_sizes() -> None:
    """Forget a ``COLUMNS`` or ``LINES`` that is no number: rich takes any Unicode digit for one and fails."""
    for name in ("COLUMNS", "LINES"):
        value = os.environ.get(name, "")
        if not (value.isascii() and value.isdecimal() and len(value) < 10):
            os.environ.pop(name, None)


def _interrupt_main() -> None:
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:
        signal.pthread_kill(main, signal.SIGINT)  # ends a sleep, too
    else:
        _thread.interrupt_main()


def _interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
    """Take up an interrupt that came in a callback (of a weak reference, of the collector), where Python ignores it."""
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        threading.Timer(0.01, _interrupt_main).start()  # from here it would be ignored once more
    else:
        sys.__unraisablehook__(ignored)


def run_guarded(app: typer.Typer, arguments: list[str] | None) -> int:
    """Run a typer app; never raise."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    as_json = "--json" in words
    _open_closed_streams()
    _drop_false_sizes()
    with _named_stdout():
        return _run(app, words, as_json)


def _run(app: typer.Typer, words: list[str], as_json: bool) -> int:
    hook, sys.unraisablehook = sys.unraisablehook, _interrupt_again
    try:
        result = app(args=words, prog_name="neuromap", standalone_mode=False, obj=words)
        sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # typer takes it for the end of what is typed; nothing is, here
            message, exit_code = _message_of(error.__cause__)
            return _fail(error.__cause__, message, exit_code, as_json)
        return _fail(KeyboardInterrupt(), "interrupted", _INTERRUPTED, as_json)
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer turns it into an exit of its own
            return _reader_gone()
        return error.code if isinstance(error.code, int) else _INTERNAL
    except Exception as error:
        if _was_interrupted(error):
            return _fail(KeyboardInterrupt(), "interrupted", _INTERRUPTED, as_json)
        if os.environ.get("NEUROMAP_DEBUG"):
            raise
        message, exit_code = _message_of(error, words)
        return _fail(error, message, exit_code, as_json)
    finally:
        sys.unraisablehook = hook
    if result == _INTERRUPTED:
        return _fail(KeyboardInterrupt(), "interrupted", _INTERRUPTED, as_json)
    return result if isinstance(result, int) else 0


# Numbers at the command line that are none: told in the program's own words, with what is allowed.


_SEED = "a whole number, 0 or more"
_ALLOWED = {
    "--seed": _SEED,
    "--mapping-seed": _SEED,
    "--noise-seed": _SEED,
    "--frames": "a whole number, 2 or more",
    "--seeds": "a whole number from 1 to 1000",
    "--stimuli": "a whole number from 1 to 100",
    "--threads": "a whole number from 1 to 1024",
    "--processes": "a whole number, 1 or more",
    "--ticks-per-step": "a whole number from 1 to 1024",
    "--density": "a number from 0 to 1, such as 0.2",
    "--energy-tolerance": "a part from 0 to below 1, such as 0.02",
    "--seconds": "a number above 0, such as 2.5",
}
"""What options take; the functions behind them refuse what is beyond."""


def not_a_number(message: str, options: Sequence[str], words: Sequence[str]) -> str | None:
    """Say what an option takes that was given something else than a number."""
    # gives one line; ``None`` where the fault is another one
    if "valid integer" not in message and "valid float" not in message and "valid number" not in message:
        return None
    allowed = next((_ALLOWED[name] for name in options if name in _ALLOWED), None)
    if allowed is None:
        allowed = "a whole number" if "integer" in message else "a number"
    found = _given(options, words)
    return None if found is None else f"{found[0]} {found[1]}: must be {allowed}"


def _given(options: Sequence[str], words: Sequence[str]) -> tuple[str, str] | None:
    """Find the option as it was typed, and its value; of several the last."""
    for k in range(len(words) - 1, -1, -1):
        name, sign, value = words[k].partition("=")
        if name in options and sign:
            return name, value
        if name in options and k + 1 < len(words):
            return name, words[k + 1]
    return None

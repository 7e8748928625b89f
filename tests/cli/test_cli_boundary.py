"""The boundary of the program: whatever happens inside, one line and an exit code come out."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from neuromap import errors
from neuromap.cli.main import run_guarded


def app_that(action):
    app = typer.Typer(pretty_exceptions_enable=False)

    @app.command()
    def command(as_json: bool = typer.Option(False, "--json")):
        action()

    return app


def raising(error):
    def action():
        raise error

    return action


def endless():
    return endless()


RAISED = [
    (errors.NetworkError("node A: wrong"), 2, "node A: wrong"),
    (errors.PatternError("two\nlines"), 2, "two lines"),
    (errors.DoesNotFitError("too large"), 3, "too large"),
    (errors.NotSupportedError("not yet"), 4, "not yet"),
    (errors.VerificationError("differs"), 5, "differs"),
    (KeyboardInterrupt(), 130, "interrupted"),
    (MemoryError(), 1, "out of memory"),
    (FileNotFoundError(2, "No such file", "a.toml"), 2, "a.toml: No such file"),
    (OSError(24, "Too many open files"), 2, "raise its limit (ulimit -n)"),
    (ZeroDivisionError("x"), 1, "internal error"),
]


@pytest.mark.parametrize(("error", "code", "words"), RAISED, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("arguments", [[], ["--json"]], ids=["text", "json"])
def test_every_exception_is_one_line_and_a_code(error, code, words, arguments, capsys):
    assert run_guarded(app_that(raising(error)), arguments) == code
    captured = capsys.readouterr()
    assert captured.err.startswith("neuromap: ")
    assert captured.err.count("\n") == 1
    assert words in captured.err
    # a failed verification has printed its own document before
    assert ('"error"' in captured.out) == (bool(arguments) and code != 5)


def test_too_deep_recursion(capsys):
    assert run_guarded(app_that(endless), []) == 1
    assert "nested too deeply" in capsys.readouterr().err


def test_return_values_and_exits(capsys):
    assert run_guarded(app_that(lambda: None), []) == 0
    assert run_guarded(app_that(raising(typer.Exit(5))), []) == 5
    assert run_guarded(app_that(raising(SystemExit(3))), []) == 3
    assert capsys.readouterr().err == ""


def start(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "neuromap", *map(str, words)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def test_reader_of_stdout_that_goes_away(sr):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "neuromap", "rollouts", str(sr), "--json"],
        stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc to know when the command runs")
def test_interrupt_while_simulating(folder, program, ended):
    out = folder / "out.trace"
    process = start("simulate", program, "--frames", "9000000", "-o", out)
    # The program file is being read: from here on the command runs, and an interrupt is its own to handle.
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60
    while "safetensors" not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    stdout, stderr = ended(process)
    assert (process.returncode, stdout) == (130, "")
    assert stderr == "neuromap: interrupted\n"
    assert not out.exists()
    assert not list(folder.glob(".neuromap-*"))


def test_program_and_module_are_one(folder):
    done = subprocess.run(
        [sys.executable, "-m", "neuromap", "map", str(folder / "nowhere.toml")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("neuromap map: ")
    assert done.stderr.count("\n") == 1


def run(words, python="", **options):
    """Run the program in a shell, whose redirections follow the words."""
    return subprocess.run(
        f"{sys.executable} {python} -m neuromap {words}", shell=True, text=True, check=False, **options
    )


@pytest.mark.parametrize(
    ("words", "python", "where"),
    [("rollouts SR", "", ">/dev/full"), ("rollouts SR --json", "", ">&-"), ("rollouts SR", "-u", ">/dev/full")],
)
def test_stdout_that_takes_nothing(words, python, where, sr):
    done = run(f"{words.replace('SR', str(sr))} {where}", python, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr.startswith("neuromap rollouts: stdout: ")
    assert "/dev/null" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "words",
    ["--version", "rollouts --help", "chips", "simulate PROGRAM --engine numpy -o FILE", "rollouts no.toml --json"],
)
def test_no_command_loses_what_it_prints_in_silence(words, program, folder):
    words = words.replace("PROGRAM", str(program)).replace("FILE", str(folder / "t"))
    done = run(f"{words} >&-", stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert (folder / "t").exists() == ("-o" in words)
    assert run(f"{words} >/dev/full 2>/dev/full").returncode == 2


def test_streams_that_are_closed(folder, program):
    whole = run(f"simulate {program} --engine numpy", capture_output=True)
    assert whole.returncode == 0
    silent = run(f"simulate {program} --engine numpy 2>&-", stdout=subprocess.PIPE)
    assert (silent.returncode, silent.stdout) == (0, whole.stdout)
    assert run(f"simulate {program} --engine numpy -o {folder}/t >/dev/null 2>&- <&-").returncode == 0
    assert (folder / "t").exists()
    assert run("rollouts nowhere.toml 2>&-").returncode == 2
    assert run(f"simulate {program} --engine numpy >&- 2>&- <&-").returncode == 2


def test_an_error_line_has_no_control_characters_and_an_end(capsys):
    text = "\x1b[31m é \udcff \x07" + "x" * 5000 + " give another"
    assert run_guarded(app_that(raising(errors.InputError(text))), []) == 2
    line = capsys.readouterr().err
    assert line.startswith("neuromap: \\x1b[31m é \\udcff \\x07xxx")
    assert line.endswith("x give another\n")
    assert line[:-1].isprintable()
    assert len(line) < 1100


def test_control_characters_in_what_was_typed(sr, neuromap):
    for words in (("--pattern", "\x1b[31m -> \x07"), ("--execution", "\x1b[31m"), ("-o", "\x1b[31m/x"), ("\x1b[31m",)):
        err = neuromap("map", sr, *words).err
        assert "\\x1b[31m" in err
        assert err[:-1].isprintable()


@pytest.mark.parametrize("columns", ["²", "٣", "9" * 5000, "-80", "x", ""])
def test_columns_that_are_no_number(columns, neuromap, monkeypatch):
    plain = neuromap("chips")
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setenv("LINES", columns)
    assert neuromap("chips") == plain


def test_a_terminal_of_no_width():
    import pty

    parent, child = pty.openpty()  # of 0 columns as long as nobody says otherwise
    done = subprocess.run([sys.executable, "-m", "neuromap", "chips"], stdout=child, check=False)
    os.close(child)
    shown = b""
    try:
        while part := os.read(parent, 100_000):
            shown += part
    except OSError:  # all was read
        pass
    os.close(parent)
    assert done.returncode == 0
    text = " ".join(shown.decode().split())
    for line in ("ranc 256 256 x 256", "truenorth 4096 256 x 256"):
        assert line in text


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_interrupt_while_the_program_is_imported(ending):
    """The interrupt comes with the first import of the commands, wherever that is."""
    code = (
        "import os, signal, sys\n"
        "from neuromap.cli.entry import main\n"
        "class Interrupter:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'neuromap.cli.commands.map': os.kill(os.getpid(), signal.ENDING)\n"
        "sys.meta_path.insert(0, Interrupter())\n"
        "sys.argv[1:] = ['map', '--help']\n"
        "sys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code.replace("ENDING", ending)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "neuromap: interrupted\n")


def test_an_interrupt_that_an_import_turned_into_an_error(capsys):
    def action():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise RuntimeError("Error calling __set_name__") from error

    assert run_guarded(app_that(action), []) == 130
    assert capsys.readouterr().err == "neuromap: interrupted\n"


def test_the_program_starts_at_its_small_entry():
    import tomllib

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert project["scripts"] == {"neuromap": "neuromap.cli.entry:main"}


def test_an_interrupt_that_python_ignores_ends_the_program_all_the_same(capsys):
    """As one does that comes while the callback of a weak reference runs."""

    class Dying:
        def __del__(self):
            raise KeyboardInterrupt

    came_to_its_end = []

    def work():
        doomed = Dying()
        del doomed
        time.sleep(20)
        came_to_its_end.append(True)

    assert run_guarded(app_that(work), []) == 130
    assert not came_to_its_end
    assert capsys.readouterr().err == "neuromap: interrupted\n"


def test_a_file_that_ends_too_soon_is_no_interrupt(capsys):
    """Typer turns an EOFError into what it makes of Ctrl-D."""
    assert run_guarded(app_that(raising(EOFError("ran out of input"))), []) == 1
    assert "internal error, please report it: EOFError: ran out of input" in capsys.readouterr().err


def test_a_system_without_threads_left(capsys):
    assert run_guarded(app_that(raising(RuntimeError("can't start new thread"))), []) == 1
    assert "ask for fewer with --threads" in capsys.readouterr().err

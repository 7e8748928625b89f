"""Help is complete: every command explains itself with examples that can be run."""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from neuromap.cli.arguments.command import Given
from neuromap.cli.main import app
from neuromap.explorer.answer.limits import Limits
from neuromap.faults.options import StudyOptions
from neuromap.mapping.options.options import MappingOptions
from neuromap.simulation.choose_frames import RandomFrames
from neuromap.simulation.engine.engine_choice import EngineChoice
from neuromap.training.options.training_options import HardwareOptions, TrainingOptions

COMMANDS = [command.name for command in app.registered_commands]


def test_the_commands():
    assert COMMANDS == [
        "rollouts",
        "chips",
        "map",
        "simulate",
        "watch",
        "verify",
        "prove",
        "report",
        "explore",
        "sweep",
        "accuracy",
        "faults",
        "studio",
        "bench",
        "train",
        "experiment",
        "import",
        "export",
        "lift",
    ]


def test_help_of_the_program_names_commands_and_exit_codes(neuromap):
    for flag in ("--help", "-h"):
        done = neuromap(flag)
        assert (done.code, done.err) == (0, "")
        for command in COMMANDS:
            assert f"\n  {command} " in done.out
        for words in ("2 usage or bad input", "3 does not fit", "4 not supported", "5 verification failed"):
            assert words in done.out


SERVING = ("studio",)
"""They serve until they are interrupted, and print an address only."""
FOR_EYES = ("watch",)
"""Commands without a document: what they show goes on."""


def typed_examples(page):
    """The examples of a help page, each in one line."""
    return re.sub(r" \\\n +", " ", page.split("Examples:")[1])


@pytest.mark.parametrize("command", COMMANDS)
def test_help_comes_in_layers(command, neuromap):
    """``--help`` explains common options and names the flags of every group, ``--help-all`` explains all."""
    short, full = (neuromap(command, flag).out for flag in ("--help", "--help-all"))
    explained = re.compile(r"^  (?:-[a-z], )?(--[a-z][a-z-]*)", re.MULTILINE)
    common, every = (set(explained.findall(page.split("More options")[0])) for page in (short, full))
    head, more, groups = short.partition("More options, explained by --help-all:\n")
    named = set(re.findall(r"--[a-z][a-z-]*", groups.split("Examples:")[0]))
    assert common | named == every, "every option is explained or named by --help"
    assert not common & named
    assert bool(more) == (common != every)
    assert len(head.splitlines()) <= 64
    for group in re.findall(r"^  ([a-z]+)  +--", groups, re.MULTILINE):
        assert f"\n{group.capitalize()}:\n" in full
    assert max(map(len, (short + full).splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_examples_and_json(command, neuromap):
    done = neuromap(command, "--help-all")
    assert (done.code, done.err) == (0, "")
    assert ("--json" in done.out) == (command not in (*FOR_EYES, *SERVING))
    examples = re.findall(r"^ +(neuromap .*)$", typed_examples(done.out), re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        words = shlex.split(example)
        assert words[1] == command
        for option in (w for w in words if re.match(r"--?[a-z]", w)):
            assert re.search(rf"(^|[ ,]){option}\b", done.out.split("Examples:")[0]), option


def write_dense_onnx(onnx, path):
    make, of = onnx.helper, onnx.TensorProto.FLOAT
    ends = [make.make_tensor_value_info(name, of, [1, 4]) for name in ("x", "y")]
    weight = make.make_tensor("w", of, [4, 4], [1.0] * 16)
    graph = make.make_graph([make.make_node("MatMul", ["x", "w"], ["y"])], "dense", ends[:1], ends[1:], [weight])
    onnx.save(make.make_model(graph), path)


LONG = ("experiment", "import", "train")


@pytest.mark.smoke
@pytest.mark.usefixtures("short_streams")
@pytest.mark.parametrize("many", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(  # long ones have tests of their own
    "command", [pytest.param(c, marks=pytest.mark.thorough) if c in LONG else c for c in COMMANDS if c not in SERVING]
)
def test_examples_of_the_help_run(
    command, many, neuromap, root_of_examples, monkeypatch, folder, tiny_text, sr, request
):
    """By default the first of every command; the files that examples read and write lie in a folder of their own."""
    (folder / "examples").symlink_to(root_of_examples / "examples")
    (folder / "my_chip.toml").write_text(tiny_text.replace("= 8", "= 256").replace("[2, 2]", "[16, 16]"))
    monkeypatch.chdir(folder)
    help_text = typed_examples(neuromap(command, "--help").out)
    if re.search(r" sr\.nmp\b", help_text):
        assert neuromap("map", "examples/digits/sr.toml", "--pattern", "hybrid", "-o", "sr.nmp").code == 0
    if re.search(r" digits\.sqlite\b", help_text):
        (folder / "digits.sqlite").write_bytes(request.getfixturevalue("swept"))
    if command in ("train", "experiment"):
        pytest.importorskip("torch", reason="training needs PyTorch (the extra training)")
        pytest.importorskip("sklearn")
    if command == "import":
        pytest.importorskip("brian2", reason="its scripts are run (the extra brian2)")
        write_dense_onnx(
            pytest.importorskip("onnx", reason="a file of it is read (the extra onnx)"), folder / "net.onnx"
        )
    if command in ("accuracy", "faults"):
        pytest.importorskip("sklearn", reason="the digits are scikit-learn's")
    examples = re.findall(r"^ +((?:neuromap|python) .*?)(?:  +.*)?$", help_text, re.MULTILINE)
    for example in examples if many else examples[:1]:
        program, *words = shlex.split(example)
        if program == "python":
            pytest.importorskip("sklearn")
            subprocess.run([sys.executable, *words], check=True, capture_output=True)
            continue
        done = neuromap(*words)
        assert done.code == 0, (example, done)
        assert done.err == ""


def test_version(neuromap):
    import neuromap as package

    assert neuromap("--version").out == f"neuromap {package.__version__}\n"


@pytest.mark.parametrize(
    "options", [MappingOptions, TrainingOptions, HardwareOptions, EngineChoice, RandomFrames, StudyOptions, Limits]
)
def test_nothing_typed_is_the_default_of_the_library_and_so_is_its_default_typed(options):
    class Flags(Given[options]):
        pass

    assert Flags().made() == options()
    for name, said in Flags.said.items():
        assert getattr(Flags(), name) == said.default
        if isinstance(said.default, str | int | float) and said.kind != "bool":
            assert said.read(str(said.default)) == said.default, name


def test_the_page_has_the_options_of_the_mapper_as_they_are():
    root = Path(__file__).parents[2]
    made = runpy.run_path(str(root / "docs" / "refresh_options.py"))["page"]()
    assert (root / "docs" / "cli.md").read_text(encoding="utf-8") == made, "run python docs/refresh_options.py"

"""Help is complete: every command explains itself with examples that can be run."""

import re
import shlex
import subprocess
import sys

import pytest

import neuromap as nm
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
        "search",
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
        "new",
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
FOR_EYES = ("watch", "new")
"""Commands without a document: what they show goes on, or is a file of its own."""


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


LONG = ("experiment", "import", "search", "train")


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
    if command in ("train", "experiment", "search"):
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


CONSOLES = """
rollouts sr.toml
rollouts sr.toml --chip loihi1 --cores 1,2,4
chips
chips loihi1
map sr.toml
map sr.toml --all
map sr.toml --dry-run
map sr.toml --set core.axons=200,256
simulate sr.nmp
simulate sr.nmp --frames 3
watch sr.nmp --ticks 3 --speed 0
verify sr.toml
prove sr.toml
report sr.toml
report sr.toml --chip loihi1 --patterns streaming --executions windowed
report sr.toml --patterns streaming --set core.axons=200,256
report sr.toml --patterns streaming --faults dead-cores --fault-rates 0,0.5 --fault-seeds 2 --frames 8
report sr.toml --patterns streaming --html page.html
explore sr.toml --within class
explore sr.toml --within class --best cores
explore sr.toml --within class --set core.axons=200,256
sweep sweep.toml --processes 1
report --from sweep.sqlite
report --from sweep.sqlite --over core.axons
faults sr.toml --seeds 2 --rates 0,0.5 --frames 8
bench --cores 4 --ticks 4 --rounds 1 --threads 1,2,3
accuracy examples/digits/sr.toml --limit 4
experiment
import nir examples/nir/snntorch.nir --tool snntorch
export sr.nmp --to ranc -o ranc
lift lifted.nmp
new chip -o chip.toml
"""


def test_consoles_fit_80_columns_with_one_table_each(neuromap, folder, program, root_of_examples, monkeypatch):
    """Where no terminal says otherwise: no line is longer, no table is split, and none has more than eight columns."""
    pytest.importorskip("sklearn")
    monkeypatch.chdir(folder)
    (folder / "examples").symlink_to(root_of_examples / "examples")
    (folder / "sweep.toml").write_text('format = 1\nnetworks = ["sr.toml"]\n[set]\n"core.axons" = [200, 256]\n')
    neuromap("map", "examples/digits/sr.toml", "--pattern", "sequential", "-o", "lifted.nmp")
    shown = set()
    for words in CONSOLES.strip().splitlines():
        done = neuromap(*shlex.split(words))
        assert (done.code, done.err) == (0, ""), words
        lines = done.out.splitlines()
        assert max(map(len, lines)) <= 80, (words, max(lines, key=len))
        heads = [lines[k - 1] for k, line in enumerate(lines) if re.fullmatch(" ?─{8,} *", line)]
        named = [re.split(" {2,}", head.strip()) for head in heads]
        assert len({names[0] for names in named}) == len(set(map(tuple, named))), f"{words}: a table is split"
        assert all(len(names) <= 8 for names in named), words
        shown.add(words.split()[0])
    assert shown | {"studio", "train", "search"} == set(COMMANDS)


@pytest.mark.parametrize("command", ["report", "explore"])
def test_a_console_says_what_it_does_not_show_and_all_of_it_comes_on_demand(command, neuromap, sr):
    brief, every = (neuromap(command, sr, *words).out for words in ([], ["--all"]))
    left = re.search(r"Not shown: (.*); see", " ".join(brief.split()))[1].split(", ")
    assert len(left) > 3
    flat = " ".join(every.split())
    for name in left:
        if name not in ("network-on-chip", "what the columns mean"):
            assert all(word in flat for word in name.split()), name
    assert len(every.splitlines()) > len(brief.splitlines())


def test_templates_are_read_as_they_stand(neuromap, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for kind in ("chip", "network", "sweep"):
        text = neuromap("new", kind).out
        assert neuromap("new", kind, "-o", f"{kind}.toml").code == 0
        assert (folder / f"{kind}.toml").read_text() == text
        assert text.count("#") >= 10, "what a key is for stands beside it"
    assert neuromap("chips", "./chip.toml").code == 0
    assert neuromap("map", "network.toml", "--pattern", "hybrid", "--chip", "./chip.toml").code == 0
    assert "8 of 8 mapped" in neuromap("sweep", "sweep.toml", "--processes", "1").out
    assert neuromap("new", "sweep", "-o", "sweep.toml").code == 2, "nothing is written over"


def test_a_packaged_chips_file_can_be_printed_and_read(neuromap, folder):
    for chip in nm.list_chips():
        path = folder / f"{chip.name}.toml"
        path.write_text(neuromap("chips", chip.name, "--toml").out)
        assert nm.load_chip(path) == chip
    assert neuromap("chips", path, "--toml").out == path.read_text()


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("ma", {"map"}),
        ("map --pl", {"--placer"}),
        ("map --chip loihi", {"loihi1", "loihi2", "loihi2x8", "loihi2x32"}),
        ("map sr.toml --pattern ", {"streaming", "sequential", "hybrid"}),
        ("report sr.toml --patterns streaming,hy", {"streaming,hybrid"}),
        ("map none.toml --pattern ", set()),
        ("map --placer hil", {"hilbert"}),
        ("import o", {"onnx"}),
        ("map s", set()),  # files are the shell's
    ],
)
def test_shells_complete(typed, completed, neuromap, sr, monkeypatch):
    monkeypatch.chdir(sr.parent)
    monkeypatch.setenv("_NEUROMAP_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", f"neuromap {typed}")
    monkeypatch.setenv("COMP_CWORD", str(len(f"neuromap {typed}".split(" ")) - 1))
    assert set(neuromap().out.split()) == completed


def test_the_script_for_a_shell_is_printed(neuromap, monkeypatch):
    monkeypatch.setenv("_NEUROMAP_COMPLETE", "source_zsh")
    assert "compdef _neuromap_completion neuromap" in neuromap().out

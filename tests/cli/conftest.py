"""Running the program in this process, and files to run it on."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from safetensors.numpy import save_file

import neuromap as nm
from neuromap.cli.main import main

SR = """\
format = 1
name = "SR"
[nodes.I]
shape = [4, 4, 1]
[nodes.H1]
shape = [2, 2, 2]
threshold = 1
[nodes.H2]
shape = [1, 1, 6]
threshold = 1
[nodes.O]
shape = [1, 1, 3]
threshold = 0
[edges."I -> H1"]
transform = "conv"
kernel = [3, 3]
stride = [2, 2]
weights = { seed = 1, values = [-1, 0, 1] }
[edges."H1 -> H2"]
transform = "dense"
weights = { seed = 2, values = [-1, 0, 1] }
[edges."H2 -> O"]
transform = "dense"
weights = { seed = 3, values = [-1, 0, 1] }
[edges."H1 -> O"]
transform = "dense"
weights = { seed = 4, values = [-1, 0, 1] }
[edges."H1 -> H1"]
transform = "conv"
kernel = [3, 3]
weights = { seed = 5, values = [-1, 0, 1] }
[rollouts.hybrid]
streaming = ["H1 -> H1", "H1 -> O", "H2 -> O"]
"""

TINY_CHIP = """\
format = 1
name = "tiny"
[grid]
cores = [2, 2]
[core]
axons = 8
neurons = 8
axon_types = 4
weight_bits = 9
leak_bits = 9
threshold_bits = 18
potential_bits = 20
targets_per_neuron = 1
[time]
tick_seconds = 1e-3
delay = [1, 15]
"""


@dataclass(frozen=True)
class Done:
    """What a run left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def told(self):
        """What is said on stderr, without the name of the program and its command."""
        return re.sub(r"\Aneuromap( [a-z]+)?: ", "", self.err)

    @property
    def json(self):
        return json.loads(self.out)

    def assert_refused(self, code, *words):
        """One line on stderr with these words, nothing on stdout."""
        assert self.code == code, self
        assert "Traceback" not in self.err + self.out
        assert re.match(r"neuromap( [a-z]+)?: ", self.err)
        assert self.err.count("\n") == 1
        assert self.out == ""
        for word in words:
            assert word in self.err, self.err


DOCUMENTS = {
    "map": ("map", "dry-run", "chip-sweep"),
    "report": ("report", "runs", "chip-sweep"),
    "explore": ("exploration", "chip-sweep"),
    "train": ("training",),
}
"""What a command writes with ``--json``, where it is not the document of its own name: ``docs/schemas.md``."""
NESTED = {"neuromap quantisation 1": "quantisation", "neuromap brian2 report 1": "brian2-report"}
"""Documents within others, by their format."""


@cache
def validator(name):
    return jsonschema.Draft202012Validator(nm.load_schema(name))


def assert_published(command, document):
    """Every document that a command writes follows one published schema, and so do documents within it."""
    names = ("error",) if "error" in document else DOCUMENTS.get(command, (command,))
    fits = [name for name in names if validator(name).is_valid(document)]
    assert len(fits) == 1, [error.message for error in validator(names[0]).iter_errors(document)]
    todo = [document]
    while todo:
        part = todo.pop()
        if isinstance(part, dict) and part.get("format") in NESTED:
            validator(NESTED[part["format"]]).validate(part)
        todo += [*(part.values() if isinstance(part, dict) else part if isinstance(part, list) else ())]


@pytest.fixture
def neuromap(capsys):
    """Run ``neuromap`` with these words; what it writes with ``--json`` is held against its schema."""

    def run(*words):
        capsys.readouterr()
        words = [str(word) for word in words]
        code = main(words)
        captured = capsys.readouterr()
        if "--json" in words and captured.out and "--help" not in words:
            assert_published(words[0], json.loads(captured.out))
        return Done(code, captured.out, captured.err)

    return run


@pytest.fixture
def folder(tmp_path):
    """A folder with a small SR network, a tiny chip and frames."""
    (tmp_path / "sr.toml").write_text(SR)
    (tmp_path / "tiny.toml").write_text(TINY_CHIP)
    frames = np.random.default_rng(0).random((9, 16)) < 0.5
    save_file({"I": frames.astype(np.uint8)}, tmp_path / "frames.safetensors")
    return tmp_path


@pytest.fixture
def sr_text():
    return SR


@pytest.fixture
def tiny_text():
    return TINY_CHIP


@pytest.fixture
def sr(folder):
    return folder / "sr.toml"


@pytest.fixture(scope="session")
def mapped(tmp_path_factory):
    """What the program file of the small SR network holds, hybrid and pipelined."""
    folder = tmp_path_factory.mktemp("mapped")
    net, program = folder / "sr.toml", folder / "sr.nmp"
    net.write_text(SR)
    assert main(["map", str(net), "--pattern", "hybrid", "--execution", "pipelined", "-o", str(program)]) == 0
    return program.read_bytes()


@pytest.fixture(scope="session")
def swept(tmp_path_factory):
    """What a store of the sweep in the examples holds; ``neuromap sweep`` has nothing left to do there."""
    spec = Path(__file__).resolve().parents[2] / "examples" / "sweeps" / "digits.toml"
    store = tmp_path_factory.mktemp("swept") / "digits.sqlite"
    assert main(["sweep", str(spec), "--processes", "1", "-o", str(store)]) == 0
    return store.read_bytes()


@pytest.fixture
def program(folder, mapped):
    """The small SR network, hybrid and pipelined, mapped."""
    path = folder / "sr.nmp"
    path.write_bytes(mapped)
    return path


@pytest.fixture
def root_of_examples():
    return Path(__file__).resolve().parents[2]


@pytest.fixture
def ended():
    """Wait for a process that was told to end, and give what it said; one that does not end is killed."""

    def ended(process):
        try:
            return process.communicate(timeout=60)
        finally:
            process.kill()

    return ended

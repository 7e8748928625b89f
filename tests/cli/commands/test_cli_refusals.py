"""Each limit of a chip: the refusal's JSON names node, demand, bound, gap and remedies; a remedy, applied, maps.

Remedies are applied here as a user would: in the network file, in the chip file, or as an option.
"""

import math
import re
import tomllib
from dataclasses import dataclass, field, replace

import pytest

CHIP = """\
format = 1
name = "own"
[grid]
cores = [16, 16]
reach = [63, 63]
[core]
axons = 256
neurons = 256
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
class Files:
    """A network file, a chip file, and the options that go with them."""

    network: str
    chip: str = CHIP
    options: dict = field(default_factory=dict)

    def changed(self, remedy, node):
        """Do what a remedy says."""
        lever, value = remedy["lever"], remedy["value"]
        if lever == "chip":
            return replace(self, options={**self.options, "--chip": value})
        if lever == "chip.cores":
            side = math.isqrt(value - 1) + 1
            return replace(self, chip=re.sub(r"cores = .*", f"cores = [{side}, {side}]", self.chip))
        if lever == "chip.reach":
            return replace(self, chip=re.sub(r"reach = .*", f"reach = [{value}, {value}]", self.chip))
        if lever.startswith("chip."):
            figure = lever.removeprefix("chip.")
            return replace(self, chip=re.sub(rf"^{figure} = .*", f"{figure} = {value}", self.chip, flags=re.MULTILINE))
        if lever == "groups":
            edges = re.sub(r"\ngroups = .*", "", self.network)
            return replace(self, network=re.sub(rf'(-> {node}"\]\n.*)', rf"\1\ngroups = {value}", edges))
        if lever == "weights":
            return replace(self, network=re.sub(r"values = .* ", f"values = [{value}] ", self.network))
        if lever == "packing":
            return replace(self, options={k: v for k, v in self.options.items() if k != "--no-packing"})
        return replace(self, options={**self.options, f"--{lever.replace('_', '-')}": value})


OTHER_NETWORKS = {"pool", "features", "source_features"}
"""Levers that no flag pulls; tests/mapping/diagnosis maps what they say."""


def network(nodes, edges):
    """Nodes are {name: (shape, threshold)}, edges {"A -> B": list of values}; all dense."""
    text = "format = 1\n"
    for name, (shape, threshold) in nodes.items():
        text += f"[nodes.{name}]\nshape = {shape}\n" + (f"threshold = {threshold}\n" if threshold is not None else "")
    for name, values in edges.items():
        text += f'[edges."{name}"]\ntransform = "dense"\nweights = {{ seed = 1, values = {values} }}\n'
    return text


@pytest.fixture
def run(folder, neuromap):
    def run(files, *words):
        (folder / "net.toml").write_text(files.network)
        (folder / "own.toml").write_text(files.chip)
        options = {"--chip": folder / "own.toml", **files.options}
        typed = [str(word) for item in options.items() for word in item if word is not None]
        return neuromap("map", folder / "net.toml", *typed, "--json", *words)

    return run


def refusal_of(done):
    error = done.json["error"]
    assert (done.code, error["exit_code"], error["kind"]) == (3, 3, "DoesNotFitError")
    assert done.told == f"{error['message']}\n"
    found = error["infeasibility"]
    assert found["gap"] == found["demand"] - found["bound"] > 0
    return found


CHAIN = {"I": ([1, 1, 8], None), "A": ([1, 1, 16], 1), "B": ([1, 1, 64], 1)}
WIDE = network({"I": ([7, 7, 16], None), "H2": ([1, 1, 16], 1)}, {"I -> H2": [1]})
ONES = {"I -> A": [1], "A -> B": [1]}
CIRCLE = network({"I": ([1, 1, 16], None), "A": ([1, 1, 16], 1)}, {"I -> A": [1], "A -> A": [1]})
LARGE = CHIP.replace("axons = 256", "axons = 128")
DEFECTS = "format = 1\nlinks = [[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]]\n"


def small(**figures):
    text = CHIP
    for name, value in figures.items():
        text = re.sub(rf"^{name} = .*", f"{name} = {value}", text, flags=re.MULTILINE)
    return text


REFUSALS = {
    "fan-in": (Files(WIDE), "axons", "H2", 784, 256, {"groups", "chip.axons"}),
    "weights of many magnitudes": (
        Files(
            network({"I": ([1, 1, 40], None), "A": ([1, 1, 1], 5)}, {"I -> A": list(range(1, 200))}),
            small(axons=40),
        ),
        "axons", "A", None, 40, {"weights", "chip.axons", "chip"},
    ),
    "cores": (Files(network(CHAIN, ONES), small(cores="[2, 1]", neurons=8, axons=16)), "cores", None, None, 2,
              {"chip.cores", "chip"}),
    "cores without packing": (
        Files(network(CHAIN, ONES), small(cores="[1, 1]"), {"--no-packing": None}), "cores", None, 2, 1,
        {"packing", "chip.cores", "chip"},
    ),
    "copies": (Files(CIRCLE, small(axons=32, neurons=16)), "copies", "A", None, None, {"chip.neurons", "splitters"}),
    "delay": (Files(network(CHAIN, ONES), small(delay="[2, 15]"), {"--ticks-per-step": 1}), "delay", "B", 2, 1,
              {"ticks_per_step"}),
    "axon types": (Files(network(CHAIN, {"I -> A": [-1, 1], "A -> B": [1]}), small(axon_types=1)), "axon_types", "A", 2,
                   1, {"chip.axon_types", "chip"}),
    "potential": (Files(network(CHAIN, {"I -> A": [9], "A -> B": [1]}), small(potential_bits=6)), "potential", "A", 72,
                  31, {"chip.potential_bits", "chip"}),
    "reach": (Files(network(CHAIN, ONES), small(cores="[8, 8]", reach="[1, 1]", neurons=8, axons=16)), "reach", None,
              None, 1, {"chip.reach", "chip"}),
}  # fmt: skip


PATIENTLY = ("--seconds", "60")
"""Remedies are tried for that long: on a busy machine the ten seconds that are usual may not do."""


@pytest.fixture(scope="module")
def known():
    """What was refused already: name -> the refusal, whose remedies take seconds to try."""
    return {}


@pytest.fixture
def refused(known, run):
    def refused(name):
        if name not in known:
            known[name] = refusal_of(run(REFUSALS[name][0], *PATIENTLY))
        return known[name]

    return refused


@pytest.mark.parametrize("name", REFUSALS)
def test_every_remedy_that_was_tried_maps(name, run, refused):
    files, limit, node, demand, bound, levers = REFUSALS[name]
    found = refused(name)
    assert found["limit"] == limit
    assert bound in (None, found["bound"])
    assert node in (None, found["node"])
    assert demand in (None, found["demand"])
    tried = {r["lever"]: r for r in found["remedies"] if r["tried"]}
    assert levers <= set(tried)
    for lever, remedy in tried.items():
        if lever in OTHER_NETWORKS:
            continue
        done = run(files.changed(remedy, found["node"]))
        assert done.code == 0, (lever, done)
        assert done.json["cores"] == remedy["cores"], lever


@pytest.mark.parametrize("name", REFUSALS)
def test_dry_run_says_the_same(name, run, refused):
    files, refusal = REFUSALS[name][0], refused(name)
    done = run(files, "--dry-run", *PATIENTLY)
    found = done.json
    assert (done.code, found["fits"], found["cores"]) == (3, False, None)
    assert done.told == f"{found['problems'][0]['message']}\n"
    assert found["problems"][0] == refusal
    first = refusal["remedies"][0]
    assert found["cores_with_remedies"] == first["cores"]
    fits = run(files.changed(first, refusal["node"]), "--dry-run")
    assert (fits.code, fits.err, fits.json["fits"], fits.json["problems"]) == (0, "", True, [])
    assert fits.json["cores"] == first["cores"]
    assert fits.json["core_bound"]["total"] <= fits.json["cores"]


def test_routes_that_meet_dead_links(folder, run):
    """Every link of a board of 2 x 2 cores is dead."""
    defects = folder / "defects.toml"
    defects.write_text(DEFECTS)
    files = Files(network(CHAIN, ONES), small(cores="[2, 2]", neurons=32, axons=32), {"--defects": defects})
    found = refusal_of(run(files))
    assert (found["limit"], found["bound"]) == ("routes", 0)
    assert any(r["lever"] == "chip.defects" for r in found["remedies"])
    defects.write_text("format = 1\n")
    assert run(files).code == 0


def test_dead_cores_leave_fewer(folder, run):
    defects = folder / "defects.toml"
    defects.write_text("format = 1\ncores = [[0, 0], [1, 1]]\n")
    files = Files(network(CHAIN, ONES), small(cores="[2, 2]", neurons=32, axons=32), {"--defects": defects})
    found = refusal_of(run(files))
    assert (found["limit"], found["demand"], found["bound"]) == ("cores", 3, 2)


def test_regions_too_small(folder, run):
    pins = folder / "pins.toml"
    files = Files(network(CHAIN, ONES), small(neurons=8, axons=16), {"--pins": pins})
    pins.write_text("format = 1\n[regions]\nB = [0, 0, 0, 0]\n")
    found = refusal_of(run(files))
    assert (found["limit"], found["bound"]) == ("cores", 1)
    assert [r["lever"] for r in found["remedies"] if r["value"] is None] == ["pins.regions"]
    pins.write_text("format = 1\n[regions]\nB = [0, 0, 9, 9]\n")
    assert run(files).code == 0


def test_message_has_the_format_of_the_house(run):
    found = refusal_of(run(Files(WIDE)))
    assert found["message"].startswith(
        'node H2: one neuron needs 784 axons, a own core has 256 (528 too many); wide = "partial-sums" would '
        "compute it in parts, a frame every "
    )
    assert "; groups = 4 would need 196 (tried: " in found["message"]


def test_dry_run_in_text(folder, sr, run, neuromap):
    done = neuromap("map", sr, "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert "fits in" in done.out
    for node in ("H1", "H2", "O"):
        assert re.search(rf"^{node} +\d+ +\d+ +\d+", done.out, re.MULTILINE)
    (folder / "wide.toml").write_text(WIDE)
    done = neuromap("map", folder / "wide.toml", "--dry-run")
    assert done.code == 3
    assert done.err.startswith("neuromap map: node H2: one neuron needs 784 axons")
    assert done.err.count("\n") == 1
    for words in ("does not fit", "784 !", "groups = 4 would need 196", "maps", "with the first remedy: fits in"):
        assert words in done.out


def test_dry_run_is_what_map_takes(folder, sr, neuromap):
    before = sorted(folder.iterdir())
    for words in ((), ("--no-packing",), ("--splitters", "anywhere"), ("--pattern", "hybrid", "--splitters", "never")):
        dry, real = neuromap("map", sr, "--dry-run", "--json", *words).json, neuromap("map", sr, "--json", *words).json
        assert dry["cores"] == real["cores"]
        for key in ("schedule", "split_edges", "usable_cores"):
            assert dry[key] == real[key]
        assert dry["core_bound"]["total"] == real["core_bound"]["total"]
        assert sum(node["splitters"] for node in dry["nodes"]) <= real["splitters"]
    assert sorted(folder.iterdir()) == before


def test_files_are_read_as_written():
    assert tomllib.loads(WIDE)["edges"]["I -> H2"]["transform"] == "dense"
    changed = Files(WIDE).changed({"lever": "groups", "value": 4}, "H2")
    assert tomllib.loads(changed.network)["edges"]["I -> H2"]["groups"] == 4

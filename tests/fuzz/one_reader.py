"""One way in, and what the seeds of several are made of."""

import resource
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
CHIPS = ROOT / "hardware_models"


@dataclass(frozen=True)
class Reader:
    """One way in.

    ``make`` gives the seeds, and leaves what lies beside them in its folder; ``file`` is the mutant's name there.
    ``needs`` are libraries without which it is left out, ``loads`` modules that are imported once for all its workers.
    ``kit`` makes these for several readers at once.
    ``context`` makes once what every reading needs. ``form`` and ``seal`` are those of ``mutate.mutant``.
    """

    make: Callable[[Path], Any]
    read: Callable[[Path, Any], object]
    file: str
    context: Callable[[Path], Any] | None = None
    form: str | None = None
    seal: Callable[[bytes], bytes] | None = None
    needs: tuple[str, ...] = ()
    loads: tuple[str, ...] = ()
    kit: Callable[[Path], object] | None = None


READERS: dict[str, Reader] = {}


def reader(name, file, make, read, **more):
    READERS[name] = Reader(make, read, file, **more)


@cache
def network():
    draw = np.random.default_rng(0)
    edges = {(u, v): draw.integers(-1, 2, (6, 6)) for u, v in ("IH", "HH", "HO")}
    return nm.build_network({"I": ((2, 3, 1), None), "H": (6, 1), "O": (6, 1)}, edges, name="small", outputs=["O"])


def small(chip="truenorth", **figures):
    from neuromap.hardware.chip.chip_file import with_figures

    return with_figures(nm.load_chip(chip), {"grid.cores": [4, 4], "core.axons": 32, "core.neurons": 32, **figures})


@cache
def program(execution="windowed"):
    chip = small(**{"time.delay": [1, 7]})
    return nm.map_rollout(nm.Rollout(network(), "streaming", execution=execution), chip=chip)


@cache
def list_program():
    from dataclasses import replace

    chip = replace(nm.load_chip("loihi1"), cores=(4, 4), neurons=16, name="small")
    return nm.map_rollout(nm.Rollout(network(), "streaming"), chip=chip)


@cache
def graded_program():
    from dataclasses import replace

    from neuromap.network import GradedNeuron, Pool, build_network

    chip = replace(nm.load_chip("loihi2"), cores=(4, 4), neurons=24, name="small")
    nodes = {
        "I": ((2, 2, 2), GradedNeuron(-128, 127)),
        "H": ((4, 4, 2), GradedNeuron(0, 255, np.array([3, 5]), 4, np.array([700, -4]))),
        "P": ((2, 2, 2), GradedNeuron(-5, 255, maximum=1)),
    }
    weights = np.random.default_rng(0).integers(-200, 200, (32, 8))
    edges = {("I", "H"): weights, ("H", "P"): Pool((4, 4, 2), (2, 2, 2), (2, 2))}
    return nm.map_rollout(nm.Rollout(build_network(nodes, edges), "sequential"), chip=chip)


@cache
def frames():
    return nm.random_frames(network(), n_frames=4, seed=1)


def recorded(mapped=None, **more):
    from neuromap.simulation import Recording, simulate

    mapped, how = mapped or program(), {"engine": "numpy", **more}
    fed = frames() if mapped.value_ranges is None else nm.random_frames(mapped, n_frames=4, seed=1)
    return simulate(mapped, fed, record=Recording("all", "outputs", counts=True), **how)


def saved(value, folder, name):
    value.save(folder / name)
    return (folder / name).read_bytes()


def text_of(path):
    """As a word of the command line: bytes that are no UTF-8 are kept in half characters."""
    return path.read_bytes().replace(b"\x00", b"").decode("utf-8", "surrogateescape")


def limit_memory():
    """Let this process take 1 GiB more than it has."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    bound = pages * resource.getpagesize() + 2**30
    resource.setrlimit(resource.RLIMIT_AS, (bound, resource.getrlimit(resource.RLIMIT_AS)[1]))

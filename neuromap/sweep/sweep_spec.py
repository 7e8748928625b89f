"""``SweepSpec``: a sweep over networks, patterns, executions, chips and seeds, with its runs, keys and jobs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import sha256
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal, NamedTuple

from neuromap.arrays.frozen import ReadOnly
from neuromap.errors import InputError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import show
from neuromap.files.toml_table import TomlTable, read_toml
from neuromap.hardware.chip.chip_file import is_chip_path, load_chip, with_figures
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.jobs.results_file import Fingerprint, fingerprint_of_chip
from neuromap.mapping.options.options import SEEDS, MappingOptions
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern, pattern_of_text
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.simulation.choose_frames import DEFAULT_FRAMES
from neuromap.simulation.engine.engine_choice import ENGINES
from neuromap.version import __version__

RunStatus = Literal["mapped", "invalid", "does not fit", "failed", "lost"]
AskedBy = Literal["sweep", "explore"]


class RunJob(NamedTuple):
    """Runs of a spec that share a program and differ only in the seed."""

    # pattern, chip: numbers in the spec
    pattern: int
    execution: str  # the time axis
    chip: int
    seeds: tuple[int, ...]  # one per run


@dataclass(frozen=True)
class SweepRun(Card):
    """One run of a sweep, or a row measured by an exploration, as identified by its row."""

    # digest of everything the row depends on, 64 hexadecimal digits: network, pattern, execution, chip, frames,
    # density, both seeds, options of the mapper and version of neuromap. Runs with equal keys share a row. In an
    # exploration, patterns with the same schedule share a key, and the first of them names the row
    key: str
    # network, network_digest: name, and digest of everything it computes
    network: str
    network_digest: str
    # pattern, execution: name of the pattern; the time axis
    pattern: str
    execution: str
    chip: str  # name of the chip whose figures were set; in an exploration, of the chip with its figures
    chip_figures: str  # figures that were set, as a JSON object
    seed: int | None  # seed of the random frames; ``None`` if frames were given
    n_frames: int  # number of frames, including frame 0
    density: float | None  # probability of a 1 in them; ``None`` if every frame draws its own
    mapping: str  # non-default options of the mapper, as a JSON object
    neuromap: str = __version__  # version
    n_stimuli: int = 1  # stimuli over which energy is averaged, with consecutive seeds
    asked_by: AskedBy = "sweep"  # the command that measured it


@dataclass(frozen=True)
class RunOutcome(ReadOnly, Card):
    """Outcome of a run."""

    # ``"lost"`` if the processes that did it died, so that the next command repeats it; all others are final
    status: RunStatus
    stage: str = ""  # stage at which it failed; empty if it did not
    exit_code: int = 0  # exit code that the command line would have for this run alone
    message: str = ""  # the reason, in one line; empty if there is none
    # known figures, by the keys of :data:`neuromap.sweep.run_store.RUN_FIGURES`
    figures: Mapping[str, float | bool] = field(default_factory=dict)


def runs_of(spec: SweepSpec) -> Iterator[tuple[RunJob, tuple[SweepRun, ...]]]:
    """Iterate over all runs of a spec: networks outermost, then patterns, executions, chips; seeds change first."""
    networks = {id(network): network_digest(network) for network in spec.networks}
    chips = [(fingerprint_of_chip(chip.chip), json.dumps(dict(chip.figures))) for chip in spec.chips]
    told = told_options(spec.options)
    for p, pattern in enumerate(spec.patterns):
        digest = networks[id(pattern.network)]
        for execution in spec.executions:
            for c, (chip, figures) in enumerate(chips):
                shared = (digest, pattern.values, execution, chip, spec.n_frames, spec.density, told, spec.noise_seed)
                runs = (
                    SweepRun(
                        key=sha256(repr(("neuromap run 1", __version__, *shared, seed)).encode()).hexdigest(),
                        network=pattern.network.name,
                        network_digest=digest,
                        pattern=pattern.name,
                        execution=execution,
                        chip=spec.chips[c].base,
                        chip_figures=figures,
                        seed=seed,
                        n_frames=spec.n_frames,
                        density=spec.density,
                        mapping=told,
                    )
                    for seed in spec.seeds
                )
                yield RunJob(p, execution, c, spec.seeds), tuple(runs)


def network_digest(network: Network) -> str:
    """Return a digest of a network's name and everything it computes, as 64 hexadecimal digits."""
    fingerprint = Fingerprint(f"network {network.name}")
    fingerprint.add_network(network)
    return fingerprint.text()


def told_options(options: MappingOptions) -> str:
    """Return the non-default options of the mapper, as a JSON object."""
    default = MappingOptions()
    return json.dumps(
        {f.name: v for f in fields(options) if (v := getattr(options, f.name)) != getattr(default, f.name)}
    )


# ``SweepSpec``: the specification of a sweep, read and checked.


@dataclass(frozen=True, eq=False)
class SetChip(ReadOnly, Card):
    """A chip of a sweep, and the figures set to make it."""

    base: str  # name of the chip whose figures were changed
    figures: Mapping[str, Any]  # figures set, named as in chip files
    chip: ChipSpec  # the resulting chip


@dataclass(frozen=True, eq=False)
class SweepSpec(Card):
    """Networks, patterns, executions, chips and seeds; every combination is a run.

    Attributes
    ----------
    name : str
        Name of the spec file, without its suffix.
    patterns : tuple of RolloutPattern
        All patterns, network by network, valid or not.
    executions : tuple of str
        Time axes, such as ``"windowed"``.
    chips : tuple of SetChip
        Chips outermost, the values of the last figure change first.
    seeds : tuple of int
        Seeds of the random frames.
    n_frames : int
        Number of random frames of every run, including frame 0.
    density : float or None
        Probability of a 1 in them; ``None`` if every frame draws its own.
    options : MappingOptions
        Options of mapping, for all runs.
    engine : str
        Engine that runs the ticks, on one thread; the results do not depend on it.
    noise_seed : int
        Seed of the neurons' stochastic modes.
    title : str
        One line for people.
    """

    name: str
    patterns: tuple[RolloutPattern, ...]
    executions: tuple[str, ...]
    chips: tuple[SetChip, ...]
    seeds: tuple[int, ...]
    n_frames: int
    density: float | None
    options: MappingOptions
    engine: str = "fast"
    noise_seed: int = 0
    title: str = ""

    @property
    def networks(self) -> tuple[Network, ...]:
        """Distinct networks."""
        return tuple({id(pattern.network): pattern.network for pattern in self.patterns}.values())

    @property
    def n_runs(self) -> int:
        """Number of combinations; if some are equal, there are fewer runs."""
        return len(self.patterns) * len(self.executions) * len(self.chips) * len(self.seeds)

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "networks": ", ".join(network.name for network in self.networks),
            "patterns": len(self.patterns),
            "executions": ", ".join(self.executions),
            "chips": len(self.chips),
            "seeds": len(self.seeds),
            "runs": self.n_runs,
        }


# Most runs of one spec: beyond it, reading the table takes too long.
MOST_RUNS = 1_000_000

_MOST_BYTES = 2**20
_MOST_FRAMES = 100_000
_NAMES = ("networks", "patterns", "executions", "chips", "set", "seeds")
_KEYS = ("format", "title", *_NAMES, "stimulus", "mapping", "simulation")
# Pins and activity belong to one network and chip; results under a time limit depend on the machine, which rows must
# not.
_MAPPING_KEYS = tuple(f.name for f in fields(MappingOptions) if f.name not in ("pins", "activity", "seconds"))


def load_sweep(path: str | Path) -> SweepSpec:
    """Read the spec of a sweep, with its networks and chips.

    Parameters
    ----------
    path : str or Path
        The file; networks and chip files are named relative to its folder.

    Returns
    -------
    SweepSpec
        Every combination can be tried; its row tells whether it is valid and fits.

    Raises
    ------
    InputError
        If the file is missing or wrong, a network, pattern, execution, chip or figure does not exist, or there are more
        than a million runs; in one line that begins with the file.
    NotSupportedError
        If neuromap does not map to one of the chips.
    """
    path = path_given("load_sweep", path)
    try:
        return _read(path.stem, read_toml(path, "sweep file", _MOST_BYTES, InputError), path.parent)
    except InputError as error:
        raise type(error)(f"{path}: {error}") from None


def _read(name: str, values: dict[str, Any], folder: Path) -> SweepSpec:
    top = TomlTable(values, "", InputError)
    top.check_format(1, "sweep file")
    top.allow(_KEYS)
    stimulus = top.table("stimulus", ("frames", "density"))
    simulation = top.table("simulation", ("engine", "noise_seed"))
    executions = _names(top, "executions", ("windowed",))
    for execution in executions:
        chosen_period(execution)
    seeds = _seeds(top)
    figures = _figures(top.table("set"))
    names = _names(top, "patterns", ("streaming",))
    files, chips = _names(top, "networks"), _names(top, "chips", ("truenorth",))
    count = prod(map(len, (files, names, executions, chips, seeds, *figures.values())))
    if count > MOST_RUNS:
        raise InputError(f"makes {count} runs; at most {MOST_RUNS} are allowed, so give fewer values, or several files")
    return SweepSpec(
        name=name,
        patterns=tuple(pattern_of_text(network, text) for network in _networks(files, folder, top) for text in names),
        executions=executions,
        chips=tuple(_chips(chips, figures, folder)),
        seeds=seeds,
        n_frames=stimulus.integer("frames", 2, _MOST_FRAMES) if "frames" in stimulus else DEFAULT_FRAMES,
        density=stimulus.number("density", 0, 1) if "density" in stimulus else None,
        options=_options(top.table("mapping", _MAPPING_KEYS)),
        engine=simulation.text("engine", tuple(ENGINES)) if "engine" in simulation else next(iter(ENGINES)),
        noise_seed=simulation.integer("noise_seed", 0, 2**63 - 1) if "noise_seed" in simulation else 0,
        title=top.text("title") if "title" in top else "",
    )


def _names(top: TomlTable, key: str, default: Sequence[str] = ()) -> tuple[str, ...]:
    """Read a list of names, dropping repetitions; if absent, return the default, if there is one."""
    if key not in top and default:
        return tuple(default)
    found = top.texts(key) if key in top else []
    if not found or not all(text.strip() for text in found):
        raise top.wrong(key, "is a list of names, one or more")
    return tuple(dict.fromkeys(found))


def _seeds(top: TomlTable) -> tuple[int, ...]:
    """Read a list of seeds, or a table of the first seed and their number."""
    if "seeds" not in top:
        return (0,)
    if isinstance(top.values["seeds"], dict):
        table = top.table("seeds", ("first", "count"))
        first = table.integer("first", 0, SEEDS - MOST_RUNS) if "first" in table else 0
        return tuple(range(first, first + table.integer("count", 1, MOST_RUNS)))
    allowed = (
        f"are whole numbers from 0, below 2**{SEEDS.bit_length() - 1}, or a table such as {{first = 0, count = 20}}"
    )
    found = top.integers("seeds", allowed)
    if not found or not all(0 <= seed < SEEDS for seed in found):
        raise top.wrong("seeds", allowed)
    return tuple(dict.fromkeys(found))


def _figures(table: TomlTable) -> dict[str, list[Any]]:
    """Read the values of every figure; ``[set] core.axons = [...]`` is a nested table, as TOML reads dots."""
    found: dict[str, list[Any]] = {}
    for name, value in _with_dots("", table.values):
        if not isinstance(value, list) or not value:
            raise InputError(f"set.{name}: found {show(value)}; allowed is a list of its values, one or more")
        found[name] = list({repr(v): v for v in value}.values())
    return found


def _with_dots(path: str, values: Any) -> Iterable[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _with_dots(f"{path}{key}.", value)
        else:
            yield f"{path}{key}", value


def _networks(files: Sequence[str], folder: Path, top: TomlTable) -> list[Network]:
    networks: dict[str, Network] = {}
    for file in files:
        network = load_network(folder / file)
        require_weights(network)
        if network.name in networks:
            raise top.wrong("networks", f"are networks with names of their own; {file} is called {network.name} again")
        networks[network.name] = network
    return list(networks.values())


def _chips(names: Sequence[str], figures: dict[str, list[Any]], folder: Path) -> Iterable[SetChip]:
    for name in names:
        chip = load_chip(folder / name if is_chip_path(name) else name)
        for values in product(*figures.values()):
            chosen = dict(zip(figures, values, strict=True))
            yield SetChip(chip.name, chosen, with_figures(chip, chosen))


def _options(table: TomlTable) -> MappingOptions:
    with prefixed("mapping: ", InputError):
        return MappingOptions(**dict(table.values))

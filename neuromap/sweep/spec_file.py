"""Read the spec of a sweep from its TOML file (``docs/sweeps.md``): all of it is checked before the first run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from neuromap.errors import InputError
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import show
from neuromap.files.toml_file import read_toml
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_file import is_chip_path, load_chip, with_figures
from neuromap.mapping.options.options import SEEDS, MappingOptions
from neuromap.network.build import require_weights
from neuromap.network.network import Network
from neuromap.network.network_file import load_network
from neuromap.rollout.pattern import pattern_of_text
from neuromap.rollout.schedule.execution import chosen_period
from neuromap.simulation.engine.engine_choice import ENGINES
from neuromap.simulation.frame_defaults import DEFAULT_FRAMES
from neuromap.sweep.sweep_spec import SetChip, SweepSpec

MOST_RUNS = 1_000_000
"""Runs of one spec: beyond it, reading the table takes longer than anybody looks at it."""

_MOST_BYTES = 2**20
_MOST_FRAMES = 100_000
_KEYS = (
    "format",
    "title",
    "networks",
    "patterns",
    "executions",
    "chips",
    "set",
    "seeds",
    "stimulus",
    "mapping",
    "simulation",
)
_MAPPING_KEYS = tuple(f.name for f in fields(MappingOptions) if f.name not in ("pins", "seconds"))
"""Pins are of one network and chip; what a time limit gives depends on the machine, and rows must not."""


def load_sweep(path: str | Path) -> SweepSpec:
    """Read the spec of a sweep, with its networks and chips.

    Parameters
    ----------
    path : str or Path
        The file; networks and chip files are named relative to its folder.

    Returns
    -------
    SweepSpec
        Every combination of it can be tried; whether it fits or is valid is for its row to say.

    Raises
    ------
    InputError
        If the file is missing or wrong, a network, pattern, execution, chip or figure does not exist, or the runs are
        more than a million; in one line that begins with the file.
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
    executions = _executions(top)
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
    """Take a list of names, each once; an absent one is the default, if there is any."""
    if key not in top and default:
        return tuple(default)
    found = top.texts(key) if key in top else []
    if not found or not all(text.strip() for text in found):
        raise top.wrong(key, "is a list of names, one or more")
    return tuple(dict.fromkeys(found))


def _executions(top: TomlTable) -> tuple[str, ...]:
    found = _names(top, "executions", ("windowed",))
    for execution in found:
        chosen_period(execution)
    return found


def _seeds(top: TomlTable) -> tuple[int, ...]:
    """Take seeds one by one, or a table of the first and how many there are."""
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
    """Take the values of every figure; ``[set] core.axons = [...]`` is a table within, as TOML reads dots."""
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
    try:
        return MappingOptions(**dict(table.values))
    except InputError as error:
        raise InputError(f"mapping: {error}") from None

"""Pins as a file: tile shapes, cores and regions per node, edges with splitters, cores of neurons (docs/mapping.md).

::

    format = 1
    splitters = ["H1 -> H2"]

    [tiles]
    H1 = [4, 4, 16]

    [cores]
    H2 = 5

    [regions]
    H1 = [0, 0, 7, 7]

    [neurons]
    file = "cores.npz"
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.errors import InputError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import did_you_mean, show_name
from neuromap.files.toml_table import TomlTable, read_toml
from neuromap.files.unpacked import read_npz
from neuromap.files.whole_file import write_whole
from neuromap.hardware.chip.chip_spec import ChipSpec, unusable
from neuromap.mapping.options.options import Pins
from neuromap.network.build import parse_edge
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network

MAX_FILE_BYTES = 1 << 20
MAX_TABLE_BYTES = 1 << 28
# Greatest number in a pins file; no node has more neurons, no board more cores.
MOST = 2**24


def load_pins(path: str | Path) -> Pins:
    """Read a file of pins.

    Parameters
    ----------
    path : str or Path
        TOML with ``format = 1``; ``splitters``, ``[tiles]``, ``[cores]``, ``[regions]`` and ``[neurons]`` are optional.

    Returns
    -------
    Pins
        Not yet checked against a network and a chip: see :func:`check_pins`.

    Raises
    ------
    InputError
        If the file cannot be read or breaks the format: one line with file, key and value.
    """
    path = path_given("load_pins", path)
    origin = show_name(str(path))
    with prefixed(f"{origin}: ", InputError):
        top = TomlTable(read_toml(Path(path), "pins file", MAX_FILE_BYTES, InputError), "", InputError)
        top.check_format(1, "pins file")
        top.allow(("format", "splitters", "tiles", "cores", "regions", "neurons"))
        tiles, cores, regions = (top.table(key) for key in ("tiles", "cores", "regions"))
        splitters = top.texts("splitters") if "splitters" in top else []
        return Pins(
            tiles={node: _shape(tiles, node) for node in tiles.values},
            cores={node: cores.integer(node, 1, MOST) for node in cores.values},
            regions={node: _corners(regions, node) for node in regions.values},
            splitters=frozenset(parse_edge(edge, f"splitters[{i}]") for i, edge in enumerate(splitters)),
            neurons=_tables(top.table("neurons"), path.parent),
        )


def _tables(table: TomlTable, folder: Path) -> dict[str, Any]:
    """Read the cores of neurons: a list per node, or the arrays of a file next to this one."""
    if table.values.keys() != {"file"} or not isinstance(table.values["file"], str):
        return {node: table.integers(node, "are whole numbers, one per neuron") for node in table.values}
    file = table.text("file")
    with prefixed(f"neurons.file: {show_name(file)}: ", InputError):
        return dict(
            read_npz(
                read_bytes(folder / file, "table of cores (.npz)", MAX_TABLE_BYTES, InputError),
                MAX_TABLE_BYTES,
                InputError,
            )
        )


def save_tables(path: str | Path, neurons: Mapping[str, ArrayLike]) -> None:
    """Write a pins file with the cores of neurons in an ``.npz`` file of the same name next to it.

    Parameters
    ----------
    path : str or Path
        The pins file.
    neurons : mapping of str to array_like of int, shape (size,)
        As in :class:`~neuromap.mapping.options.options.Pins`.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    beside, packed = path_given("save_tables", path).with_suffix(".npz"), io.BytesIO()
    np.savez_compressed(packed, allow_pickle=False, **{name: np.asarray(core) for name, core in neurons.items()})
    write_whole(beside, packed.getvalue())
    write_whole(path, f"format = 1\n\n[neurons]\nfile = {json.dumps(beside.name)}\n")


def _shape(table: TomlTable, node: str) -> tuple[int, int, int]:
    rows, columns, features = _integers(table, node, "rows, columns, features", 3, 1)
    return rows, columns, features


def _corners(table: TomlTable, node: str) -> tuple[int, int, int, int]:
    x0, y0, x1, y1 = _integers(table, node, "x0, y0, x1, y1", 4, 0)
    return x0, y0, x1, y1


def _integers(table: TomlTable, key: str, names: str, count: int, least: int) -> list[int]:
    allowed = f"are {count} integers [{names}], each from {least} to {MOST}"
    found = table.integers(key, allowed)
    if len(found) != count or not all(least <= n <= MOST for n in found):
        raise table.wrong(key, allowed)
    return found


def check_pins(pins: Pins, network: Network, chip: ChipSpec) -> None:
    """Check pins against a network and a chip."""
    for table in ("tiles", "cores", "regions", "neurons"):
        for node in getattr(pins, table):
            _check_node(node, table, network)
    for node, tile in pins.tiles.items():
        shape = network.nodes[node].shape
        if len(tile) != 3 or min(tile) < 1:
            raise InputError(f"pins: tiles.{node}: found {list(tile)}; allowed are three integers from 1")
        if shape is not None and any(t > n for t, n in zip(tile, shape, strict=True)):
            raise InputError(
                f"pins: tiles.{node}: found {list(tile)}; allowed are tiles of up to {list(shape)}, the node's shape"
            )
    for node, cores in pins.cores.items():
        size = network.nodes[node].size
        if not 1 <= cores <= size:
            raise InputError(f"pins: cores.{node}: found {cores}; allowed are 1 to {size}, the neurons of the node")
    for node, of_neuron in pins.neurons.items():
        if node in pins.cores:
            raise InputError(f"pins: {node}: has both cores.{node} and neurons.{node}, which says all; leave one out")
        _check_table(node, np.asarray(of_neuron), network, chip)
    for node, region in pins.regions.items():
        _check_region(node, region, chip)
    for edge in sorted(pins.splitters):
        _check_edge(edge, network)


def _check_node(node: str, table: str, network: Network) -> None:
    on_chip = [n for n in network.nodes if n not in network.inputs]
    if node not in on_chip:
        why = "is an input, whose spikes the host delivers" if node in network.nodes else "is unknown"
        raise InputError(f"pins: {table}.{node}: {why}; allowed are {', '.join(on_chip)}" + did_you_mean(node, on_chip))


def _check_table(node: str, core: NDArray[np.int64], network: Network, chip: ChipSpec) -> None:
    where, size, last = f"pins: neurons.{node}", network.nodes[node].size, chip.n_cores - 1
    if len(core) != size:
        raise InputError(f"{where}: holds {len(core)} numbers; the node has {size} neurons, give one for each")
    if size and not 0 <= core.min() <= core.max() <= last:
        wrong = int(core.min() if core.min() < 0 else core.max())
        raise InputError(
            f"{where}: neuron {int(np.argmax(core == wrong))} is in core {wrong}; {chip.name} has 0 to {last}"
        )
    is_dead = unusable(chip).ravel()
    if is_dead[core].any():
        first = int(np.argmax(is_dead[core]))
        y, x = divmod(int(core[first]), chip.columns)
        near = int(np.argmin(np.where(is_dead, np.inf, np.abs(np.arange(chip.n_cores) - core[first]))))
        raise InputError(
            f"{where}: neuron {first} is in core {core[first]}, which is dead: the defects of {chip.name} have "
            f"[{x}, {y}]; pin it to a core that works, such as {near}"
        )


def _check_region(node: str, region: tuple[int, int, int, int], chip: ChipSpec) -> None:
    fits = len(region) == 4 and 0 <= region[0] <= region[2] < chip.columns and 0 <= region[1] <= region[3] < chip.rows
    if not fits:
        raise InputError(
            f"pins: regions.{node}: found {list(region)}; allowed are corners [x0, y0, x1, y1] on {chip.name}, "
            f"x0 <= x1 from 0 to {chip.columns - 1} and y0 <= y1 from 0 to {chip.rows - 1}"
        )
    x0, y0, x1, y1 = region
    if unusable(chip)[y0 : y1 + 1, x0 : x1 + 1].all():
        raise InputError(
            f"pins: regions.{node}: all cores of {list(region)} are dead by the defects of {chip.name}, the first at "
            f"[{x0}, {y0}]; choose a region with cores that work"
        )


def _check_edge(edge: EdgeKey, network: Network) -> None:
    allowed = [f"{u} -> {v}" for u, v in network.edges if u not in network.inputs]
    label = f"{edge[0]} -> {edge[1]}"
    if label not in allowed:
        why = "starts in an input, whose spikes the host delivers" if edge in network.edges else "is not an edge"
        listed = f"allowed are {', '.join(allowed)}" if allowed else "no edge lies between nodes on the chip"
        raise InputError(f"pins: splitters {label}: {why}; {listed}" + did_you_mean(label, allowed))

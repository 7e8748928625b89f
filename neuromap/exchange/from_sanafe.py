"""Import of SANA-FE's networks of ``leaky_integrate_fire`` neurons: the same integers, spike for spike.

The soma keeps a potential in multiples of 1/64. In every step it multiplies the potential by ``leak_decay`` and cuts it
to such a multiple, adds the bias and the input of the previous step, and spikes above the threshold. That is our neuron
with current and voltage in units of 1/64; if nothing leaks and all values are whole, in its own units, 6 bits narrower.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from neuromap.arrays.array_types import Floats, Ints
from neuromap.errors import InputError, NotSupportedError
from neuromap.exchange.imported import Imported, Note
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import counted, show_name
from neuromap.formats.sanafe.read_network import (
    IGNORED,
    MOST_WEIGHTS,
    Connection,
    Group,
    SanafeNetwork,
    number,
    read_sanafe,
)
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import NO_FLOOR, CurrentNeuron
from neuromap.network.transforms import Conv, Dense, Shape
from neuromap.network.weights import StoredWeights
from neuromap.registry import require_package

# Steps of a potential per unit.
STEPS = 64
_DEFAULTS = {
    "threshold": 0.0, "reset": 0.0, "leak_decay": 1.0, "input_decay": 0.0, "bias": 0.0, "potential": 0.0,
    "refractory_delay": 0.0, "reverse_threshold": 0.0, "reverse_reset": 0.0,
}  # fmt: skip
# Supported modes, the default first.
_MODES = {"reset_mode": ("hard", "soft"), "reverse_reset_mode": ("none", "saturate")}
# Attributes of neurons whose spikes come from outside.
_FED = ("spikes", "rate", "poisson")


def from_sanafe(path: str | Path, *, chip: str | Path | ChipSpec | None = None) -> Imported:
    """Import a SANA-FE network file with the places of its neurons. Needs the extra ``sanafe``.

    Parameters
    ----------
    path : str or Path
        YAML; nothing in it is executed.
    chip : str, Path, ChipSpec or None
        Chip on whose tiles the file's ``mappings`` put the neurons; ``loihi1`` by default.

    Returns
    -------
    Imported
        ``cores`` holds the core of every neuron of the groups that the file maps as a whole.

    Raises
    ------
    InputError
        If the file is too large, malformed or not a SANA-FE network.
    NotSupportedError
        If PyYAML is not installed, or a neuron or edge computes what ours do not.
    """
    path = path_given("from_sanafe", path)
    require_package("SANA-FE", "yaml", "sanafe", "pyyaml")
    spec = load_chip("loihi1" if chip is None else chip)
    found = read_sanafe(path)
    try:
        with foreign_boundary("a network of SANA-FE"):
            return _taken(found, spec, path)
    except (InputError, NotSupportedError) as error:
        raise type(error)(f"{show_name(str(path))}: {error}") from None


class _Layout(NamedTuple):
    """Shape of a node, and the SANA-FE neuron that each of its neurons is."""

    shape: tuple[int, int, int]
    order: Ints  # (size,)


def _taken(found: SanafeNetwork, chip: ChipSpec, path: Path) -> Imported:
    shapes: dict[str, set[Shape]] = {group.name: set() for group in found.groups}
    for edge in found.edges:
        if edge.kind == "conv2d":
            for name, shape in zip((edge.source, edge.target), _ends(edge), strict=True):
                shapes[name].add(shape)
    layouts = {group.name: _layout(group, shapes[group.name]) for group in found.groups}
    somas = {group.name: _Somas(group) for group in found.groups if not _is_fed(group)}
    weights = [edge.weight for edge in found.edges]
    own = all(s.is_whole for s in somas.values()) and all((w == np.rint(w)).all() for w in weights)
    unit = 1 if own else STEPS
    narrower = STEPS.bit_length() - 1 if own else 0
    neurons = {name: soma.neuron(unit, chip, narrower, layouts[name]) for name, soma in somas.items()}
    nodes = {name: Node(name, layout.shape, neuron=neurons.get(name)) for name, layout in layouts.items()}
    edges = _edges(found.edges, layouts, unit)
    used = {name for key in edges for name in key}
    unused = [name for name in nodes if name not in used]
    nodes = {name: node for name, node in nodes.items() if name not in unused}
    network = Network(found.name or path.stem, nodes, edges)
    rails = _rails([node for name, node in nodes.items() if name in somas], edges, unit)
    units = "its own units" if own else f"units of 1/{STEPS}"
    size = sum(node.size for node in nodes.values())
    kept = [
        Note("neurons", f"{counted(size, 'neuron')} of {counted(len(nodes), 'group')}, in {units}"),
        Note("spikes", "each in its step, while no voltage or current leaves its width"),
        Note("edges", f"{counted(len(edges), 'edge')} with all weights; a spike adds in the step after it"),
        Note("steps", "step s of SANA-FE is frame s, which a program computes in tick s - 1"),
    ]
    turned = [name for name, layout in layouts.items() if (np.diff(layout.order) != 1).any() and name in nodes]
    if turned:
        kept.append(Note(", ".join(turned), "our neurons run (row, column, feature), SANA-FE's (feature, row, column)"))
    cores, lost = _cores(found, layouts, chip)
    cores = {name: table for name, table in cores.items() if name in nodes}
    if cores:
        text = f"the core of {counted(len(cores), 'group')} on {chip.name}; --pins FILE writes it"
        kept.append(Note("mappings", text))
    refused = [Note(name, "has no edge, so that it plays no part", "connect it") for name in unused]
    text = "its spikes come from outside; their trains are not part of a network"
    refused += [Note(name, text, "give frames to a run") for name in nodes if name not in somas]
    if lost:
        refused.append(Note(f"mappings of {', '.join(lost)}", f"lie beyond the tiles of {chip.name}, or are not whole"))
    approximated = [*(note for soma in somas.values() for note in soma.notes), *rails]
    notes = (tuple(kept), tuple(approximated), tuple(refused))
    return Imported(network, "sanafe", str(path), "SANA-FE", *notes, cores=cores)


def _rails(computed: list[Node], edges: dict[EdgeKey, Edge], unit: int) -> Iterator[Note]:
    """Say where voltages and currents end, which SANA-FE's do not, and in which groups a step's weights go beyond."""
    for k, node in enumerate(computed):
        assert isinstance(node.neuron, CurrentNeuron)
        voltage, current = ((1 << n - 1) / unit for n in (node.neuron.voltage_bits, node.neuron.current_bits))
        if k == 0:
            text = f"voltages stop at +-{voltage:g}, currents beyond +-{current:g} wrap around; SANA-FE's go on"
            yield Note("widths", text)
        matrices = [edge.matrix() for (_, target), edge in edges.items() if target == node.name]
        signs = (sum((sign * part).maximum(0).sum(axis=1) for part in matrices) for sign in (1, -1))
        most = max(np.max(part, initial=0) for part in signs) / unit
        if most >= current:
            yield Note(node.name, f"its weights may add up to {most:g} in a step, which is beyond")


def _is_fed(group: Group) -> bool:
    fed = [key for key in _FED if key in group.attributes]
    if fed and any(value is None for value in group.attributes[fed[0]]) and "threshold" in group.attributes:
        raise NotSupportedError(f"group {show_name(group.name)}: some of its neurons are inputs; give them a group")
    return bool(fed)


class _Somas:
    """The neurons of a group that compute, in SANA-FE's numbers."""

    def __init__(self, group: Group) -> None:
        self._name, self.notes = group.name, list[Note]()
        where = f"group {show_name(group.name)}"
        known = _DEFAULTS.keys() | _MODES.keys() | IGNORED
        if unknown := sorted(group.attributes.keys() - known):
            raise NotSupportedError(
                f"{where}: attribute {unknown[0]} is none of leaky_integrate_fire that is taken over; leave it out"
            )
        self._values = {
            key: np.array([default if v is None else number(v, f"{where}: {key}") for v in _of(group, key)], float)
            for key, default in _DEFAULTS.items()
        }
        self._modes = {key: self._mode(group, key, known, where) for key, known in _MODES.items()}
        self._require(where)

    def _mode(self, group: Group, key: str, known: tuple[str, ...], where: str) -> str:
        """Return the mode that all neurons of the group share."""
        found = sorted({known[0] if mode is None else str(mode) for mode in _of(group, key)}) or [known[0]]
        if wrong := [mode for mode in found if mode not in known]:
            raise NotSupportedError(f"{where}: {key} {wrong[0]} is not taken over; {' and '.join(known)} are")
        if len(found) > 1:
            raise NotSupportedError(f"{where}: its neurons differ in {key}; give those of each a group of their own")
        return found[0]

    def _require(self, where: str) -> None:
        v = self._values
        if (wrong := v["input_decay"][v["input_decay"] != 0]).size:
            raise NotSupportedError(f"{where}: input_decay = {wrong[0]:g} is not taken over; 0 is")
        for key in self._exact:
            if (wrong := v[key][v[key] * STEPS != np.rint(v[key] * STEPS)]).size:
                raise NotSupportedError(f"{where}: {key} = {wrong[0]:g} is not a multiple of 1/{STEPS}; round it")
        for key, most, allowed in (("threshold", np.inf, "0 or more"), ("leak_decay", 1.0, "0 to 1")):
            if (wrong := v[key][(v[key] < 0) | (v[key] > most)]).size:
                raise NotSupportedError(f"{where}: {key} = {wrong[0]:g} is not taken over; {allowed} is")
        if self._has_floor and (wrong := v["reverse_threshold"][v["reverse_threshold"] > 0]).size:
            raise NotSupportedError(f"{where}: reverse_threshold = {wrong[0]:g} saturates above 0; give 0 or less")
        if self._has_floor and (v["potential"] < v["reverse_threshold"]).any():
            raise NotSupportedError(f"{where}: starts below its reverse_threshold; give a potential that is not below")
        rests = (v["refractory_delay"] > 1) & (v["leak_decay"] != 1)
        if (rests & ((v["reset"] != 0) | (self._modes["reset_mode"] == "soft"))).any():
            raise NotSupportedError(f"{where}: its potential leaks while it rests; ours stays: leave one of these out")
        if ((v["leak_decay"] != 1) & (v["potential"] != 0)).any():
            raise NotSupportedError(
                f"{where}: starts at a potential that leaks; SANA-FE's first step does not: start at 0"
            )

    @property
    def _exact(self) -> tuple[str, ...]:
        """Values that enter the potential. A threshold that is only compared may lie between two steps."""
        taken_off = ("threshold",) if self._modes["reset_mode"] == "soft" else ()
        return ("bias", "potential", "reset", "reverse_threshold", *taken_off)

    @property
    def _has_floor(self) -> bool:
        return self._modes["reverse_reset_mode"] == "saturate"

    @property
    def is_whole(self) -> bool:
        """Whether nothing leaks and all values are whole, so that the neuron can have its own units."""
        v = self._values
        whole = all((v[key] == np.rint(v[key])).all() for key in self._exact)
        return whole and bool(((v["leak_decay"] == 1) | (v["leak_decay"] == 0)).all())

    def neuron(self, unit: int, chip: ChipSpec, narrower: int, layout: _Layout) -> CurrentNeuron:
        """Make our neuron, in steps of 1 / unit."""
        v, bits = self._values, chip.lists.decay_bits
        whole = 1 << bits
        kept = np.rint(v["leak_decay"] * whole)
        if (kept != v["leak_decay"] * whole).any():
            error = float(np.abs(kept / whole - v["leak_decay"]).max())
            near = ", ".join(f"{int(k)}/{whole}" for k in np.unique(kept)[:3])
            text = f"leak_decay is {near} as the chip's"
            self.notes.append(Note(self._name, text, error=error, unit="of the potential"))
        # SANA-FE counts a rest down in the step of the spike already
        values = {
            "threshold": np.floor(v["threshold"] * unit),
            "bias": v["bias"] * unit,
            "voltage": v["potential"] * unit,
            "reset": v["reset"] * unit * (self._modes["reset_mode"] == "hard"),
            "floor": -v["reverse_threshold"] * unit if self._has_floor else np.full_like(kept, NO_FLOOR),
            "voltage_decay": whole - kept,
            "refractory": np.maximum(v["refractory_delay"] - 1, 0),
        }
        where = f"group {show_name(self._name)}"
        integers: dict[str, Any] = {k: _integers(a, f"{where}: {k}")[layout.order] for k, a in values.items()}
        return CurrentNeuron(
            **integers,
            subtract=int(self._modes["reset_mode"] == "soft"),
            current_decay=np.array(whole),
            decay_bits=bits,
            current_bits=chip.lists.current_bits - narrower,
            voltage_bits=chip.potential_bits - narrower,
        )


def _of(group: Group, key: str) -> list[Any]:
    return group.attributes.get(key, [None] * group.size)


def _integers(values: Floats, where: str) -> Ints:
    if (wrong := values[(values != np.rint(values)) | (np.abs(values) >= 2**31)]).size:
        raise NotSupportedError(f"{where}: {wrong[0]:g} is not an integer of 32 bits; round it")
    return np.rint(values).astype(np.int64)


def _layout(group: Group, shapes: set[Shape]) -> _Layout:
    """Find the shape that the convolutions at a group agree on; without any, its neurons form a row."""
    if len(shapes) > 1:
        raise NotSupportedError(
            f"group {show_name(group.name)}: convolutions give it shapes {sorted(shapes)[0]} and {sorted(shapes)[1]}; "
            "it must have one"
        )
    rows, columns, features = shapes.pop() if shapes else (1, 1, group.size)
    if rows * columns * features != group.size:
        raise InputError(
            f"group {show_name(group.name)}: has {group.size} neurons; a convolution needs {rows * columns * features}"
        )
    order = np.arange(group.size).reshape(features, rows, columns).transpose(1, 2, 0).ravel()
    return _Layout((rows, columns, features), order)


def _ends(edge: Connection) -> tuple[Shape, Shape]:
    c = edge.conv
    rows = (c["input_height"] - c["kernel_height"]) // c["stride_height"] + 1
    columns = (c["input_width"] - c["kernel_width"]) // c["stride_width"] + 1
    if rows < 1 or columns < 1:
        raise InputError(f"{edge.label}: its kernel is larger than its input; make it as large or smaller")
    return (c["input_height"], c["input_width"], c["input_channels"]), (rows, columns, c["kernel_count"])


def _edges(found: tuple[Connection, ...], layouts: dict[str, _Layout], unit: int) -> dict[EdgeKey, Edge]:
    """Make one edge per pair of groups; synapses of several connections add up."""
    by_pair: dict[EdgeKey, list[Connection]] = {}
    for edge in found:
        by_pair.setdefault((edge.source, edge.target), []).append(edge)
    edges: dict[EdgeKey, Edge] = {}
    entries = 0
    for (u, v), some in by_pair.items():
        source, target = layouts[u], layouts[v]
        if len(some) == 1 and some[0].kind == "conv2d":
            c = some[0].conv
            kernel, stride = (c["kernel_height"], c["kernel_width"]), (c["stride_height"], c["stride_width"])
            weight = _integers(some[0].weight * unit, some[0].label)
            weights = StoredWeights(weight.reshape(*kernel, c["input_channels"], c["kernel_count"]))
            edges[u, v] = Edge(u, v, Conv(source.shape, target.shape, kernel, stride, "valid", weights=weights))
            continue
        entries += len(target.order) * len(source.order)
        if entries > MOST_WEIGHTS:
            raise NotSupportedError(
                f"{some[0].label}: with it matrices have {entries} entries; at most {MOST_WEIGHTS} are taken over"
            )
        matrix = np.zeros((len(target.order), len(source.order)))
        for edge in some:
            if edge.kind == "conv2d":
                raise NotSupportedError(
                    f"{edge.label}: is a convolution beside other synapses; give it groups of its own"
                )
            if edge.kind == "dense":
                matrix += edge.weight.reshape(len(source.order), len(target.order)).T
            else:
                np.add.at(matrix, (edge.pairs[:, 1], edge.pairs[:, 0]), edge.weight)
        turned = matrix[target.order][:, source.order]
        weights = StoredWeights(_integers(turned.ravel() * unit, some[0].label).reshape(turned.shape))
        edges[u, v] = Edge(u, v, Dense(source.shape, target.shape, weights=weights))
    return edges


def _cores(found: SanafeNetwork, layouts: dict[str, _Layout], chip: ChipSpec) -> tuple[dict[str, Ints], list[str]]:
    """Assign neurons to cores of the chip: tiles, and cores of a tile, are numbered column by column."""
    across, along = chip.tile
    height = chip.rows // along
    cores, lost = {}, []
    for name, table in found.cores.items():
        tile, core = table[layouts[name].order].T
        x, y = tile // height * across + core // along, tile % height * along + core % along
        if table.min() < 0 or core.max() >= across * along or x.max() >= chip.columns:
            lost.append(name)
        else:
            cores[name] = y * chip.columns + x
    return cores, lost

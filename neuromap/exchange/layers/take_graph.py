"""Import of operator graphs as networks: with weights where possible, else structure, shapes and work."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from neuromap.datasets.tracks import PIXELS
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.layers.calibrate import Calibration, calibration_of, price, quantised
from neuromap.exchange.layers.compute import SpikeSums
from neuromap.exchange.layers.find_structure import Layer, Structure, find_structure, layer_shapes
from neuromap.exchange.layers.graded_nodes import TakenGraded
from neuromap.exchange.layers.take_graded import is_quantised, require_divisors, take_graded
from neuromap.exchange.layers.take_weights import TakenWeights, classes_of, edge_transform, take_weights
from neuromap.files.argument_checks import path_given
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import counted, show_name
from neuromap.formats.layers import Operator, OperatorGraph, simplified
from neuromap.formats.onnx.file_graph import read_onnx
from neuromap.formats.pytorch.module_graph import read_exported, read_module
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import GradedNeuron
from neuromap.network.transforms import Shape
from neuromap.network.weights import as_shape
from neuromap.registry import require_package

if TYPE_CHECKING:
    import torch


def take_graph(
    graph: OperatorGraph,
    format: str,
    source: str,
    chip: ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Convert a graph of operators to a network; a float graph is quantised if there is a calibration set."""
    if calibration is not None:
        shown = calibration_of(graph, calibration, labels, percentile)
        if is_quantised(graph):
            raise InputError(f"{show_name(source)}: is quantised already, by scales of its own; give no calibration")
        found = _calibrated(graph, shown)
    elif labels is not None or percentile is not None:
        raise InputError("labels and percentile belong to a calibration set; give calibration too")
    else:
        found = _as_it_is(graph, source, chip)
    notes = [_not_read(clause) for clause in graph.unread]
    approximated = (*(note for note in notes if note.about == "rounding"), *found.approximated)
    refused = (*(note for note in notes if note.about != "rounding"), *found.refused)
    return replace(
        found, format=format, source=source, producer=graph.producer, approximated=approximated, refused=refused
    )


def _as_it_is(whole: OperatorGraph, source: str, chip: ChipSpec | None) -> Imported:
    """Import what a graph computes, or else its structure; the caller fills in the source."""
    require_divisors(whole)
    graph = simplified(whole)
    structure = find_structure(graph)
    if not structure.layers or not structure.outputs or not structure.inputs:
        raise NotSupportedError(
            f"{show_name(source)}: no output depends on an input through any weights or functions, so there is no "
            "network to take over; export the model with its inputs"
        )
    try:
        if is_quantised(whole):
            return _graded(take_graded(whole, structure, node_text(graph.name)), structure)
        return _in_frame_code(take_weights(graph, structure, node_text(graph.name)), structure)
    except NotSupportedError as reason:
        return _structural(graph, structure, str(reason), chip)


def _calibrated(graph: OperatorGraph, shown: Calibration) -> Imported:
    """Quantise a float graph, and note the cost on the set that its scales are from."""
    integers = quantised(graph, shown)
    structure = find_structure(simplified(integers))
    taken = take_graded(integers, structure, node_text(graph.name))
    taken.differ.clear()  # rounding is this network's own: there is no other to differ from
    found = _graded(taken, structure)
    network = found.network
    if shown.seen is not None:
        (name,) = network.inputs
        graded = network.nodes[name].graded
        assert graded is not None
        network = replace(network, tables={**network.tables, "inputs": {name: _of_intensities(graded, shown.seen)}})
    if shown.labels is not None and len(network.outputs) == 1:
        classes = network.nodes[network.outputs[0]].size  # the float network has an output for each
        network = replace(network, tables={**network.tables, "training": {"classes": classes}})
    return replace(found, network=network, approximated=(*price(integers, shown), *found.approximated))


def _of_intensities(neuron: GradedNeuron, seen: tuple[float, float]) -> dict[str, Any]:
    """Table that maps intensities of images, 0 to 1, to values, as the float network saw them."""
    (low, high), scale = seen, 1.0 if neuron.scale is None else neuron.scale
    step = min(1.0, scale / (high - low))
    told = {"seen": [low, high]} if seen != PIXELS else {}
    return {**told, "step": [step], **({"mean": [-low / (high - low)]} if low else {})}


def _graded(taken: TakenGraded, structure: Structure) -> Imported:
    """Return a graded network, with notes on what it computes and where it differs from the source."""
    network = taken.network
    computed = len(network.nodes) - len(network.inputs)
    text = f"{counted(computed, 'graded node')}, with the source's integers, counted from zero points"
    kept = [Note("integers", text)]
    for name in network.inputs:
        neuron = network.nodes[name].graded
        assert neuron is not None
        scale = "" if neuron.scale is None else f", of {neuron.scale:g} each"
        text = f"reads integers {neuron.low} to {neuron.high}{scale}; {taken.inputs[name]} is what the host quantises"
        kept.append(Note(name, text))
    for tensor, (name, _, unit) in taken.reals.items():
        one_unit = bool((unit == unit[0]).all())
        each = f"{unit[0]:g}" if one_unit else "a unit of their feature's own"
        text = f"is the sums of {name}, in units of {each}"
        kept.append(Note(f"output {tensor}", text + ("" if one_unit else "; the host scales them before it compares")))
    text = "rounds otherwise than the source where no multiplier and shift do"
    approximated = [Note(name, text, error=float(n), unit=what) for name, (n, what) in taken.differ.items()]
    text = "units of what it adds up are not small multiples of each other; its sum is off"
    approximated += [Note(name, text, error=off, unit="values") for name, off in taken.off.items()]
    text = "wider than 8 bits, so that all sums are exact"
    kept += [Note(edge, f"has weights of up to {greatest}, {text}") for edge, greatest in taken.wide.items()]
    way = "compute it from the values of the last node"
    refused = [Note(f"output {tensor}", f"is left to the host: {why}", way) for tensor, why in taken.opaque.items()]
    return _taken(network, structure, kept, approximated, refused)


def _taken(
    network: Network, structure: Structure, kept: Iterable[Note], approximated: Iterable[Note], refused: Iterable[Note]
) -> Imported:
    """Return a network that computes what the graph does, with the work of its nodes."""
    work, told = _work(structure, network), (*refused, *_unread(structure))
    network = replace(network, tables={"work": work} if work else {})
    return Imported(network, "", "", kept=tuple(kept), approximated=tuple(approximated), refused=told, work=work)


def _work(structure: Structure, network: Network) -> dict[str, int]:
    """Multiply-accumulates of nodes; empty unless those of all are known."""
    works = {layer.name: layer.work for layer in structure.layers if layer.name in network.nodes}
    return {} if None in works.values() else {name: work or 0 for name, work in works.items()}


def _not_read(clause: str) -> Note:
    """Note what the reader of a file left out or rejected."""
    what, _, text = clause.partition(": ")
    if what == "shapes":
        return Note(what, text, "compare them with those of the source, and export it again")
    if what == "rounding":
        return Note(what, text, "export the model in float32")
    return Note("operators", clause, "write the model with operators of ONNX or ATen, or take the node as it is")


def _unread(structure: Structure) -> list[Note]:
    return [Note(name, "is an input that nothing reads", "leave it out of the model") for name in structure.left_out]


def _structural(graph: OperatorGraph, structure: Structure, reason: str, chip: ChipSpec | None) -> Imported:
    """Return nodes and edges with their shapes and work, and note why that is all."""
    shapes, open_shapes = _fitting_shapes(layer_shapes(graph, structure))
    edges: dict[tuple[str, str], Edge] = {}
    for layer in structure.layers:
        for name, ways in layer.ways.items():
            before, after = shapes[name], shapes[layer.name]
            transform = None
            if before is not None and after is not None:
                transform = edge_transform(ways, before, after, layer.operators[-1])
            edges[name, layer.name] = Edge(name, layer.name, transform)
    nodes = {name: Node(name, shape) for name, shape in shapes.items()}
    network = Network(name=node_text(graph.name), nodes=nodes, edges=edges, outputs=structure.outputs)
    work = _work(structure, network)
    kept, approximated, refused = structure_notes(graph, structure, reason)
    if chip is not None:
        approximated = (*approximated, estimate_note(structure, shapes, chip))
    network = replace(network, tables={"work": work} if any(work.values()) else {})
    known = {layer.name: layer.work for layer in structure.layers if layer.work is not None}
    told = (*refused, *open_shapes)
    return Imported(network, "", "", kept=kept, approximated=approximated, refused=told, work=known)


def node_text(name: str) -> str:
    """Make a network's name from the source's own."""
    return name if name and name.isprintable() and len(name) <= 100 else "network"


def _fitting_shapes(shapes: Mapping[str, Shape | None]) -> tuple[dict[str, Shape | None], tuple[Note, ...]]:
    """Return all shapes that are known and within the limits of nodes, with notes on the others."""
    found: dict[str, Shape | None] = {}
    notes = []
    for name, shape in shapes.items():
        try:
            found[name] = None if shape is None else as_shape(shape)
        except NetworkError as error:
            found[name] = None
            notes.append(Note(name, str(error), "export it for smaller inputs"))
    if open_ones := [name for name, shape in shapes.items() if shape is None]:
        some = f"{counted(len(open_ones), 'node')} of {len(shapes)}"
        text = f"{some} whose shape the file leaves open; all others keep it"
        notes.append(Note(_some(open_ones), text, "give the source's inputs fixed sizes, and export it again"))
    return found, tuple(notes)


def _in_frame_code(taken: TakenWeights, structure: Structure) -> Imported:
    """Return a network with weights and thresholds, with notes on what was kept, approximated and refused."""
    network = taken.network
    text = (
        f"{counted(len(network.nodes) - len(network.inputs), 'node')} in frame code; a neuron spikes iff its sum is at "
        "least its threshold, the least sum at which the source gives its greater value"
    )
    kept = [
        Note("weights and thresholds", text),
        Note(", ".join(network.inputs), "reads frames of 0 and 1, as the source does"),
    ]
    for name, (low, high) in taken.values.items():
        if (low, high) != (0.0, 1.0):
            text = f"silence stands for {low:g} and a spike for {high:g}; weights of its readers hold that"
            kept.append(Note(name, text))
    readouts = [_readout(end, found, taken) for end, found in taken.readout.items()]
    kept += [note for note in readouts if note is not None and not note.remedy]
    refused = [note for note in readouts if note is not None and note.remedy]
    text = "float weights are integers times a unit but for rounding"
    approximated = [Note(name, text, error=error, unit="of a unit") for name, error in taken.rounded.items()]
    for name, number in taken.unsure.items():
        text = (
            f"{counted(number, 'neuron')} of {network.nodes[name].size} lie so near a tie that the order of rounding "
            "in the source decides"
        )
        approximated.append(Note(name, text, error=float(number), unit="neurons"))
    return _taken(network, structure, kept, approximated, refused)


def _readout(end: str, found: SpikeSums | None, taken: TakenWeights) -> Note | None:
    """Note what the host does with output spikes, with a remedy where that is left to it; ``None`` for nothing."""
    outputs = ", ".join(taken.network.outputs)
    if found is not None and len(found.weights) == 1:
        (name,) = found.weights
        size = taken.network.nodes[name].size
        classes = classes_of(found, size)
        if classes is not None and found.size == size:
            return None  # the spikes themselves
        if classes is not None and (np.diff(classes) >= 0).all():
            text = (
                f"counts the spikes of {name}, {size // found.size} of {size} for each of {found.size} classes, "
                "in order of classes; this is the decision rule of neuromap accuracy"
            )
            return Note(f"readout {end}", text)
    text = f"is not taken over: it makes numbers of the spikes of {outputs}, where the network ends"
    return Note(f"readout {end}", text, "compute it on the host, or end in groups of neurons that vote for classes")


# What became of the operators of a graph imported as structure.
_NODES = ["conv", "conv_transpose", "dense", "product", "multiply", "max_pool", "add", "other"]
_PRODUCTS = ("product", "multiply")


def structure_notes(graph: OperatorGraph, structure: Structure, reason: str) -> tuple[tuple[Note, ...], ...]:
    """Note what was kept, approximated and refused."""
    joined = [one for layer in structure.layers for one in layer.operators]
    edges = [(f"{source} -> {layer.name}", found) for layer in structure.layers for source, found in layer.ways.items()]
    folded = {id(one): one for _, found in edges for way in found for one in way.folds}
    starts, ends = ([one for one in joined if (one.kind in _NODES) == is_node] for is_node in (True, False))
    functions = [one for one in folded.values() if one.kind == "function"]
    moves = [one for one in folded.values() if one.kind not in ("function", "average")]
    means = [one for one in folded.values() if one.kind == "average"]
    kept = [Note("nodes", f"{counted(len(structure.layers), 'node')} that sum or decide, of {_counted(starts)}")]
    for about, operators, text in (
        ("in nodes", ends, "end in the node whose value they take"),
        ("on edges", moves, "are not nodes, edges read through them"),
        ("on edges", means, "are linear, edges carry them"),
    ):
        kept += [Note(about, f"{_counted(operators)}: {text}")] if operators else []
    approximated = []
    if functions:
        text = f"{_counted(functions)}: stand before what reads them, where others read the same value without"
        approximated.append(Note("functions on edges", text))
    products = [layer.name for layer in structure.layers if any(one.kind in _PRODUCTS for one in layer.operators)]
    if products:
        text = "that multiply what they read: no sums, patterns and times take them as they are"
        approximated.append(Note(_some(products), f"{counted(len(products), 'node')} {text}"))
    several = [edge for edge, found in edges if len(found) > 1]
    if several:
        text = "that stand for several ways between the same nodes: a pattern takes them together"
        approximated.append(Note(_some(several), f"{counted(len(several), 'edge')} {text}"))
    what, way = "no graded network", "mend that in the source, and quantise it again"
    if not is_quantised(graph):
        what = "not in frame code"
        way = "quantise it by images (--calibrate SOURCE; in Python calibration=), or train the structure for a chip "
        way += "(neuromap train NET --for CHIP --data SOURCE)"
    text = f"are not taken over, as this is {what}: {reason}; patterns, times and work hold, nothing is mapped"
    return tuple(kept), tuple(approximated), (*_unread(structure), Note("weights", text, way))


def _counted(operators: Iterable[Operator]) -> str:
    """Count operators by name, the most frequent first."""
    counts = Counter(one.called or one.kind for one in operators)
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{number} {name}" for name, number in most[:6]]
    rest = sum(number for _, number in most[6:])
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _some(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


# An estimate of the cores of a structure without weights, from fan-in, neurons and axons alone.


def estimate_note(structure: Structure, shapes: Mapping[str, Shape | None], chip: ChipSpec) -> Note:
    """Note how many cores a structure might take, and the assumptions."""
    # A core holds a patch of p x p places of a node, as large as its axons can read, with as many features as it has
    # neurons for. Where one place reads more than a core has axons, its sum is cut into parts, each with its own
    # neurons. On crossbar cores each axon is fed by its own neuron: axons beyond one per neuron read cost copies.
    known = {name: shape for name, shape in shapes.items() if shape is not None}
    if any(not {layer.name, *layer.ways} <= known.keys() for layer in structure.layers):
        return Note(f"cores of {chip.name}", "are not estimated, as shapes are not known")
    found = {layer.name: _cores(layer, known, set(structure.inputs), chip) for layer in structure.layers}
    total = sum(found.values())
    most = max(found, key=lambda name: found[name])
    boards = counted(-(-total // max(1, chip.n_cores)), "board")
    copies = ", a copy of a neuron for every axon but the first that it feeds" if chip.kind.structure.ONE_TARGET else ""
    text = (
        f"an estimate, nothing is mapped: {counted(total, 'core')}, {boards} of {chip.n_cores}; most for {most} "
        f"({found[most]}); it assumes binary neurons, an axon per source and core, windows that are read patch by "
        f"patch, sums of more than {chip.axons} axons cut into parts{copies}"
    )
    return Note(f"cores of {chip.name}", text)


def _cores(layer: Layer, shapes: Mapping[str, Shape], inputs: Collection[str], chip: ChipSpec) -> int:
    """Try patches of all sizes, and return the fewest cores."""
    best, target = None, shapes[layer.name]
    all_ways = [(name, way) for name, ways in layer.ways.items() for way in ways]
    feeding = sum(math.prod(shapes[name]) for name in layer.ways if name not in inputs)
    places = target[0] * target[1]
    for side in range(1, max(target[0], target[1]) + 1):
        rows, columns = min(side, target[0]), min(side, target[1])
        axons = sum(_read(way.into, shapes[name], target, (rows, columns)) for name, way in all_ways)
        parts = -(-axons // chip.axons)
        if best is not None and parts > 1:
            break
        patches = -(-target[0] // rows) * -(-target[1] // columns)
        tiles = _tiles(layer, target[2], chip.neurons // (rows * columns), chip.axons // max(axons, 1))
        cores = parts * patches * tiles
        if chip.kind.structure.ONE_TARGET and feeding:
            cores += -(-max(0, patches * axons * tiles - feeding) // chip.neurons)
        best = cores if best is None else min(best, cores)
        if rows * columns >= places or rows * columns > chip.neurons:
            break
    return best or 1


def _read(one: Operator, source: Shape, target: Shape, patch: tuple[int, int]) -> int:
    """Count the sources that a patch of all features of one group reads."""
    if one.kind in ("conv", "max_pool") and len(one.setting("kernel", ())) in (1, 2):
        kernel = (*one.settings["kernel"], 1)[:2]
        stride = (*one.setting("stride", (1, 1)), 1)[:2]
        spans = [min(n, (p - 1) * s + k) for n, p, s, k in zip(source[:2], patch, stride, kernel, strict=True)]
        features = source[2] if one.kind == "max_pool" else -(-source[2] // int(one.setting("groups", 1)))
        return int(math.prod(spans) * features)
    if one.kind in ("add", "multiply") and source[:2] == target[:2]:
        return patch[0] * patch[1] * source[2]
    if one.kind == "dense" and one.setting("weight_shape") and target[0] * target[1] > 1:
        return patch[0] * patch[1] * int(one.settings["weight_shape"][1])
    if one.kind == "product" and one.work:  # half of it from each factor
        return int(-(-(patch[0] + patch[1]) * target[2] * one.work // math.prod(target) // 2))
    return math.prod(source)


def _tiles(layer: Layer, features: int, neurons: int, windows: int) -> int:
    """Count the cores that share the features of a patch: groups read their own windows, several may fit one core."""
    groups = max((int(one.setting("groups", 1)) for one in layer.operators if one.kind == "conv"), default=1)
    per_group = -(-features // groups)
    together = min(windows, neurons // per_group)
    if together >= 1:
        return -(-groups // together)
    return groups * -(-per_group // max(1, neurons))


def from_onnx(
    path: str | Path,
    *,
    chip: str | Path | ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Import a network from an ONNX file (``docs/layers.md``). Needs the extra ``onnx``.

    Parameters
    ----------
    path : str or Path
        The file; nothing in it is executed.
    chip : str, Path, ChipSpec or None
        Chip whose cores an estimate counts, if weights are not imported.
    calibration : array_like of shape (n, ...), mapping of str to array_like, ImageSet, source, path, or None
        Inputs of a float network, by which it is quantised to 8-bit integers (``docs/graded.md``): an array for its
        only input, arrays by name of input, or a ``.npz`` file with arrays of these names, and perhaps ``labels``. For
        a set of images (``"npz:FILE"`` and the other sources of :func:`neuromap.datasets.load_images`) the network file
        states how they become the network's input.
    labels : array_like of int, shape (n,), optional
        Classes of these inputs, for the accuracy before and after.
    percentile : float, optional
        Percentage of the values of a tensor that its range holds; all of them by default.

    Returns
    -------
    Imported
        With weights where the network is quantised (graded nodes), in frame code (thresholds), or calibrated; else its
        structure with shapes and work.

    Raises
    ------
    InputError
        If the file is truncated, too large, malformed or not an ONNX model, or the calibration set does not fit it.
    NotSupportedError
        If ``onnx`` is not installed, or nothing of the file can be imported.
    """
    path = path_given("from_onnx", path)
    require_package("ONNX", "onnx", "onnx", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_onnx(path)
    with foreign_boundary(f"the ONNX model {show_name(str(path))}"):
        return take_graph(graph, "onnx", str(path), spec, calibration, labels, percentile)


def from_torch(
    module: torch.nn.Module,
    example_input: Any,
    *,
    chip: str | Path | ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Import a network from a PyTorch module (``docs/layers.md``). Needs the extra ``training``.

    Parameters
    ----------
    module : torch.nn.Module
        Read in evaluation mode; ``torch.export`` makes a graph of it.
    example_input : torch.Tensor or tuple of torch.Tensor
        Inputs as its ``forward`` takes them, batch axis first.
    chip : str, Path, ChipSpec or None
        Chip whose cores an estimate counts, if weights are not imported.
    calibration, labels, percentile
        As :func:`~neuromap.exchange.layers.take_graph.from_onnx` takes them.

    Returns
    -------
    Imported
        With weights where the network is quantised (graded nodes), in frame code (thresholds), or calibrated; else its
        structure with shapes and work.

    Raises
    ------
    InputError
        If it is not a module, or the inputs or the calibration set do not fit it.
    NotSupportedError
        If PyTorch is not installed, ``torch.export`` cannot make a graph of the module, or nothing of it can be
        imported.
    """
    require_package("PyTorch", "torch", "training", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_module(module, example_input)
    name = type(module).__name__
    with foreign_boundary(f"a network of module {name}", NotSupportedError, remedy="export it to ONNX and import that"):
        return take_graph(graph, "pytorch", name, spec, calibration, labels, percentile)


def from_torch_file(
    path: str | Path,
    *,
    chip: str | Path | ChipSpec | None = None,
    calibration: Any = None,
    labels: ArrayLike | None = None,
    percentile: float | None = None,
) -> Imported:
    """Import a network from a file of ``torch.export.save``, as :func:`from_torch` does from a module.

    Nothing in the file is executed or unpickled. A batch of any size is one frame; other sizes that the export left
    open take the values of its example.
    """
    path = path_given("from_torch_file", path)
    require_package("PyTorch", "torch", "training", imports=False)
    spec = None if chip is None else load_chip(chip)
    graph = read_exported(path)
    with foreign_boundary(f"a network of file {show_name(str(path))}", NotSupportedError, remedy="export it to ONNX"):
        return take_graph(graph, "pytorch", str(path), spec, calibration, labels, percentile)

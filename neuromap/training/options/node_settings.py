"""Settings of nodes: input codes, kinds of weights and groups for a chip; activation and dropout."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.tracks import ImageSet
from neuromap.encoding.frames import InputEncoding
from neuromap.encoding.input_tables import input_encodings, training_table
from neuromap.errors import InputError, NetworkError, NotSupportedError
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network, plain_table
from neuromap.network.spiking_neuron import GradedNeuron
from neuromap.network.transforms import Conv, Dense, Identity, Pool, Shape
from neuromap.render.value import Card
from neuromap.training.options.training_options import HardwareOptions

# Greatest width of trained sums: float32 holds every integer below 2**24.
MOST_BITS = 24


@dataclass(frozen=True)
class Widths:
    """Greatest magnitudes of a chip's integers."""

    weight: int
    total: int  # of a sum including its bias

    @property
    def products(self) -> int:
        """Greatest sum of products; the rest is reserved for the bias, which subtracts the mean of the sums."""
        return self.total - self.total // 4


def widths_of(chip: ChipSpec) -> Widths:
    """Return the widths of a chip; the range of weights is symmetric."""
    return Widths(2 ** (chip.weight_bits - 1) - 1, 2 ** (min(chip.potential_bits, MOST_BITS) - 1) - 1)


def fan_in(transform: Conv | Dense) -> int:
    """Count the inputs of a neuron, at most."""
    return math.prod(transform.weight_shape[:3]) if isinstance(transform, Conv) else transform.weight_shape[-1]


def require_graded_chip(network: Network, chip: ChipSpec) -> None:
    """Refuse chips without graded neurons, and training settings that graded nodes do not have."""
    if not chip.kind.computes(GradedNeuron):
        raise NotSupportedError(
            f"network {network.name}: its nodes are graded, while neurons of {chip.name} send spikes without a value; "
            "train for loihi2"
        )
    training = training_table(network)
    for part, named in (("nodes", "low and high say what values are"), ("edges", "weights have the chip's width")):
        for name in training.table(part).values:
            raise NetworkError(f"training.{part}.{name}: is none of a graded network, whose {named}; drop it")


def graded_lines(network: Network, chip: ChipSpec) -> tuple[str, ...]:
    """Describe the choices for a chip, for people."""
    widths = widths_of(chip)
    lines = [_input_line(encoding) for encoding in input_encodings(network).values()]
    for name, node in network.nodes.items():
        into = [edge.transform for edge in network.edges.values() if edge.target == name]
        trained = [transform for transform in into if isinstance(transform, Conv | Dense)]
        if trained and node.graded is not None:
            whose = "neuron" if all(isinstance(transform, Dense) for transform in into) else "feature"
            lines.append(
                f"{name}: {sum(map(fan_in, trained))} inputs of a neuron; weights, bias, multiplier and shift of each "
                f"{whose}; values {node.graded.low} to {node.graded.high}"
            )
        elif into:
            lines.append(f"{name}: no weights to train, it responds as the network says")
    return (
        *lines,
        f"weights are -{widths.weight} to {widths.weight}; sums of products stay within {widths.products}, with the "
        f"bias within {widths.total}, whatever the input",
    )


def _input_line(encoding: InputEncoding) -> str:
    if encoding.code == "layer" or not encoding.is_for_chip:
        found = "gives spikes of a layer" if encoding.code == "layer" else "gives intensities"
        raise NotSupportedError(
            f'inputs.{encoding.node}.code: "{encoding.code}" {found}; graded networks take values, drop the code'
        )
    if encoding.code != "value":
        return f"{encoding.node}: code {encoding.code}, as the network file says"
    if not encoding.mean and not encoding.step:
        return f"{encoding.node}: pixels less the zero point {encoding.zero_point}"
    low, high = encoding.values or (0, 0)
    return f"{encoding.node}: (intensity - mean) / step, rounded, {low} to {high}, as the network file says"


# Threshold in place of code ``real``, which no chip takes: a pixel spikes from half the greatest intensity on.
_LEVEL = 0.5
# Axons reserved for biases if sources use all four types: a bias is a sum of the weights that sources have there.
_BIAS_AXONS_4_BIT = 32


@dataclass(frozen=True, eq=False)
class ChipChoice(Card):
    """A network adapted to a chip, before training."""

    network: Network  # with the chosen groups and input codes
    kinds: Mapping[EdgeKey, str]  # kinds of weights of conv and dense edges
    lines: tuple[str, ...]  # choices with reasons, for people


def choose_for_chip(
    network: Network, chip: ChipSpec, images: ImageSet | None = None, hardware: HardwareOptions | None = None
) -> ChipChoice:
    """Choose input codes, kinds of weights and groups so that a network fits the cores of a chip.

    A neuron's inputs, times the axons per source of its kind of weights, must fit the axons of one core, less some for
    biases where thresholds are out of the leak's range. Weights are ternary if that fits. Otherwise edges between
    computed nodes become sign-fixed, the widest first, and edges that are still too wide are split into the fewest
    groups that fit. Kinds set in ``[training.edges."A -> B"]`` of the network file (``weights = "4-bit"``) are kept.
    Graded networks are unchanged: their weights have the chip's width.

    With images, whatever the network file leaves open is chosen too. On a chip with graded neurons, a network that does
    not specify its neurons becomes graded. On other chips, an input without a code becomes a thermometer with as many
    levels as fit a core and occur in its images, and an output with one neuron per class gets several.

    Parameters
    ----------
    network : Network
        With shapes; weights are not needed.
    chip : ChipSpec
        The chip.
    images : ImageSet, optional
        Training images.
    hardware : HardwareOptions, optional
        ``levels`` and ``votes``, to set them instead of choosing, where the network file leaves them open.

    Returns
    -------
    ChipChoice

    Raises
    ------
    InputError
        If ``levels`` or ``votes`` are given where nothing is open.
    NetworkError
        If the network file asks for something that neurons of a chip cannot do.
    NotSupportedError
        If an edge cannot be trained, or no choice fits.
    """
    hardware = HardwareOptions() if hardware is None else hardware
    opened: tuple[str, ...] = ()
    level_lines: dict[str, str] = {}
    # what a network file says of input codes, neurons, thresholds or kinds of weights
    said = any("code" in table for table in network.tables.get("inputs", {}).values())
    said |= any(node.neuron is not None or node.threshold is not None for node in network.nodes.values())
    said |= bool(network.tables.get("training", {}).get("edges"))
    if images is not None and chip.kind.computes(GradedNeuron) and not said:
        network = _as_graded(network)
        opened = (
            f"all nodes are graded, as {chip.name} computes values and the network file says nothing of its neurons "
            '(code = "threshold" in [inputs.NAME] asks for spikes)',
        )
    if network.is_graded:
        require_graded_chip(network, chip)
        _require_used(network, images, hardware)
        return ChipChoice(network, ReadOnlyMapping({}), (*opened, *graded_lines(network, chip)))
    _require_spiking(network)
    asked = _asked_kinds(network)
    if images is not None:
        network, opened = _with_votes(network, len(images.classes), hardware.votes)
        network, level_lines = _with_levels(network, asked, chip, images, hardware.levels)
    kinds, edges = _fitted(network, asked, chip)
    tables, codes = _spiking_inputs(network, level_lines)
    chosen = replace(network, edges=edges, tables=tables)
    _require_used(chosen, images, hardware)
    computed = ", ".join(name for name in network.nodes if name not in network.inputs)
    lines = (
        *codes,
        *opened,
        *(_edge_line(network.edges[k], edges[k], kind, chip) for k, kind in kinds.items()),
        f"{computed}: integer thresholds, into which the normalisation of training is folded without a rest",
    )
    return ChipChoice(chosen, ReadOnlyMapping(kinds), lines)


def _fitted(
    network: Network, asked: Mapping[EdgeKey, str], chip: ChipSpec
) -> tuple[dict[EdgeKey, str], dict[EdgeKey, Edge]]:
    """Choose kinds of weights and groups for all nodes."""
    kinds: dict[EdgeKey, str] = {}
    edges = dict(network.edges)
    for name in network.nodes:
        into = {key: edge for key, edge in edges.items() if key[1] == name}
        if into:
            found_kinds, found_edges = _fit(name, into, asked, chip, network.inputs)
            kinds |= found_kinds
            edges |= found_edges
    return kinds, edges


# Choices that a network file leaves open: neurons, levels of the input, neurons per class.


# Beyond these, accuracy on digits rises by less than one standard error.
_LEVELS, _VOTES = 7, 32
_SCORE = 2**15 - 1


def _as_graded(network: Network) -> Network:
    """Make nodes graded: 8-bit quantised ReLU, signed scores for outputs, maximum for pools."""
    nodes = {}
    for name, node in network.nodes.items():
        into = [edge.transform for edge in network.edges.values() if edge.target == name]
        pools = bool(into) and all(isinstance(transform, Pool) for transform in into)
        low, high = (-_SCORE, _SCORE) if name in network.outputs and not pools else (0, 255)
        scale = None if into else 1 / 255
        nodes[name] = replace(node, neuron=GradedNeuron(low=low, high=high, maximum=int(pools), scale=scale))
    return replace(network, nodes=nodes)


def _require_used(network: Network, images: ImageSet | None, hardware: HardwareOptions) -> None:
    """Refuse levels and votes that are given where the network, with all its choices, has others."""
    for name, given in (("levels", hardware.levels), ("votes", hardware.votes)):
        if given is None:
            continue
        if images is None:
            raise InputError(
                f"training: {name} {given}: is for what is chosen from images; give the options as a mapping, or drop "
                f"{name}"
            )
        if name == "levels":
            coded = input_encodings(network)[network.inputs[0]]
            place = f"input {coded.node} (code {coded.code})"
            found = len(coded.levels) if coded.code == "threshold" else 0
        else:
            output = network.outputs[0]
            place = f"each class of output {output}"
            found = network.nodes[output].size // max(1, len(images.classes))
        if found != given:
            raise InputError(
                f"training: {name} {given}: {place} has {found}, and network file and chip leave nothing to choose "
                f"there; drop {name}, or what the file says there"
            )


def _with_votes(network: Network, classes: int, votes: int | None) -> tuple[Network, tuple[str, ...]]:
    """Give an output with one neuron per class several, which differ in their thresholds."""
    name = network.outputs[0]
    node = network.nodes[name]
    into = [key for key in network.edges if key[1] == name]
    is_last = not any(key[0] == name for key in network.edges)
    dense = into and all(isinstance(network.edges[key].transform, Dense) for key in into)
    n = _VOTES if votes is None else votes
    is_open = len(network.outputs) == 1 and node.threshold is None and node.size == classes
    if not (is_open and is_last and dense) or n < 2:
        return network, ()
    shape = (classes, 1, n)
    nodes = {**network.nodes, name: replace(node, shape=shape)}
    edges = {key: _reshaped(edge, target=shape) if key in into else edge for key, edge in network.edges.items()}
    line = f"{name}: {n} neurons vote for each of {classes} classes, where one spike each could say little"
    return replace(network, nodes=nodes, edges=edges), (line,)


def _with_levels(
    network: Network, asked: Mapping[EdgeKey, str], chip: ChipSpec, images: ImageSet, levels: int | None
) -> tuple[Network, dict[str, str]]:
    """Make an input without a code a thermometer, with the most levels that need no further groups."""
    name = network.inputs[0]
    table = network.tables.get("inputs", {}).get(name, {})
    node = network.nodes[name]
    out = [key for key in network.edges if key[0] == name]
    if len(network.inputs) > 1 or "code" in table or table.get("frames", "still") != "still" or node.shape is None:
        return network, {}
    features = images.shape[2]
    if node.shape == images.shape and all(isinstance(network.edges[key].transform, Conv | Dense) for key in out):
        values = len(np.unique(images.images[:1000]))
        most = min(_LEVELS, max(1, values - 1))
        counts = [levels] if levels is not None else [*range(most, 0, -1)]
    elif node.shape[:2] == images.shape[:2] and node.shape[2] % features == 0:
        counts = [node.shape[2] // features]
    else:
        return network, {}
    for count in counts:
        shape = (*node.shape[:2], features * count)
        edges = {key: _reshaped(edge, source=shape) if key in out else edge for key, edge in network.edges.items()}
        kept = {key: value for key, value in table.items() if key != "mean"}
        coded = {**kept, "code": "threshold", "levels": [round((k + 1) / (count + 1), 4) for k in range(count)]}
        tables = {**network.tables, "inputs": {**network.tables.get("inputs", {}), name: coded}}
        nodes = {**network.nodes, name: replace(node, shape=shape)}
        found = replace(network, nodes=nodes, edges=edges, tables=tables)
        if len(counts) == 1 or all(found.edges[key] == _fitted(found, asked, chip)[1][key] for key in out):
            dropped = "; its mean is not subtracted" if "mean" in table else ""
            why = "a thermometer that fits a core" if count > 1 else "a chip takes spikes, no intensities"
            levels_told = ", ".join(f"{level:g}" for level in coded["levels"])
            return found, {name: f"{name}: code threshold, levels {levels_told}: {why}{dropped}"}
    return network, {}


def _reshaped(edge: Edge, **shapes: Shape) -> Edge:
    """Return an edge with other shapes of source or target, and without weights."""
    transform = edge.transform
    assert isinstance(transform, Conv | Dense)
    named: dict[str, Any] = {f"{end}_shape": shape for end, shape in shapes.items()}
    return replace(edge, transform=replace(transform, weights=None, **named))


def _require_spiking(network: Network) -> None:
    """Refuse activations and dropout, which do not apply to neurons in frame code."""
    node_settings(network)
    for name, table in network.tables.get("training", {}).get("nodes", {}).items():
        for key in table:
            raise NetworkError(
                f"training.nodes.{name}.{key}: is none for a chip, whose neurons fire or do not; drop it, or train "
                "without --for"
            )


def _asked_kinds(network: Network) -> dict[EdgeKey, str]:
    given = TomlTable(plain_table(network.tables.get("training", {}).get("edges", {})), "training.edges", NetworkError)
    labels = {edge.label: key for key, edge in network.edges.items() if isinstance(edge.transform, Conv | Dense)}
    given.allow(tuple(labels))
    found = {}
    for label, table in given.tables():
        table.allow(("weights",))
        found[labels[label]] = table.text("weights", tuple(WEIGHT_KINDS))
    return found


def _fit(
    name: str, into: Mapping[EdgeKey, Edge], asked: Mapping[EdgeKey, str], chip: ChipSpec, inputs: tuple[str, ...]
) -> tuple[dict[EdgeKey, str], dict[EdgeKey, Edge]]:
    """Choose kinds and groups for the edges into one node, until its neurons' inputs fit a core."""
    edges = dict(into)
    kinds = {key: asked.get(key, "ternary") for key, edge in edges.items() if weight_shape(edge) is not None}
    bound = chip.axons - (_BIAS_AXONS_4_BIT if "4-bit" in kinds.values() else 1)

    def demand(key: EdgeKey) -> int:
        return _fan_in(edges[key]) * (WEIGHT_KINDS[kinds[key]].axons if key in kinds else 1)

    def widest(keys: list[EdgeKey]) -> EdgeKey:
        return max(keys, key=demand)

    while sum(map(demand, edges)) > bound:
        free = [key for key in kinds if key not in asked and kinds[key] == "ternary" and key[0] not in inputs]
        free = [key for key in free if getattr(edges[key].transform, "source_shape", (1, 1, 1))[2] > 1]
        finer = {key: cut for key in kinds if (cut := _more_groups(edges[key])) is not None}
        if free:
            kinds[widest(free)] = "sign-fixed"
        elif finer:
            key = widest(list(finer))
            edges[key] = finer[key]
        else:
            raise NotSupportedError(
                f"node {name}: its neurons' inputs take {sum(map(demand, edges))} axons of a core with the finest "
                f"groups that its features allow; {chip.name} has {bound} for them, take smaller kernels or features "
                "with more divisors"
            )
    return kinds, edges


def weight_shape(edge: Edge) -> tuple[int, ...] | None:
    """Shape of an edge's weights in the layout of the weights file; ``None`` if it has none to train."""
    transform = edge.transform
    if isinstance(transform, Conv | Dense):
        return transform.weight_shape
    if isinstance(transform, Identity | Pool):
        return None
    text = f"edge {edge.label}: is an explicit matrix; training takes conv, dense, identity and pool"
    if transform is None:
        text = (
            f"edge {edge.label}: has structure only, as a mean before a layer; training takes conv, dense, identity "
            "and pool: train the integers of an import with --calibrate (neuromap train NET --for loihi2), or use a "
            "maximum or a stride there"
        )
    raise NotSupportedError(text)


def _fan_in(edge: Edge) -> int:
    """Count the inputs of a neuron, at most."""
    transform = edge.transform
    if isinstance(transform, Conv | Dense):
        return fan_in(transform)
    return math.prod(transform.kernel) if isinstance(transform, Pool) else 1


def _more_groups(edge: Edge) -> Edge | None:
    """Split an edge into the next number of groups that divides the features of both nodes."""
    transform = edge.transform
    if not isinstance(transform, Conv | Dense):
        return None
    both = math.gcd(transform.source_shape[2], transform.target_shape[2])
    counts = [n for n in range(transform.groups + 1, both + 1) if both % n == 0]
    return replace(edge, transform=replace(transform, groups=counts[0], weights=None)) if counts else None


def _spiking_inputs(network: Network, said: Mapping[str, str]) -> tuple[dict[str, Mapping[str, object]], list[str]]:
    """Return the input tables with a binary code for every input, and a line for each."""
    tables = dict(network.tables)
    inputs = dict(tables.get("inputs", {}))
    lines = []
    for name, encoding in input_encodings(network).items():
        if encoding.is_binary:
            told = f"{name}: code {encoding.code}, as the network file says{_host_layer(encoding)}"
            lines.append(said.get(name, told))
            continue
        if encoding.frames != "still":
            raise NotSupportedError(
                f'inputs.{name}.frames: "{encoding.frames}" is not trained for a chip; drop it to show one picture in '
                "all frames"
            )
        kept = {key: value for key, value in inputs.get(name, {}).items() if key not in ("mean", "frames")}
        inputs[name] = {**kept, "code": "threshold", "levels": [_LEVEL]}
        dropped = "; its mean is not subtracted" if encoding.mean else ""
        lines.append(f"{name}: code threshold, level {_LEVEL}: a chip takes spikes, no intensities{dropped}")
    return {**tables, "inputs": inputs}, lines


def _host_layer(encoding: InputEncoding) -> str:
    """Describe what happens to the layer on the host."""
    if encoding.code != "layer":
        return ""
    if encoding.weights is not None:
        return "; its weights are given and stay as they are"
    (high, wide), (down, right) = encoding.kernel, encoding.stride
    return f"; its weights are learned: {encoding.shape[2]} features, kernels {high} x {wide}, stride {down} x {right}"


def _edge_line(before: Edge, edge: Edge, kind: str, chip: ChipSpec) -> str:
    fan_in, axons = _fan_in(edge), WEIGHT_KINDS[kind].axons
    was, groups = (getattr(e.transform, "groups", 1) for e in (before, edge))
    cut = f", {groups} groups instead of {was}" if groups != was else ""
    return f"{edge.label}: {kind} weights{cut}; {fan_in} inputs of a neuron take {fan_in * axons} of {chip.axons} axons"


# Kinds of weights that a chip's axons can hold, and the axons per source of each.
@dataclass(frozen=True)
class WeightKind(Card):
    """Integers that the weights of an edge may take."""

    name: str  # as in the network file
    axons: int  # most axons of a core per source: k axons of k types give it the sums of k values
    # low, high: bounds of the latent weights
    low: float
    high: float
    levels: int  # the integer at the latent value 1


# ``ternary``: -1, 0, 1. ``sign-fixed``: 0 or the sign of the source, 1 for even and -1 for odd features of its node.
# ``4-bit``: -8 to 7, the sums of -8, 4, 2 and 1.
WEIGHT_KINDS = {
    "ternary": WeightKind("ternary", 2, -1.0, 1.0, 1),
    "sign-fixed": WeightKind("sign-fixed", 1, 0.0, 1.0, 1),
    "4-bit": WeightKind("4-bit", 4, -8 / 7, 1.0, 7),
}


# Activation and dropout of every node, from the optional table ``[training.nodes.NAME]`` of a network file.


# Functions that a real-valued node may apply to the sum of its edges and its bias.
ACTIVATIONS = ("relu", "linear", "tanh", "sigmoid")


@dataclass(frozen=True)
class NodeSettings(Card):
    """How a node is trained.

    Attributes
    ----------
    activation : str
        One of :data:`ACTIVATIONS`.
    dropout : float
        Probability, in [0, 1), that a value of the node is set to 0 in training; redrawn in every frame. The other
        values are divided by one minus it.
    """

    activation: str = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.activation not in ACTIVATIONS:
            raise NetworkError(f"activation: found {self.activation!r}; allowed are {', '.join(ACTIVATIONS)}")
        if not 0 <= self.dropout < 1:
            raise NetworkError(f"dropout: found {self.dropout!r}; allowed are numbers from 0 to below 1")


def node_settings(network: Network) -> Mapping[str, NodeSettings]:
    """Read the settings of all nodes that are not inputs.

    Parameters
    ----------
    network : Network
        Its table ``training`` is read. Without one, outputs are linear (the loss takes the logarithm of their softmax),
        all other nodes are rectified, and there is no dropout.

    Returns
    -------
    mapping of str to NodeSettings
        In the order of nodes.

    Raises
    ------
    NetworkError
        If the table has an invalid key or value.
    """
    given = training_table(network).table("nodes")
    found = {}
    for name in network.nodes:
        if name in network.inputs:
            if name in given:
                raise given.wrong(name, "is none of an input node: activation and dropout are of computed nodes")
            continue
        default = NodeSettings("linear" if name in network.outputs else "relu")
        found[name] = _read(given.table(name), default) if name in given else default
    return ReadOnlyMapping(found)


def _read(table: TomlTable, default: NodeSettings) -> NodeSettings:
    table.allow(("activation", "dropout"))
    activation = table.text("activation", ACTIVATIONS) if "activation" in table else default.activation
    dropout = table.values.get("dropout", default.dropout)
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout < 1:
        raise table.wrong("dropout", "is a number from 0 to below 1")
    return NodeSettings(activation, float(dropout))

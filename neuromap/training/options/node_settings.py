"""Settings of nodes for a chip: codes of inputs, kinds of weights, groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.encoding.frames import InputEncoding
from neuromap.encoding.input_tables import input_encodings
from neuromap.errors import NetworkError, NotSupportedError
from neuromap.files.toml_table import TomlTable
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge, EdgeKey
from neuromap.network.network import Network, plain_table
from neuromap.network.transforms import Conv, Dense, Identity, Pool
from neuromap.render.value import Card
from neuromap.training.options.graded_settings import fan_in, graded_lines, require_graded_chip

_LEVEL = 0.5
"""Where an input has code ``real``, which no chip takes: a pixel spikes from half the greatest intensity on."""
_BIAS_AXONS_4_BIT = 32
"""Axons kept for biases where all four types are taken: a bias is a sum of the weights that sources have there."""


@dataclass(frozen=True, eq=False)
class ChipChoice(Card):
    """A network as a chip takes it, before it is trained."""

    network: Network  # with the groups and input codes that were chosen
    kinds: Mapping[EdgeKey, str]  # kinds of weights of conv and dense edges
    lines: tuple[str, ...]  # what was chosen and why, for people


def choose_for_chip(network: Network, chip: ChipSpec) -> ChipChoice:
    """Choose input codes, kinds of weights and groups with which a network fits the cores of a chip.

    A neuron's inputs, times the axons that a source takes with its kind of weights, must fit the axons of one core,
    less some for biases where thresholds are out of the leak's range. Weights are ternary where they fit. Otherwise
    those of edges between computed nodes become sign-fixed, the widest first, and what is still too wide is cut into
    the least number of groups that fits. What ``[training.edges."A -> B"]`` of the network file says
    (``weights = "4-bit"``) stays as it is. Graded networks stay as they are: their weights have the chip's width.

    Parameters
    ----------
    network : Network
        With shapes; weights are not needed.
    chip : ChipSpec
        The chip.

    Returns
    -------
    ChipChoice

    Raises
    ------
    NetworkError
        If the tables of the network file ask for what a chip's neuron does not do.
    NotSupportedError
        If an edge cannot be trained, or no choice fits.
    """
    if network.is_graded:
        require_graded_chip(network, chip)
        return ChipChoice(network, ReadOnlyMapping({}), graded_lines(network, chip))
    _require_spiking(network)
    asked = _asked_kinds(network)
    kinds: dict[EdgeKey, str] = {}
    edges = dict(network.edges)
    for name in network.nodes:
        into = {key: edge for key, edge in edges.items() if key[1] == name}
        if into:
            found_kinds, found_edges = _fit(name, into, asked, chip, network.inputs)
            kinds |= found_kinds
            edges |= found_edges
    tables, codes = _spiking_inputs(network)
    chosen = replace(network, edges=edges, tables=tables)
    lines = (*codes, *(_edge_line(network.edges[k], edges[k], kind, chip) for k, kind in kinds.items()), _rest(chosen))
    return ChipChoice(chosen, ReadOnlyMapping(kinds), lines)


def _require_spiking(network: Network) -> None:
    """Refuse activations and dropout, which neurons in frame code do not have."""
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
    """Choose for the edges into one node, until its neurons' inputs fit a core."""
    edges = dict(into)
    kinds = {key: asked.get(key, "ternary") for key, edge in edges.items() if _is_trained(edge)}
    bound = chip.axons - (_BIAS_AXONS_4_BIT if "4-bit" in kinds.values() else 1)

    def demand(key: EdgeKey) -> int:
        return _fan_in(edges[key]) * (WEIGHT_KINDS[kinds[key]].axons if key in kinds else 1)

    def widest(keys: list[EdgeKey]) -> EdgeKey:
        return max(keys, key=demand)

    while sum(map(demand, edges)) > bound:
        free = [key for key in kinds if key not in asked and kinds[key] == "ternary" and key[0] not in inputs]
        free = [key for key in free if _features(edges[key]) > 1]
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


def _is_trained(edge: Edge) -> bool:
    if isinstance(edge.transform, Conv | Dense):
        return True
    if isinstance(edge.transform, Identity | Pool):
        return False
    kind = "has structure only" if edge.transform is None else f"is an explicit {edge.transform.kind}"
    raise NotSupportedError(f"edge {edge.label}: {kind}; training takes conv, dense, identity and pool")


def _features(edge: Edge) -> int:
    transform = edge.transform
    return transform.source_shape[2] if isinstance(transform, Conv | Dense) else 1


def _fan_in(edge: Edge) -> int:
    """Count the inputs of one neuron, at most."""
    transform = edge.transform
    if isinstance(transform, Conv | Dense):
        return fan_in(transform)
    return math.prod(transform.kernel) if isinstance(transform, Pool) else 1


def _more_groups(edge: Edge) -> Edge | None:
    """Cut an edge into the next number of groups that divides the features of both nodes."""
    transform = edge.transform
    if not isinstance(transform, Conv | Dense):
        return None
    both = math.gcd(transform.source_shape[2], transform.target_shape[2])
    counts = [n for n in range(transform.groups + 1, both + 1) if both % n == 0]
    return replace(edge, transform=replace(transform, groups=counts[0], weights=None)) if counts else None


def _spiking_inputs(network: Network) -> tuple[dict[str, Mapping[str, object]], list[str]]:
    """Give the tables with a binary code for every input, and a line for each."""
    tables = dict(network.tables)
    inputs = dict(tables.get("inputs", {}))
    lines = []
    for name, encoding in input_encodings(network).items():
        if encoding.is_binary:
            lines.append(f"{name}: code {encoding.code}, as the network file says{_host_layer(encoding)}")
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
    """Say what becomes of the layer on the host."""
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


def _rest(network: Network) -> str:
    names = ", ".join(name for name in network.nodes if name not in network.inputs)
    return f"{names}: integer thresholds, into which the normalisation of training is folded without a rest"


# Kinds of weights that a chip's axons can hold, and how many axons of a core a source takes with each.
@dataclass(frozen=True)
class WeightKind(Card):
    """Integers that the weights of an edge are trained to."""

    name: str  # as it is asked for
    axons: int  # axons of a core that a source takes, at most: k axons of k types give it the sums of k values
    # low, high: bounds of the latent weights
    low: float
    high: float
    levels: int  # the integer at the latent value 1


WEIGHT_KINDS = {
    "ternary": WeightKind("ternary", 2, -1.0, 1.0, 1),
    "sign-fixed": WeightKind("sign-fixed", 1, 0.0, 1.0, 1),
    "4-bit": WeightKind("4-bit", 4, -8 / 7, 1.0, 7),
}
"""``ternary``: -1, 0, 1. ``sign-fixed``: 0 or the sign of the source, 1 for even and -1 for odd features of its node.
``4-bit``: -8 to 7, the sums of -8, 4, 2 and 1."""


# Activation and dropout of every node, from the optional table ``[training.nodes.NAME]`` of a network file.


ACTIVATIONS = ("relu", "linear", "tanh", "sigmoid")
"""What a real-valued node may apply to the sum of its edges and its bias."""


@dataclass(frozen=True)
class NodeSettings(Card):
    """How a node is trained.

    Attributes
    ----------
    activation : str
        One of :data:`ACTIVATIONS`.
    dropout : float
        Probability with which a value of the node is 0 while training, 0 or more and below 1; drawn anew in every
        frame. The others are divided by one minus it.
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
        Its table ``training`` is read; without one, outputs are linear (the loss takes the logarithm of their softmax)
        and all other nodes are rectified, without dropout.

    Returns
    -------
    mapping of str to NodeSettings
        In the order of nodes.

    Raises
    ------
    NetworkError
        If the table has a key or a value that is not allowed.
    """
    top = TomlTable(network.tables.get("training", {}), "training", NetworkError, ("nodes", "edges", "frames"))
    given = top.table("nodes")
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

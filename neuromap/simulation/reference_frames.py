"""Reference frames: what a network computes under a rollout pattern, without a chip."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Bools, Ints
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.times import Time, whole
from neuromap.errors import ProgramError
from neuromap.files.argument_checks import needs, refuse_swapped
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.build import require_weights
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron, LeakNeuron, SpikingNeuron, require_exact
from neuromap.network.transforms import Conv
from neuromap.network.weights import Windows
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.stimulus import check_frames, check_stimuli

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def require_belongs(rollout: Rollout, program: ChipProgram) -> None:
    """Refuse a program whose nodes are not those of the rollout's network."""
    network = rollout.network
    ports = {port.name: port for port in program.nodes}

    def refuse(found: str) -> NoReturn:
        raise ProgramError(f"program {program.name}: {found}; map this network again")

    for name, node in network.nodes.items():
        role = "input" if name in network.inputs else "output" if name in network.outputs else "hidden"
        if name not in ports:
            refuse(f"has no node {name}, network {network.name} has")
        if ports[name].size != node.size:
            refuse(f"node {name} has {counted(ports[name].size, 'neuron')}, in network {network.name} {node.size}")
        if ports[name].kind != role:
            refuse(f"node {name} is {ports[name].kind}, in network {network.name} {role}")
    foreign = [name for name in ports if name not in network.nodes]
    if foreign:
        refuse(f"node {foreign[0]} does not exist in network {network.name}")


def rollout_period(rollout: Rollout, program: ChipProgram) -> Time | None:
    """Frame period of a rollout in ticks of a program; ``None`` if splitters or sums in parts may lengthen it."""
    period = whole(rollout.frame_period * (1 if rollout.is_tick_level else program.ticks_per_step))
    lengthens = any(marks is not None and bool(marks.any()) for marks in (program.is_splitter, program.is_part))
    as_labelled = program.execution == rollout.execution and program.ticks_per_step == 1
    if program.period > period and not rollout.is_tick_level and lengthens and as_labelled:
        return None
    return period


def reference(
    rollout: Rollout, frames: Mapping[str, ArrayLike], nodes: Iterable[str] | None = None
) -> dict[str, NDArray[Any]]:
    """Compute every node of a network frame by frame (Fischer, Koehler, Pfeil 2018; ``docs/simulation.md``).

    For i >= 1 and every node v that is not an input::

        x_v[i] = 1  iff  sum over edges e = (u, v) of W_e x_u[i - R(e)]  >=  theta_v

    and x_v[i] = 0 for i <= 0. Input frames before frame 0, which edges that bridge frames read, are 0 too. Time
    plays no part: windowed and pipelined execution have the same reference. The nodes of a graded network respond to
    the sum with a value (:meth:`GradedNeuron.respond <neuromap.network.spiking_neuron.GradedNeuron.respond>`); those of
    a spiking network step from tick to tick instead (:mod:`neuromap.simulation.reference_frames`).

    Parameters
    ----------
    rollout : Rollout
        The network, with weights and thresholds, and a valid pattern R.
    frames : mapping of str to array_like, shape (n_frames, size) or (n_frames, rows, columns, features)
        Frames of the input nodes, Boolean or 0 and 1; for graded networks, values in the input's range. Row 0 is
        frame 0.
    nodes : iterable of str, optional
        Nodes to return; all by default. Sums of neurons that none of them depends on may be of any size, as a chip does
        not compute them.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_frames, size)
        Frames of these nodes, in the order of the network; int64 if they send values.

    Raises
    ------
    StimulusError
        If the frames do not match the input nodes.
    NetworkError
        If shapes, weights or thresholds are missing, or a sum is too large to be computed exactly.
    PatternError
        If the pattern is invalid.
    """
    refuse_swapped("reference(rollout, frames)", rollout, Rollout, frames)
    needs("reference", rollout, Rollout)
    network, pattern = rollout.network, rollout.pattern
    require_weights(network)
    pattern.require_valid()
    inputs = check_frames(frames, network)
    wanted = set(network.nodes if nodes is None else nodes)
    if network.is_spiking:
        spikes = _spiking_reference(network, {name: rows[None] for name, rows in inputs.items()})
        return {name: rows[0] for name, rows in spikes.items() if name in wanted}
    n_frames = len(next(iter(inputs.values())))

    needed = _needed(network, wanted)
    incoming = _incoming(rollout, lambda edge: _sparse(edge, network.nodes[edge.source], needed[edge.target]))
    answers = {name: _response(network.nodes[name], needed[name]) for name in incoming}
    # int64 rows, so that the products with integer matrices stay exact without a conversion in each frame
    x = {name: np.zeros((n_frames, node.size), dtype=np.int64) for name, node in network.nodes.items()}
    for name, rows in inputs.items():
        x[name][:] = rows
    for i in range(1, n_frames):
        for name, edges in incoming.items():
            # frames before the first are silent
            x[name][i] = answers[name]([(way, x[source][i - r] if r <= i else None) for source, r, way in edges])
    found = {name: rows for name, rows in x.items() if name in wanted}
    return found if network.is_graded else {name: rows.astype(np.bool_) for name, rows in found.items()}


def _needed(network: Network, wanted: Iterable[str]) -> dict[str, Bools]:
    """Mark the neurons of the wanted nodes and all neurons they depend on; all neurons if no sum can be too large."""
    needed = {name: np.full(node.size, not network.is_graded) for name, node in network.nodes.items()}
    new = [name for name in wanted if network.is_graded]
    for name in new:
        needed[name][:] = True
    while new:
        target = new.pop()
        for edge in [edge for edge in network.edges.values() if edge.target == target]:
            matrix = edge.matrix()
            read = matrix.indices[np.repeat(needed[target], np.diff(matrix.indptr))]
            if not needed[edge.source][read].all():
                needed[edge.source][read] = True
                new.append(edge.source)
    return needed


class _Way(NamedTuple):
    """How an edge is computed."""

    matrix: csr_array
    product: Callable[[Ints], Ints]  # the matrix times the values of its source, shape (size,) or (S, size)


_Read = list[tuple[_Way, "Ints | None"]]


def _incoming(rollout: Rollout, way: Callable[[Edge], _Way]) -> dict[str, list[tuple[str, int, _Way]]]:
    """List source, R and way of the edges into every non-input node, in the order of evaluation within a frame."""
    network, pattern = rollout.network, rollout.pattern
    # within a frame, a node comes after the sources of its sequential edges
    sequential = nx.DiGraph([key for key in network.edges if pattern[key] == 0])
    sequential.add_nodes_from(network.nodes)
    order = [name for name in nx.topological_sort(sequential) if name not in network.inputs]
    incoming: dict[str, list[tuple[str, int, _Way]]] = {name: [] for name in order}
    for (source, target), edge in network.edges.items():
        incoming[target].append((source, pattern[source, target], way(edge)))
    return incoming


def _response(node: Node, needed: Bools) -> Callable[[_Read], Ints]:
    """Make the function from the weights and values that a node reads to its response, for S stimuli side by side."""
    # sums of neurons that are not needed may overflow 64 bits and are ignored
    size, graded = node.size, node.graded

    def total(read: _Read) -> Ints:
        parts = (way.product(values) for way, values in read if values is not None)
        return sum(parts, start=np.zeros(size, np.int64))

    if graded is None:
        theta = np.asarray(node.threshold, dtype=np.int64)
        return lambda read: (total(read) >= theta).astype(np.int64)

    def respond(read: _Read) -> Ints:
        drive = _greatest(read, size) if graded.maximum else total(read) + graded.bias
        drive = np.where(needed, drive, 0)
        require_exact(node.name, drive)
        return graded.respond(drive)

    return respond


def _greatest(read: _Read, size: int) -> Ints:
    """Greatest product over the synapses of every neuron, shape (..., size); 0 without synapses."""
    none = np.iinfo(np.int64).min
    found = np.full(size, none)
    for (matrix, _), values in read:
        some = np.flatnonzero(np.diff(matrix.indptr))
        products = matrix.data * (0 if values is None else values[..., matrix.indices])
        if len(some):
            most = np.full((*products.shape[:-1], size), none)
            most[..., some] = np.maximum.reduceat(products, matrix.indptr[some], axis=-1)
            found = np.maximum(found, most)
    return np.where(found == none, 0, found)


# The same for many stimuli side by side, as accuracies need it: dense matrix products, and nothing computed twice.
# Below this, integer sums are exact in 64-bit floats.
_EXACT = 2**53
# Matrix density from which a dense product is faster.
_DENSE = 0.2


def reference_batch(
    rollout: Rollout, stimuli: Mapping[str, ArrayLike], nodes: Iterable[str]
) -> dict[str, NDArray[Any]]:
    """Compute :func:`reference` for many stimuli at once.

    A node is not recomputed while what it reads stays the same, as when an image is shown for several frames, and is
    computed once for all stimuli until an input has reached it.

    Parameters
    ----------
    rollout : Rollout
        As there.
    stimuli : mapping of str to array_like, shape (S, n_frames, size)
        Frames of the input nodes.
    nodes : iterable of str
        Nodes to return.

    Returns
    -------
    dict of str to ndarray of bool, shape (S, n_frames, size)
        Frames of these nodes; int64 if they send values.

    Raises
    ------
    StimulusError, NetworkError, PatternError
        As there.
    """
    needs("reference_batch", rollout, Rollout)
    network, wanted = rollout.network, list(nodes)
    require_weights(network)
    rollout.pattern.require_valid()
    inputs, n_stimuli, n_frames = check_stimuli(stimuli, network)
    if network.is_spiking:
        spikes = _spiking_reference(network, inputs)
        return {name: spikes[name] for name in wanted}
    needed = _needed(network, wanted)
    incoming = _incoming(rollout, lambda edge: _batched(edge, network.nodes[edge.source], needed[edge.target]))
    answers = {name: _response(network.nodes[name], needed[name]) for name in incoming}
    # one row per stimulus, or one for all; equal frames share an array
    x = {name: [np.zeros((1, network.nodes[name].size), np.int64)] for name in incoming}
    x |= {name: [rows[:, 0].astype(np.int64)] for name, rows in inputs.items()}
    longest = max(rollout.pattern.values, default=0)
    for i in range(1, n_frames):
        for name, rows in inputs.items():
            is_new = not np.array_equal(rows[:, i], rows[:, i - 1])
            x[name].append(rows[:, i].astype(np.int64) if is_new else x[name][i - 1])
        for name, edges in incoming.items():
            now, before = ([x[source][k - r] if r <= k else None for source, r, _ in edges] for k in (i, i - 1))
            again = i > 1 and all(a is b for a, b in zip(now, before, strict=True))
            ways = [way for _, _, way in edges]
            x[name].append(
                x[name][i - 1]
                if again
                else answers[name]([*zip(ways, now, strict=True)]).reshape(-1, x[name][0].shape[1])
            )
            if i > longest and name not in wanted:
                x[name][i - longest - 1] = x[name][0][:0]  # no longer read
    dtype = np.dtype(np.int64 if network.is_graded else np.bool_)
    found = {name: np.empty((n_stimuli, n_frames, network.nodes[name].size), dtype) for name in wanted}
    for name, table in found.items():
        for i, rows in enumerate(x[name]):
            table[:, i] = rows
    return found


def _batched(edge: Edge, source: Node, needed: Bools) -> _Way:
    """Choose how an edge is computed for many stimuli: by dense float products if they are exact and pay off."""
    matrix, transform = edge.matrix(), edge.transform
    if _greatest_sum(matrix, source) >= _EXACT:
        return _sparse(edge, source, needed)
    if isinstance(transform, Conv):
        return _Way(matrix, _convolution(transform, matrix))
    if matrix.nnz >= _DENSE * math.prod(matrix.shape):
        dense = matrix.toarray().T.astype(np.float64)
        return _Way(matrix, lambda values: (values.astype(np.float64) @ dense).astype(np.int64))
    return _Way(matrix, lambda values: (matrix @ values.T).T)


def _sparse(edge: Edge, source: Node, needed: Bools) -> _Way:
    """Compute an edge by its sparse matrix, checking sums of values that might overflow 64 bits."""
    matrix = edge.matrix()
    if source.graded is None or _greatest_sum(matrix, source) < _EXACT:
        return _Way(matrix, lambda values: (matrix @ values.T).T)
    reals = matrix.astype(np.float64)

    def product(values: Ints) -> Ints:
        require_exact(edge.target, (reals @ values.T.astype(np.float64)).T[..., needed], _EXACT)
        return (matrix @ values.T).T

    return _Way(matrix, product)


def _greatest_sum(matrix: csr_array, source: Node) -> int:
    """Bound what an edge adds to a neuron, whatever its source sends."""
    greatest = 1 if source.graded is None else max(-source.graded.low, source.graded.high)
    sums = np.bincount(np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr)), np.abs(matrix.data))
    return int(sums.max(initial=0)) * greatest


def _convolution(conv: Conv, matrix: csr_array) -> Callable[[Ints], Ints]:
    """Compute a convolution as one dense matrix product per kernel cell."""
    kernel, source, target = Windows(conv.kernel, conv.stride, conv.padding).pairs(conv.source_shape, conv.target_shape)
    (_, _, n_in), (_, _, n_out) = conv.source_shape, conv.target_shape
    cells = []
    for cell in range(math.prod(conv.kernel)):
        mine = kernel == cell
        if not mine.any():
            continue
        # read weights from the matrix, where groups need no special case
        row = int(target[mine][0]) * n_out
        rows = matrix[row : row + n_out]
        first = int(source[mine][0]) * n_in
        cells.append((source[mine], target[mine], rows[:, first : first + n_in].toarray().T.astype(np.float64)))

    def product(values: Ints) -> Ints:
        pixels = values.astype(np.float64).reshape(len(values), -1, n_in)
        total = np.zeros((len(values), math.prod(conv.target_shape[:2]), n_out))
        for read, reached, weights in cells:
            total[:, reached] += pixels[:, read] @ weights
        return total.reshape(len(values), -1).astype(np.int64)

    return product


# The reference of a spiking network: its integer neurons, tick by tick, without a chip.


def _spiking_reference(network: Network, inputs: Mapping[str, NDArray[Any]]) -> dict[str, Bools]:
    """Compute every node of a spiking network tick by tick; a frame is a tick."""
    # In frame i >= 1, a node's neurons step on what its edges deliver, W_e x_u[i - delay(e)]; frames before 0 are
    # silent, and x_v[0] = 0 for all but the inputs. Sources are ordinary nodes that receive nothing.
    # stimuli run side by side, with one copy of each neuron per stimulus
    # shapes: inputs (S, n_frames, size); returns (S, n_frames, size)
    n_stimuli, n_frames = next(iter(inputs.values())).shape[:2]
    x = {name: np.zeros((n_frames, node.size, n_stimuli), np.int64) for name, node in network.nodes.items()}
    for name in network.inputs:
        x[name][:] = inputs[name].transpose(1, 2, 0)
    neurons = {
        name: node.spiking.spread(node.size).take(np.repeat(np.arange(node.size), n_stimuli))
        for name, node in network.nodes.items()
        if node.spiking is not None
    }
    states = {name: start(neuron) for name, neuron in neurons.items()}
    edges = [(u, v, term) for (u, v), edge in network.edges.items() for term in edge.terms]
    for i in range(1, n_frames):
        drive = {name: np.zeros((n.n_currents, len(n.threshold)), np.int64) for name, n in neurons.items()}
        for u, v, term in edges:
            if i >= term.delay:
                drive[v][term.current] += (term.matrix @ x[u][i - term.delay]).ravel()
        for name, neuron in neurons.items():
            states[name], spikes = step(neuron, states[name], drive[name])
            x[name][i] = spikes.reshape(-1, n_stimuli)
    return {name: rows.transpose(2, 0, 1).astype(np.bool_) for name, rows in x.items()}


# One tick of spiking neurons: state and drive in, state and spikes out, as their classes define it.


class NeuronState(NamedTuple):
    """State of the neurons of a node, int64."""

    current: Ints  # u, shape (n_currents, size); zeros for neurons without currents
    potential: Ints  # v or V, shape (size,)
    rest: Ints  # remaining refractory ticks, shape (size,)


def start(neuron: SpikingNeuron) -> NeuronState:
    """State before the first tick."""
    current = np.zeros((neuron.n_currents, len(neuron.threshold)), np.int64)
    arrays = neuron.arrays
    current[0] = arrays.get("current", 0)
    return NeuronState(current, arrays.get("voltage", arrays.get("potential", current[0])), np.zeros_like(current[0]))


def step(neuron: SpikingNeuron, state: NeuronState, drive: Ints) -> tuple[NeuronState, Bools]:
    """Take one tick."""
    # shapes: drive (n_currents, size); spikes (size,)
    return _STEPS[neuron.model](neuron, state, drive)


def _step_current(neuron: CurrentNeuron, state: NeuronState, drive: Ints) -> tuple[NeuronState, Bools]:
    one, rail = 1 << neuron.decay_bits, (1 << (neuron.voltage_bits - 1)) - 1
    decay = np.stack([neuron.current_decay, *neuron.more_current_decays])
    drive = _wrapped(drive, neuron.accumulator_bits)
    current = _wrapped(_toward_zero(state.current * (one - decay), neuron.decay_bits) + drive, neuron.current_bits)
    added = current.sum(axis=0) + neuron.bias
    added = _wrapped(added, neuron.current_bits) if neuron.sum_wraps else added
    voltage = _toward_zero(state.potential * (one - neuron.voltage_decay), neuron.decay_bits) + added
    rests = state.rest > 0
    voltage = np.where(rests, state.potential, np.clip(voltage, -np.minimum(neuron.floor, rail), rail))
    spikes = ~rests & (voltage > neuron.threshold)
    rest = np.where(spikes, neuron.refractory, np.maximum(state.rest - 1, 0))
    left = voltage - neuron.threshold if neuron.subtract else neuron.reset
    return NeuronState(current, np.where(spikes, left, voltage), rest), spikes


def _step_leak(neuron: LeakNeuron, state: NeuronState, drive: Ints) -> tuple[NeuronState, Bools]:
    potential = state.potential + drive[0] + neuron.leak
    spikes = potential >= neuron.threshold
    after = potential - neuron.threshold if neuron.subtract else np.zeros_like(potential)
    return state._replace(potential=np.where(spikes, after, np.maximum(potential, -neuron.floor))), spikes


_STEPS: Mapping[str, Callable[[Any, NeuronState, Ints], tuple[NeuronState, Bools]]] = ReadOnlyMapping(
    {CurrentNeuron.model: _step_current, LeakNeuron.model: _step_leak}
)


def _wrapped(value: Ints, bits: int) -> Ints:
    """Wrap values into a number of bits, two's complement."""
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _toward_zero(value: Ints, bits: int) -> Ints:
    """Divide by 2**bits, rounding toward zero."""
    quotient: Ints = np.sign(value) * (np.abs(value) >> bits)
    return quotient

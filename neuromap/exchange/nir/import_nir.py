"""Import from NIR: restored exactly if this package wrote it, else frame neurons or neurons in a chip's integers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.arrays.array_types import Bools
from neuromap.errors import InputError, NeuromapError, NotSupportedError, StimulusError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.nir.contract import Contracted, contract
from neuromap.exchange.nir.float_network import (
    Convention,
    Parts,
    convention,
    delay_error,
    discretise,
    early_spikes,
    find_ticks,
    float_network,
    late_starts,
)
from neuromap.exchange.nir.neurons import (
    head_of,
    integer_transform,
    is_integer,
    our_shape,
    restore,
    stated_step,
    thresholds_of,
)
from neuromap.files.argument_checks import whole_number
from neuromap.files.foreign import foreign_boundary
from neuromap.files.messages import counted, show, show_name
from neuromap.formats.nir import NirGraph, graph_of, read_nir
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.spiking_neuron import CurrentNeuron
from neuromap.quantise.float_network import FloatNetwork
from neuromap.quantise.float_steps import float_reference
from neuromap.quantise.quantisation import TrainDistance
from neuromap.quantise.quantise_network import quantise
from neuromap.quantise.spike_distance import train_distance
from neuromap.render.numbers import seconds
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.reference_frames import reference

# Steps of random spikes on which spike trains are compared.
STEPS = 100
_ROLLOUTS = ("sequential", "streaming")


def from_nir(
    source: str | Path | Any,
    *,
    chip: str | Path | ChipSpec | None = None,
    dt: float | None = None,
    scheme: str | None = None,
    tool: str | None = None,
    rollout: str = "sequential",
    compare: int | Mapping[str, Bools] = STEPS,
) -> Imported:
    """Import a network from NIR. A file is data: nothing in it is executed.

    Graphs written by :func:`~neuromap.exchange.nir.export_nir.to_nir` are restored exactly. Graphs of thresholds and
    integer weights become networks of frame neurons. All others are solved over a step and quantised for a chip.

    Parameters
    ----------
    source : str, Path, nir.NIRGraph or NirGraph
        A file, which needs h5py, or a graph.
    chip : str, Path, ChipSpec or None
        Chip whose integers float neurons take; ``loihi1`` by default.
    dt : float or None
        Seconds per step, in the unit of the file's time constants; by default the tool's, else that of the file's
        metadata, else 1 ms.
    scheme : {"exponential", "euler"} or None
        Scheme that solves the equations over a step; by default likewise, else ``exponential``.
    tool : str or None
        Tool that wrote the file, in :data:`~neuromap.exchange.nir.float_network.TOOLS`, for its step and scheme.
    rollout : {"sequential", "streaming"}
        Rollout of float neurons. ``sequential``: all paths to a node take equally long, as in tools that pass layer
        after layer within a step; ``streaming``: every edge takes one tick, regardless of parallel paths.
    compare : int or mapping of str to ndarray of bool, shape (steps, size)
        Spikes of input nodes on which the spike trains of the integers are compared with the equations', or a number of
        steps of random ones; 0 for no comparison. It needs Elephant (extra ``distances``); without it, a note says so.

    Returns
    -------
    Imported

    Raises
    ------
    InputError
        If the file is not a NIR file, its graph is malformed, or its metadata state a step that is none.
    NotSupportedError
        If a package is missing, or the chip does not compute an equation.
    NetworkError
        If a value is out of the chip's range at every scale.
    """
    if rollout not in _ROLLOUTS:
        raise InputError(f"rollout {show(rollout)}: is not known; known are {', '.join(_ROLLOUTS)}")
    if not isinstance(compare, Mapping) and whole_number("compare", compare) < 0:
        raise InputError(f"compare = {compare}: must be 0 or more steps, or a mapping of spikes by input node")
    with foreign_boundary("NIR", where=show_name(str(source)) if isinstance(source, str | Path) else ""):
        graph, called = _graph(source)
        try:
            head = head_of(graph)
            is_stated = head is None and dt is None and tool is None
            how = convention(dt, scheme, tool, stated_step(graph) if is_stated else None)
            spec = None if chip is None else load_chip(chip)
            whole, name = contract(graph), _plain(Path(called).stem) or "nir"
            if head is not None:
                found = restore(whole, head)
                made_for = found.network.tables.get("made_for", {}).get("chip")
                given = {"chip": None if spec and spec.name == made_for else chip, "dt": dt}
                given |= {"scheme": scheme, "tool": tool}
                if unused := [option for option, value in given.items() if value is not None]:
                    text = "not used: the metadata say the integers that neuromap wrote, and their step"
                    note = Note(", ".join(unused), text, "remove the metadata to read the equations alone")
                    found = replace(found, refused=(*found.refused, note))
            elif (stateless := frame_network(name, whole, _names(whole))) is not None:
                found = stateless
            else:
                parts = float_parts(whole, how, is_sequential=rollout == "sequential")
                found = _quantised(name, parts, spec or load_chip("loihi1"), compare)
            return replace(found, source=called, producer=f"nir {graph.version}" if graph.version else "")
        except NeuromapError as error:
            raise type(error)(f"{called}: {error}") from None


def float_parts(graph: Contracted, how: Convention, *, is_sequential: bool) -> Parts:
    """Discretise all neurons, and assign ticks to edges."""
    edges = [(term.source, node) for node, neurons in graph.neurons.items() for term in neurons.signal.terms]
    ticks = find_ticks([*graph.inputs, *graph.neurons], dict.fromkeys(edges), is_sequential=is_sequential)
    return Parts(graph, {name: discretise(name, part, how) for name, part in graph.neurons.items()}, ticks, how)


def _quantised(name: str, parts: Parts, chip: ChipSpec, compare: int | Mapping[str, Bools]) -> Imported:
    """Quantise float neurons for a chip, and compare their spike trains."""
    names = _names(parts.graph)
    original = float_network(name, parts, names)
    has_pulses = not chip.kind.computes(CurrentNeuron)
    found = quantise(float_network(name, parts, names, has_pulses=True) if has_pulses else original, chip)
    quantisation = found.quantisation
    told, missing = "", ""
    try:
        if isinstance(compare, Mapping):
            trains = distances(original, found.network, compare)
            told = "on the spikes that were given"
        elif original.inputs and compare > 0 and compare * sum(len(p.weight) for p in original.synapses) <= MOST_WORK:
            rng = np.random.default_rng(0)
            spikes = {name: rng.random((compare, size)) < RATE for name, size in original.inputs.items()}
            trains = distances(original, found.network, spikes)
            told = f"on {compare} steps of random spikes, {RATE:g} per input and step (seed 0)"
        quantisation = replace(quantisation, distances=trains if told else ())
    except NotSupportedError as error:  # Elephant is an extra
        missing = str(error)
    outputs = tuple(names[name] for name in parts.graph.read_out)
    network = replace(found.network, outputs=outputs or found.network.outputs)
    kept, approximated, refused = _kept(parts, names, network), _approximated(parts, names), _refused(parts, names)
    if told:
        approximated = (*approximated, Note("spike trains", f"compared with the equations {told}"))
    if missing:
        refused = (*refused, Note("spike trains", "are not compared with the equations'", missing))
    return Imported(
        network, "nir", source="", kept=kept, approximated=approximated, refused=refused, quantisation=quantisation
    )


def _graph(source: Any) -> tuple[NirGraph, str]:
    if isinstance(source, NirGraph):
        return source, "NirGraph"
    if isinstance(source, str | Path):
        return read_nir(source), show_name(str(source))
    called = type(source).__name__
    if not callable(getattr(source, "to_dict", None)):
        raise InputError(f"from_nir: needs the path of a NIR file or a nir.NIRGraph, got {show(source)}")
    try:
        tree = source.to_dict()
    except (AttributeError, TypeError, ValueError, RuntimeError, RecursionError) as error:
        raise InputError(f"{called}: is not a NIR graph ({show(str(error))})") from None
    try:
        return graph_of(tree if isinstance(tree, Mapping) else {}), called
    except NeuromapError as error:
        raise type(error)(f"{called}: {error}") from None


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:90]


def _names(graph: Contracted) -> dict[str, str]:
    """Give nodes unique names in letters that network files allow."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in (*graph.inputs, *graph.neurons):
        plain = _plain(name)
        number = 2
        while plain in taken:
            plain, number = f"{_plain(name)}_{number}", number + 1
        taken.add(plain)
        found[name] = plain
    return found


# Notes of an import from NIR on what it kept, approximated and refused.


def _kept(parts: Parts, names: dict[str, str], network: Network) -> tuple[Note, ...]:
    graph, how = parts.graph, parts.how
    kinds = Counter(neurons.node.kind for neurons in graph.neurons.values())
    maps = sum(node.kind not in (*kinds, "Input", "Output", "Joint") for node in graph.nodes.values())
    said = [
        Note(
            "graph",
            f"{', '.join(f'{n} {kind}' for kind, n in kinds.items())} as nodes; {counted(maps, 'other primitive')} "
            "as their edges",
        )
    ]
    phases = {names[name]: phase for name, phase in parts.ticks.phases.items() if name in graph.neurons and phase}
    if phases:
        told = ", ".join(f"{name} {phase}" for name, phase in list(phases.items())[:8])
        more = f" and {len(phases) - 8} more" if len(phases) > 8 else ""
        said.append(Note("time", f"spikes of step n of the source come in frame n plus: {told}{more} (ticks)"))
    renamed = [f"{old} as {new}" for old, new in names.items() if old != new and new in network.nodes]
    if renamed:
        more = f" and {len(renamed) - 4} more" if len(renamed) > 4 else ""
        said.append(Note("names", ", ".join(renamed[:4]) + more))
    step = f"{seconds(how.dt)} of the source's time constants"
    said.append(Note("step", f"a tick is {step}, solved by the scheme {how.scheme}; initial voltages are the resets"))
    return tuple(said)


def _approximated(parts: Parts, names: dict[str, str]) -> tuple[Note, ...]:
    how = parts.how
    said = [Note("inputs", "values are spikes, 0 or 1 in every step; code others as spikes on the host")]
    other = "euler" if how.scheme == "exponential" else "exponential"
    for name, found in parts.neurons.items():
        if found.scheme_error > 1e-12:
            text = f"the scheme {other}, which other tools may use, leaves another part of v or I after a tick"
            said.append(Note(names[name], text, error=found.scheme_error, unit="of v or I"))
    for cycle in parts.ticks.cycles:
        text = (
            f"read each other: each of their edges takes a tick, so a way around takes {len(cycle)} ticks or fewer; "
            "tools that compute them one after the other within a step take fewer"
        )
        said.append(Note(", ".join(names[name] for name in cycle[:6]), text))
    if (error := delay_error(parts)) > 1e-9 * how.dt:
        said.append(Note("delays", "are whole ticks", error=error, unit="s"))
    for name, count in early_spikes(parts).items():
        text = f"{counted(count, 'neuron')} fire without input, and do so in the ticks before step 1 too"
        said.append(Note(names[name], text))
    for name, distance in late_starts(parts).items():
        text = "begins step 1 beside its reset, as no voltage so many ticks earlier leads to it"
        said.append(Note(names[name], text, error=distance, unit="of the threshold"))
    hint = _hint(parts)
    return (*said, hint) if hint else tuple(said)


def _hint(parts: Parts) -> Note | None:
    """Suggest the step at which weights add to v unchanged, as in tools that write it as tau / r."""
    steps = []
    for neurons in parts.graph.neurons.values():
        if neurons.node.kind in ("LIF", "CubaLIF"):
            node = neurons.node.parameters
            tau, r = node["tau" if neurons.node.kind == "LIF" else "tau_mem"], node["r"]
            if not (r > 0).all():
                return None
            steps += np.unique(tau / r).tolist()
    if not steps or max(steps) - min(steps) > 1e-4 * max(steps) or abs(steps[0] / parts.how.dt - 1) < 1e-3:
        return None
    if all((n.node.parameters["r"] == 1).all() for n in parts.graph.neurons.values() if "r" in n.node.parameters):
        return None
    text = f"tau / r is {seconds(steps[0])} in all neurons, as tools write it that add weights to v in a step of this"
    return Note("step", text, remedy=f"dt = {steps[0]:g} takes that step")


def _refused(parts: Parts, names: dict[str, str]) -> tuple[Note, ...]:
    said = []
    for readout in parts.graph.readouts:
        sources = ", ".join(names[name] for name in readout.sources[:6])
        text = f"{readout.kind} behind the last spikes is left out: an output of a chip is a spike"
        said.append(Note(readout.name, text, remedy=f"compute it on the host from the spikes of {sources or 'none'}"))
    used = {term.source for neurons in parts.graph.neurons.values() for term in neurons.signal.terms}
    said += [
        Note(names[name], "feeds no neuron and is left out", remedy="connect it to one")
        for name in parts.graph.inputs
        if name not in used
    ]
    return tuple(said)


# Graphs of thresholds and whole weights as networks of frame neurons, whoever wrote them.
def frame_network(name: str, graph: Contracted, names: dict[str, str]) -> Imported | None:
    """Convert a graph of thresholds and integer weights to a network of frame neurons."""
    # returns it without a source; ``None`` if a node has state, a weight is not an integer, or a spike is delayed
    for neurons in graph.neurons.values():
        terms = neurons.signal.terms
        if neurons.node.kind != "Threshold" or not terms:
            return None
        if any(term.delay or term.filter or not is_integer(term.matrix) for term in terms):
            return None
    shapes = {**graph.inputs, **{node: neurons.shape for node, neurons in graph.neurons.items()}}
    used = {term.source for neurons in graph.neurons.values() for term in neurons.signal.terms}
    nodes = {names[u]: Node(names[u], our_shape(shape)) for u, shape in graph.inputs.items() if u in used}
    edges = {}
    for node, neurons in graph.neurons.items():
        found = thresholds_of(node, neurons.node, neurons.shape, neurons.signal.constant)
        nodes[names[node]] = Node(names[node], our_shape(neurons.shape), found)
        for term in neurons.signal.terms:
            transform = integer_transform(node, term, neurons.shape, shapes[term.source], graph.nodes)
            edges[names[term.source], names[node]] = Edge(names[term.source], names[node], transform)
    network = Network(name, nodes, edges, tuple(names[node] for node in graph.read_out))
    text = (
        f"{counted(len(graph.neurons), 'node')} of thresholds and {counted(len(edges), 'edge')} of whole weights are "
        "frame neurons, exactly; any rollout pattern may be chosen"
    )
    refused = [
        Note(r.name, f"{r.kind} behind the last spikes is left out", "compute it on the host") for r in graph.readouts
    ]
    inputs = [np.prod(shapes[u]) for u in graph.inputs if u not in used]
    if inputs:
        refused.append(Note("inputs", f"{counted(len(inputs), 'input')} without edges left out", "connect them"))
    return Imported(network, "nir", "", kept=(Note("graph", text),), refused=tuple(refused))


# Spike trains of the integers against those of the float equations, on random spikes.


# Spikes per input neuron and step of random stimuli.
RATE = 0.2
# Most synapses times steps for which random spikes are compared.
MOST_WORK = 2**28


def distances(
    network: FloatNetwork, integers: Network, spikes: Mapping[str, Bools], originals: Mapping[str, Bools] | None = None
) -> tuple[TrainDistance, ...]:
    """Compare the integer network with the float one, or with spikes of another run of it."""
    # shapes: spikes (steps, size); originals (steps, size)
    for name, array in spikes.items():
        if name not in network.inputs:
            known = ", ".join(network.inputs) or "none"
            raise StimulusError(f"spikes: {show(name)} is not an input node; input nodes are {known}")
        if not isinstance(array, np.ndarray) or array.ndim != 2 or array.dtype.kind not in "biuf":
            raise StimulusError(f"spikes: input {name}: needs an array of shape (steps, {network.inputs[name]})")
    steps = {len(array) for array in spikes.values()} or {0}
    if len(steps) > 1:
        raise StimulusError(f"spikes: found inputs of {sorted(steps)} steps; all need as many")
    (count,) = steps
    for name, size in network.inputs.items():
        if name not in spikes or spikes[name].shape != (count, size):
            raise StimulusError(f"spikes: input {name}: needs an array of shape (steps, {size})")
    frames = {name: np.zeros((count + 1, integers.nodes[name].size), np.bool_) for name in integers.inputs}
    for name, array in spikes.items():
        if name in frames:
            frames[name][1:] = array
    found = reference(Rollout(integers, "streaming"), frames)
    wanted = float_reference(network, spikes, count) if originals is None else originals
    by = "float" if originals is None else "other run"
    return tuple(
        train_distance(
            name, np.asarray(found[name][1:], np.bool_), wanted[name], network.dt, by=by, time_constant=10 * network.dt
        )
        for name in network.nodes
        if name in wanted
    )

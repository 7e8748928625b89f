"""Networks from NIR: as they were if this package wrote them, else float neurons in a chip's integers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import InputError, NeuromapError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.nir.contract.contract import Contracted, contract
from neuromap.exchange.nir.floats.compare import RATE, can_compare, distances, random_spikes
from neuromap.exchange.nir.floats.conventions import Convention, convention
from neuromap.exchange.nir.floats.discrete import discretise
from neuromap.exchange.nir.floats.float_network import Parts, delay_error, float_network
from neuromap.exchange.nir.floats.ticks import find_ticks
from neuromap.exchange.nir.notes import notes_of
from neuromap.exchange.nir.own.frames import frame_network
from neuromap.exchange.nir.own.head import head_of, stated_step
from neuromap.exchange.nir.own.restore import restore
from neuromap.files.foreign import foreign_boundary
from neuromap.files.given import whole_number
from neuromap.files.messages import show, show_name
from neuromap.formats.nir.hdf5_file import read_nir
from neuromap.formats.nir.nir_graph import NirGraph
from neuromap.formats.nir.tree import graph_of
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.quantise.quantise_network import quantise

__all__ = ["STEPS", "float_parts", "from_nir"]

STEPS = 100
"""Steps of random spikes on which spike trains are compared."""
_ROLLOUTS = ("sequential", "streaming")


def from_nir(
    source: str | Path | Any,
    *,
    chip: str | Path | ChipSpec | None = None,
    dt: float | None = None,
    scheme: str | None = None,
    tool: str | None = None,
    rollout: str = "sequential",
    compare: int | Mapping[str, NDArray[np.bool_]] = STEPS,
) -> Imported:
    """Take over a network from NIR. A file is data: nothing in it is executed.

    What :func:`~neuromap.exchange.nir.export_nir.to_nir` wrote comes back as it was. Graphs of thresholds and whole
    weights become networks of frame neurons. All others are solved over a step and put into the integers of a chip.

    Parameters
    ----------
    source : str, Path, nir.NIRGraph or NirGraph
        A file, which needs h5py, or a graph.
    chip : str, Path, ChipSpec or None
        Into whose integers float neurons are put; ``loihi1`` by default.
    dt : float or None
        Seconds of a step, in the unit of the file's time constants; by default the tool's, else what the file's
        metadata say, else 1 ms.
    scheme : {"exponential", "euler"} or None
        How the equations are solved over a step; by default likewise, else ``exponential``.
    tool : str or None
        Who wrote the file, of :data:`~neuromap.exchange.nir.floats.conventions.TOOLS`: its step and scheme.
    rollout : {"sequential", "streaming"}
        Of float neurons. ``sequential``: all ways to a node are equally late, as in tools that pass layer after layer
        within a step; ``streaming``: every edge takes one tick, whatever is beside it.
    compare : int or mapping of str to ndarray of bool, shape (steps, size)
        Spikes of input nodes on which the spike trains of the integers are compared with the equations'; or so many
        steps of random ones, 0 for no comparison. It needs Elephant (extra ``distances``), and is left out without.

    Returns
    -------
    Imported

    Raises
    ------
    InputError
        If the file is none of NIR, or its graph is malformed.
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
        return _imported(source, chip, dt, scheme, tool, rollout, compare)


def _imported(
    source: Any,
    chip: str | Path | ChipSpec | None,
    dt: float | None,
    scheme: str | None,
    tool: str | None,
    rollout: str,
    compare: int | Mapping[str, NDArray[np.bool_]],
) -> Imported:
    graph, called = _graph(source)
    try:
        head = head_of(graph)
        how = convention(dt, scheme, tool, stated_step(graph))
        spec = None if chip is None else load_chip(chip)
        found = contract(graph)
        if head is not None:
            restored = replace(restore(found, head), source=called, producer=_producer(graph))
            unused = {"chip": chip, "dt": dt, "scheme": scheme, "tool": tool}
            return _with_unused(restored, [name for name, value in unused.items() if value is not None])
        stateless = frame_network(_stem(called), found, _names(found))
        if stateless is not None:
            return replace(stateless, source=called, producer=_producer(graph))
        parts = float_parts(found, how, is_sequential=rollout == "sequential")
        return _quantised(parts, spec or load_chip("loihi1"), called, _producer(graph), compare)
    except NeuromapError as error:
        raise type(error)(f"{called}: {error}") from None


def _with_unused(found: Imported, options: list[str]) -> Imported:
    """Say which options are of no use for what comes back as it was."""
    if not options:
        return found
    text = "not used: the metadata say the integers that neuromap wrote, and their step"
    remedy = "remove the metadata to read the equations alone"
    return replace(found, refused=(*found.refused, Note(", ".join(options), text, remedy)))


def float_parts(graph: Contracted, how: Convention, *, is_sequential: bool) -> Parts:
    """Solve all neurons over a step, and give edges their ticks."""
    edges = [(term.source, node) for node, neurons in graph.neurons.items() for term in neurons.signal.terms]
    ticks = find_ticks([*graph.inputs, *graph.neurons], dict.fromkeys(edges), is_sequential=is_sequential)
    return Parts(graph, {name: discretise(name, part, how) for name, part in graph.neurons.items()}, ticks, how)


def _quantised(
    parts: Parts, chip: ChipSpec, called: str, producer: str, compare: int | Mapping[str, NDArray[np.bool_]]
) -> Imported:
    names = _names(parts.graph)
    original = float_network(_stem(called), parts, names)
    is_crossbar = chip.core_model == "crossbar"
    found = quantise(float_network(_stem(called), parts, names, has_pulses=True) if is_crossbar else original, chip)
    quantisation = found.quantisation
    told = ""
    if isinstance(compare, Mapping):
        quantisation = replace(quantisation, distances=distances(original, found.network, compare))
        told = "compared with the equations on the spikes that were given"
    elif can_compare(original, compare):
        trains = distances(original, found.network, random_spikes(original, compare))
        quantisation = replace(quantisation, distances=trains)
        told = f"compared with the equations on {compare} steps of random spikes, {RATE:g} per input and step (seed 0)"
    outputs = tuple(names[name] for name in parts.graph.read_out)
    network = replace(found.network, outputs=outputs or found.network.outputs)
    kept, approximated, refused = notes_of(parts, names, network, delay_error(parts))
    if told:
        approximated = (*approximated, Note("spike trains", told))
    return Imported(
        network,
        "nir",
        called,
        producer,
        kept=kept,
        approximated=approximated,
        refused=refused,
        quantisation=quantisation,
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
        raise InputError(f"{called}: is no NIR graph ({show(str(error))})") from None
    try:
        return graph_of(tree if isinstance(tree, Mapping) else {}), called
    except NeuromapError as error:
        raise type(error)(f"{called}: {error}") from None


def _producer(graph: NirGraph) -> str:
    return f"nir {graph.version}" if graph.version else ""


def _stem(called: str) -> str:
    return _plain(Path(called).stem) or "nir"


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", name)[:90]


def _names(graph: Contracted) -> dict[str, str]:
    """Name nodes in letters that network files take, none twice."""
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

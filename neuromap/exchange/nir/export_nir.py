"""Networks for NIR: files that other tools read, and that come back as they were."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from neuromap.exchange.exported import Exported
from neuromap.exchange.imported import Note
from neuromap.exchange.nir.floats.conventions import step_given
from neuromap.exchange.nir.own.graph import network_graph
from neuromap.exchange.nir.own.head import lost_tables
from neuromap.files.given import needs, path_given
from neuromap.files.messages import counted
from neuromap.formats.nir.nir_graph import NirGraph
from neuromap.formats.nir.nir_object import nir_bytes, write_nir
from neuromap.network.file.network_file import load_network
from neuromap.network.network import Network
from neuromap.network.neurons.current_neuron import CurrentNeuron
from neuromap.network.neurons.leak_neuron import LeakNeuron

__all__ = ["export_nir", "nir_graph", "to_nir"]


def nir_graph(network: Network, *, dt: float = 1e-3) -> NirGraph:
    """Write a network as a NIR graph, without a file.

    Parameters
    ----------
    network : Network
        With weights.
    dt : float
        Seconds of a tick.

    Returns
    -------
    NirGraph
        As :func:`to_nir` writes it.

    Raises
    ------
    InputError
        If ``dt`` is out of bounds.
    NetworkError, NotSupportedError
        As :func:`to_nir`.
    """
    needs("nir_graph", network, Network)
    return network_graph(network, step_given(dt))


def to_nir(network: Network, path: str | Path, *, dt: float = 1e-3) -> tuple[Note, ...]:
    """Write a network as a NIR file, whole or not at all.

    :func:`~neuromap.exchange.nir.import_nir.from_nir` gives it back as it was. Other tools read its equations: neurons
    with currents as CubaLIF or LIF (further currents as LI before it), with a constant leak as IF with a bias, frame
    neurons as Threshold.

    Parameters
    ----------
    network : Network
        With weights.
    path : str or Path
        Ends in ``.nir`` by custom.
    dt : float
        Seconds of a tick: NIR has time constants in seconds.

    Returns
    -------
    tuple of Note
        What NIR's equations do not say, so that another tool computes something else.

    Raises
    ------
    NotSupportedError
        If ``nir`` is not installed, or a matrix is too large for a dense one.
    NetworkError
        If weights or thresholds are missing.
    InputError
        If the file cannot be written.
    """
    path = path_given("to_nir", path)
    write_nir(nir_graph(network, dt=dt), path)
    return _unsaid(network)


def export_nir(source: Path) -> Exported:
    """Make a NIR file of a network file, for ``neuromap export``; a tick is 1 ms."""
    network = load_network(source)
    graph = nir_graph(network)
    parts = f"{counted(len(network.nodes), 'node')} and {counted(len(network.edges), 'edge')}"
    return Exported(
        network.name,
        "nir",
        {f"{source.stem}.nir": nir_bytes(graph)},
        figures={"primitives": len(graph.nodes), "edges of the graph": len(graph.edges)},
        kept=(Note("network", f"{parts}: neuromap import nir gives them back as they are"),),
        approximated=_unsaid(network),
    )


def _unsaid(network: Network) -> tuple[Note, ...]:
    if not network.is_spiking:
        text = "edges say no frames: patterns are in the metadata, other tools pass values layer after layer"
        return (Note("rollout", text), *_lost(network))
    notes = [Note("time", "every edge takes a tick, and delays beyond it are Delay; other tools may take none")]
    notes += _lost(network)
    for name, node in network.nodes.items():
        neuron = node.neuron
        if isinstance(neuron, CurrentNeuron):
            said = ["values are rounded toward zero and wrap or stop at their widths"]
            said += ["neurons rest after a spike"] if neuron.refractory.any() else []
            said += ["currents or voltages do not begin at 0"] if _starts(neuron.current, neuron.voltage) else []
        elif isinstance(neuron, LeakNeuron):
            said = [f"potentials stop at {-int(neuron.floor.max(initial=0))} or above"]
            said += ["a spike takes the threshold off"] if neuron.subtract else []
            said += ["potentials do not begin at 0"] if neuron.potential.any() else []
        else:
            continue
        notes.append(Note(name, "; ".join(said) + ": in the metadata only"))
    return tuple(notes)


def _lost(network: Network) -> list[Note]:
    return [
        Note(f"table {name}", "holds arrays and is left out; keep the network file") for name in lost_tables(network)
    ]


def _starts(*arrays: np.ndarray) -> bool:
    return any(bool(array.any()) for array in arrays)

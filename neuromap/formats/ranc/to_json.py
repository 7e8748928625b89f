"""An image as the two JSON files of RANC's simulator: a configuration and an input."""

from __future__ import annotations

import json

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NotSupportedError
from neuromap.files.messages import show_name
from neuromap.formats.ranc.case import RancCores
from neuromap.formats.ranc.image import RancImage
from neuromap.formats.ranc.json_file import MOST_BYTES, PARAMETERS

__all__ = ["ranc_config", "ranc_input"]

_BYTES_OF_A_NEURON = 400
"""More than its parameters take as text; its connections take two bytes each."""


def ranc_config(image: RancImage) -> str:
    """Write the configuration of RANC's simulator, without traces.

    Parameters
    ----------
    image : RancImage

    Returns
    -------
    str
        JSON.
    """
    columns, rows = image.grid
    _, neurons, axons = image.cores.connections.shape
    config = {
        "num_neurons": neurons,
        "num_axons": axons,
        "num_cores_x": columns,
        "num_cores_y": rows,
        "num_weights": image.cores.weights.shape[2],
        "max_tick_offset": image.ticks_ahead,
        "neuron_block_trace_verbosity": 0,
        "core_controller_trace_verbosity": 0,
        "scheduler_trace_verbosity": 0,
        "neuron_reset_type": int(image.inclusive),
    }
    return json.dumps(config, indent=4) + "\n"


def ranc_input(image: RancImage) -> str:
    """Write the input of RANC's simulator: packets, the output bus, and all neurons of all cores, whole.

    Parameters
    ----------
    image : RancImage

    Returns
    -------
    str
        JSON. Connections are whole rows, and neurons that do nothing are there too, so that RANC's own tools make the
        memory files of its FPGA design from it.

    Raises
    ------
    NotSupportedError
        If it would be larger than :func:`~neuromap.formats.ranc.json_file.read_json` reads.
    """
    cores = image.cores
    n_cores, n_neurons, n_axons = cores.connections.shape
    size = n_cores * n_neurons * (_BYTES_OF_A_NEURON + 2 * n_axons) + 100 * len(image.input_spikes)
    if size > MOST_BYTES:
        raise NotSupportedError(
            f"program {show_name(image.name)}: {n_cores} cores make an input file of about {size} bytes; at most "
            f"{MOST_BYTES} are written: export a program of fewer cores, or fewer frames"
        )
    head = {
        "packets": _packets(image.input_spikes),
        "output_bus": {"coordinates": list(image.output_bus), "num_outputs": image.n_outputs},
    }
    body = ",\n".join(_core(cores, c) for c in range(n_cores))
    return f'{json.dumps(head)[:-1]}, "cores": [\n{body}\n]}}\n'


def _packets(packets: NDArray[np.int64]) -> list[list[dict[str, object]]]:
    groups: list[list[dict[str, object]]] = [[] for _ in range(int(packets[:, 0].max(initial=0)) + 1)]
    for group, x, y, axon, tick in packets.tolist():
        groups[group].append({"destination_core": [x, y], "destination_axon": axon, "destination_tick": tick})
    return groups


def _core(cores: RancCores, c: int) -> str:
    value = {name: array[c].tolist() for name, array in cores.parameters.items()}
    weights = cores.weights[c].tolist()
    neurons = [
        {
            **{theirs: value[ours][n] for ours, theirs in PARAMETERS.items()},
            "weights": weights[n],
            "destination_core_offset": [value["dx"][n], value["dy"][n]],
        }
        for n in range(len(weights))
    ]
    head = {"coordinates": cores.coordinates[c].tolist(), "axons": cores.axon_types[c].tolist(), "neurons": neurons}
    rows = ",\n".join(f"[{_commas(row)}]" for row in cores.connections[c])
    return f'{json.dumps(head)[:-1]}, "connections": [{rows}]}}'


def _commas(bits: NDArray[np.bool_]) -> str:
    """Write a row of bits with commas between them, at once."""
    text = np.full(max(2 * len(bits) - 1, 0), ord(","), np.uint8)
    text[::2] = bits.astype(np.uint8) + ord("0")
    return text.tobytes().decode("ascii")

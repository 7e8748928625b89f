"""An image as the files of RANC's FPGA design: memory images of all cores of the grid, and the input packets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NotSupportedError
from neuromap.files.messages import show_name
from neuromap.formats.ranc.hardware_widths import MOST_CORES, TYPE_BITS, beyond_hardware, memory_fields
from neuromap.formats.ranc.image import RancImage

__all__ = ["ranc_vectors"]

_Ints = NDArray[np.int64]


def ranc_vectors(image: RancImage, outputs: Sequence[_Ints]) -> dict[str, str]:
    """Write memory images and test vectors, as :func:`~neuromap.formats.ranc.vectors.read_vectors` reads them.

    Parameters
    ----------
    image : RancImage
        Cores that it does not hold, that in the output bus's place among them, are silent ones.
    outputs : sequence of ndarray of int64
        Outputs that spike in tick 0, 1, ...: what the design must answer.

    Returns
    -------
    dict of str to str
        Text by file name: ``csram_000.mem`` and ``tc_000.mem`` of core 0 and so on, ``tb_input.txt``,
        ``tb_num_inputs.txt``, ``tb_correct.txt``, ``tb_num_outputs.txt``.

    Raises
    ------
    NotSupportedError
        If a value does not fit the memory, or the grid has more than ``MOST_CORES`` cores.
    """
    beyond = beyond_hardware(image)
    columns, rows = image.grid
    if not beyond and columns * rows > MOST_CORES:
        beyond = f"{columns * rows} cores of the grid (at most {MOST_CORES})"
    if beyond:
        raise NotSupportedError(
            f"program {show_name(image.name)}: RANC's FPGA design has no room for {beyond}: map it onto the chip ranc, "
            "or export to ranc, for the simulator"
        )
    cores = image.cores
    _, n_neurons, n_axons = cores.connections.shape
    fields = memory_fields(n_axons)
    values = {**cores.parameters, **{f"weight{g}": cores.weights[:, :, g] for g in range(cores.weights.shape[2])}}
    row_of = {(x, y): row for row, (x, y) in enumerate(cores.coordinates.tolist())}
    silent = "0" * n_axons + "".join(
        _bits(np.array([name == "positive_threshold"]), bits)[0] for name, bits in fields.items()
    )
    files = {}
    for i in range(columns * rows):
        row = row_of.get((i % columns, i // columns))
        if row is None:
            images, types = [silent] * n_neurons, ["0" * TYPE_BITS] * n_axons
        else:
            # the leftmost bit is the last axon
            bits = cores.connections[row][:, ::-1].astype(np.uint8) + ord("0")
            parts = [_bits(values[name][row], width) for name, width in fields.items()]
            images = [bits[n].tobytes().decode("ascii") + "".join(part[n] for part in parts) for n in range(n_neurons)]
            types = _bits(cores.axon_types[row], TYPE_BITS)
        files[f"csram_{i:03}.mem"], files[f"tc_{i:03}.mem"] = _lines(images), _lines(types)
    return files | _vectors(image, outputs, fields)


def _vectors(image: RancImage, outputs: Sequence[_Ints], fields: Mapping[str, int]) -> dict[str, str]:
    group, x, y, axon, tick = image.input_spikes.T
    columns = zip((x, y, axon, tick), ("dx", "dy", "axon", "tick"), strict=True)
    packets = ["".join(parts) for parts in zip(*(_bits(v, fields[name]) for v, name in columns), strict=True)]
    shown = np.concatenate([np.zeros(0, np.int64), *outputs])
    return {
        "tb_input.txt": _lines(packets),
        "tb_num_inputs.txt": _lines([str(n) for n in np.bincount(group, minlength=1).tolist()]),
        "tb_correct.txt": _lines(_bits(shown, fields["axon"])),
        "tb_num_outputs.txt": _lines([str(len(spiking)) for spiking in outputs] or ["0"]),
    }


def _bits(values: NDArray[np.integer] | NDArray[np.bool_], width: int) -> list[str]:
    """Write numbers as bits, most significant first, two's complement where they are below 0."""
    modulus = 1 << width
    return [f"{value % modulus:0{width}b}" if width else "" for value in values.astype(np.int64).tolist()]


def _lines(words: Sequence[str]) -> str:
    return "".join(f"{word}\n" for word in words)

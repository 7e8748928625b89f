"""The two JSON files of RANC's simulator, a configuration and an input: written from images, and read."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show, show_name
from neuromap.formats.ranc.image import RancCase, RancCores, RancImage, make_case, ranc_chip
from neuromap.hardware.chip.chip_spec import ChipSpec

# Upper bound of its parameters as text; its connections take two bytes each.
_BYTES_OF_A_NEURON = 400


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
        **{f"{part}_trace_verbosity": 0 for part in ("neuron_block", "core_controller", "scheduler")},
        "neuron_reset_type": int(image.inclusive),
    }
    return json.dumps(config, indent=4) + "\n"


def ranc_input(image: RancImage) -> str:
    """Write the input of RANC's simulator: packets, the output bus, and all neurons of all cores in full.

    Parameters
    ----------
    image : RancImage

    Returns
    -------
    str
        JSON. Connections are whole rows, and idle neurons are included, so that RANC's own tools can make the memory
        files of its FPGA design from it.

    Raises
    ------
    NotSupportedError
        If it would be larger than :func:`~neuromap.formats.ranc.to_json.read_json` reads.
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


# RANC's simulator files: a configuration (grid and sizes) and an input (cores, output bus, packets), as JSON.
#
# The simulator's numbers are C++ integers without a width of their own: weights and leaks are taken with 16 bits,
# thresholds with 31, potentials with 32. ``neuron_reset_type`` 0 compares with the negative threshold by ``<``, 1 by
# ``<=``.


# Most bytes of a file; a longer one is refused unread.
MOST_BYTES = 1 << 27
# Most connections, or bytes of weights, of all cores: a small file may ask for large ones.
_MOST_BITS = 1 << 29
_INT32 = (-(2**31), 2**31 - 1)
PARAMETERS = {  # ours: theirs
    "potential": "current_potential",
    "reset": "reset_potential",
    "leak": "leak",
    "positive_threshold": "positive_threshold",
    "negative_threshold": "negative_threshold",
    "reset_mode": "reset_mode",
    "axon": "destination_axon",
    "tick": "destination_tick",
}


def read_json(config: str | Path, input_file: str | Path) -> RancCase:
    """Read a configuration and an input of RANC's simulator.

    Parameters
    ----------
    config : str or Path
        The configuration: ``num_neurons``, ``num_axons``, ``num_cores_x``, ``num_cores_y``, ``num_weights``,
        ``max_tick_offset``, ``neuron_reset_type``; verbosities are ignored.
    input_file : str or Path
        ``cores``, ``output_bus`` and ``packets``. Neurons that a core does not describe are silent.

    Returns
    -------
    RancCase
        Without expected outputs: the files hold none.

    Raises
    ------
    ProgramError
        If a file cannot be read, a key is missing or a value is of the wrong kind or range.
    ChipError
        If the configuration describes an impossible chip.
    StimulusError
        If a packet lies outside the grid, the axons or the delays.
    """
    with foreign_boundary("RANC's JSON", ProgramError, show_name(str(input_file))):
        return _case(Path(config), Path(input_file))


def _case(config: Path, input_file: Path) -> RancCase:
    chip, top = _chip(_read(config)), _read(input_file)
    bus = top.at("output_bus")
    cores = top.at("cores").items(chip.n_cores)
    if not cores:
        raise ProgramError(f"{input_file}: cores: holds none; needs one or more")
    packets = [
        (
            group,
            *packet.at("destination_core").pair(),
            packet.at("destination_axon").integer(),
            packet.at("destination_tick").integer(),
        )
        for group, packets in enumerate(top.at("packets").items())
        for packet in packets.items()
    ]
    return make_case(
        name=f"RANC {input_file.stem}",
        chip=chip,
        cores=_cores(cores, chip, str(input_file)),
        output_bus=bus.at("coordinates").pair(),
        n_outputs=bus.at("num_outputs").integer(1, 2**26),
        input_spikes=np.array(packets, dtype=np.int64).reshape(-1, 5),
    )


class _Json(NamedTuple):
    """A JSON value with its path."""

    value: Any
    path: str

    def at(self, key: str) -> _Json:
        if not isinstance(self.value, dict):
            raise ProgramError(f"{self.path}: found {show(self.value)}; needs an object")
        if key not in self.value:
            raise ProgramError(f"{self.path}: {key}: missing")
        return _Json(self.value[key], f"{self.path}: {key}")

    def array(self, longest: int = _INT32[1]) -> list[Any]:
        if not isinstance(self.value, list) or len(self.value) > longest:
            found = f"{len(self.value)} values" if isinstance(self.value, list) else show(self.value)
            raise ProgramError(f"{self.path}: found {found}; needs an array of at most {longest}")
        return self.value

    def items(self, longest: int = _INT32[1]) -> list[_Json]:
        return [_Json(value, f"{self.path}[{i}]") for i, value in enumerate(self.array(longest))]

    def integer(self, least: int = _INT32[0], greatest: int = _INT32[1]) -> int:
        return _integer(self.value, self.path, least, greatest)

    def integers(self, longest: int, least: int = _INT32[0], greatest: int = _INT32[1]) -> list[int]:
        return [_integer(value, self.path, least, greatest) for value in self.array(longest)]

    def pair(self) -> tuple[int, int]:
        pair = self.integers(2)
        if len(pair) != 2:
            raise ProgramError(f"{self.path}: found {pair}; needs two integers")
        return (pair[0], pair[1])


def _integer(value: Any, path: str, least: int, greatest: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
        raise ProgramError(f"{path}: found {show(value)}; needs an integer {least} to {greatest}")
    return value


def _read(path: Path) -> _Json:
    name = show_name(str(path))
    try:
        data = read_bytes(path, "JSON file", MOST_BYTES, ProgramError)
        return _Json(json.loads(data, parse_constant=_no_number, object_pairs_hook=_once), name)
    except ProgramError as error:
        raise ProgramError(f"{name}: {error}") from None
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ProgramError(f"{name}: is not valid JSON") from None


def _no_number(word: str) -> None:
    raise ProgramError(f"found {word}; needs integers")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, whose keys must be unique: readers do not agree on which of two values holds."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise ProgramError(f"key {show(twice)} stands twice in one object; each must stand once")
    return found


def _chip(config: _Json) -> ChipSpec:
    is_symmetric = config.at("neuron_reset_type").integer(0, 1)
    names = ("num_cores_x", "num_cores_y", "num_axons", "num_neurons", "num_weights")
    columns, rows, axons, neurons, axon_types = (config.at(name).integer() for name in names)
    return ranc_chip(
        "<=" if is_symmetric else "<",
        name="ranc_simulator",
        cores=(columns, rows),
        axons=axons,
        neurons=neurons,
        axon_types=axon_types,
        weight_bits=16,
        leak_bits=16,
        threshold_bits=31,
        potential_bits=32,
        # one slot of the scheduler is read while the others fill
        delay=(1, config.at("max_tick_offset").integer(2, 256) - 1),
        source="github.com/UA-RCL/RANC, simulator",
    )


def _cores(items: list[_Json], chip: ChipSpec, origin: str) -> RancCores:
    shape = (len(items), chip.neurons)
    if (size := len(items) * chip.neurons * max(chip.axons, 8 * chip.axon_types)) > _MOST_BITS:
        raise ProgramError(
            f"{origin}: cores: {len(items)} of {chip.neurons} neurons with {chip.axons} axons and {chip.axon_types} "
            f"weights take {size} bytes; at most {_MOST_BITS} are read"
        )
    parameters = {key: np.zeros(shape, dtype=np.int64) for key in (*PARAMETERS, "dx", "dy")}
    parameters["positive_threshold"][:] = 1  # a neuron that is not described stays silent
    weights = np.zeros((*shape, chip.axon_types), dtype=np.int64)
    types = np.zeros((len(items), chip.axons), dtype=np.int64)
    connections = np.zeros((*shape, chip.axons), dtype=np.bool_)
    present = np.zeros(shape, dtype=np.bool_)
    coordinates = np.zeros((len(items), 2), dtype=np.int64)
    for c, core in enumerate(items):
        coordinates[c] = x, y = core.at("coordinates").pair()
        if not (0 <= x < chip.columns and 0 <= y < chip.rows):
            raise ProgramError(
                f"{core.path}: coordinates: found {[x, y]}; needs x 0 to {chip.columns - 1}, y 0 to {chip.rows - 1}"
            )
        row = core.at("axons").integers(chip.axons, 0, chip.axon_types - 1)
        types[c, : len(row)] = row
        neurons = core.at("neurons").items(chip.neurons)
        for n, bits in enumerate(core.at("connections").items(len(neurons))):
            row = bits.integers(chip.axons, 0, 1)
            connections[c, n, : len(row)] = row
        for n, neuron in enumerate(neurons):
            present[c, n] = True
            row = neuron.at("weights").integers(chip.axon_types)
            weights[c, n, : len(row)] = row
            for ours, theirs in PARAMETERS.items():
                parameters[ours][c, n] = neuron.at(theirs).integer()
            parameters["dx"][c, n], parameters["dy"][c, n] = neuron.at("destination_core_offset").pair()
    places, counts = np.unique(coordinates, axis=0, return_counts=True)
    if np.any(counts > 1):
        raise ProgramError(f"{origin}: cores: {places[counts > 1][0].tolist()} is described twice")
    return RancCores(coordinates, types, connections, weights, parameters, present)

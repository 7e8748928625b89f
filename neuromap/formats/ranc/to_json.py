"""The two JSON files of RANC's simulator, a configuration and an input: written from images, and read."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show, show_name
from neuromap.formats.ranc.image import RancCase, RancCores, RancImage, make_case
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec, NeuronRules

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
        "neuron_block_trace_verbosity": 0,
        "core_controller_trace_verbosity": 0,
        "scheduler_trace_verbosity": 0,
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
    bus = top.child("output_bus")
    cores = top.items("cores", chip.n_cores)
    if not cores:
        raise ProgramError(f"{input_file}: cores: holds none; needs one or more")
    packets = [
        (group, *_pair(packet, "destination_core"), packet.integer("destination_axon"),
         packet.integer("destination_tick"))
        for group, items in enumerate(top.lists("packets"))
        for packet in items
    ]  # fmt: skip
    return make_case(
        name=f"RANC {input_file.stem}",
        chip=chip,
        cores=_cores(cores, chip, str(input_file)),
        output_bus=_pair(bus, "coordinates"),
        n_outputs=bus.integer("num_outputs", 1, 2**26),
        input_spikes=np.array(packets, dtype=np.int64).reshape(-1, 5),
    )


class _Object:
    """A JSON object with its path, read value by value."""

    def __init__(self, value: Any, path: str) -> None:
        if not isinstance(value, Mapping):
            raise ProgramError(f"{path}: found {show(value)}; needs an object")
        self._value, self.path = value, path

    def get(self, key: str) -> Any:
        if key not in self._value:
            raise ProgramError(f"{self.path}: {key}: missing")
        return self._value[key]

    def child(self, key: str) -> _Object:
        return _Object(self.get(key), f"{self.path}: {key}")

    def integer(self, key: str, least: int = _INT32[0], greatest: int = _INT32[1]) -> int:
        return self._integer(key, self.get(key), least, greatest)

    def integers(self, key: str, longest: int, least: int = _INT32[0], greatest: int = _INT32[1]) -> list[int]:
        return [self._integer(key, value, least, greatest) for value in self.array(key, longest)]

    def array(self, key: str, longest: int) -> list[Any]:
        return self._array(key, self.get(key), longest)

    def items(self, key: str, longest: int) -> list[_Object]:
        return [_Object(v, f"{self.path}: {key}[{i}]") for i, v in enumerate(self.array(key, longest))]

    def lists(self, key: str) -> list[list[_Object]]:
        """Return an array of arrays of objects."""
        return [
            [
                _Object(v, f"{self.path}: {key}[{i}][{j}]")
                for j, v in enumerate(self._array(f"{key}[{i}]", group, _INT32[1]))
            ]
            for i, group in enumerate(self.array(key, _INT32[1]))
        ]

    def bits(self, key: str, rows: int, columns: int) -> NDArray[np.bool_]:
        """Return rows of 0 and 1, padded with 0 to ``rows`` x ``columns``."""
        result = np.zeros((rows, columns), dtype=np.bool_)
        for i, row in enumerate(self.array(key, rows)):
            values = self._array(f"{key}[{i}]", row, columns)
            result[i, : len(values)] = [self._integer(f"{key}[{i}]", value, 0, 1) for value in values]
        return result

    def _array(self, key: str, value: Any, longest: int) -> list[Any]:
        if not isinstance(value, list) or len(value) > longest:
            found = f"{len(value)} values" if isinstance(value, list) else show(value)
            raise ProgramError(f"{self.path}: {key}: found {found}; needs an array of at most {longest}")
        return value

    def _integer(self, key: str, value: Any, least: int, greatest: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= greatest:
            raise ProgramError(f"{self.path}: {key}: found {show(value)}; needs an integer {least} to {greatest}")
        return value


def _read(path: Path) -> _Object:
    try:
        data = read_bytes(path, "JSON file", MOST_BYTES, ProgramError)
    except ProgramError as error:
        raise ProgramError(f"{show_name(str(path))}: {error}") from None
    try:
        value = json.loads(data, parse_constant=_no_number, object_pairs_hook=_once)
    except _Refused as error:
        raise ProgramError(f"{show_name(str(path))}: {error}") from None
    except (ValueError, RecursionError):  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise ProgramError(f"{show_name(str(path))}: is not valid JSON") from None
    return _Object(value, show_name(str(path)))


class _Refused(Exception):
    """Something that JSON or Python's reader of it allows, but these files must not hold."""


def _no_number(word: str) -> None:
    raise _Refused(f"found {word}; needs integers")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object, whose keys must be unique: readers do not agree on which of two values holds."""
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise _Refused(f"key {show(twice)} stands twice in one object; each must stand once")
    return found


def _pair(value: _Object, key: str) -> tuple[int, int]:
    pair = value.integers(key, 2)
    if len(pair) != 2:
        raise ProgramError(f"{value.path}: {key}: found {pair}; needs two integers")
    return (pair[0], pair[1])


def _chip(config: _Object) -> ChipSpec:
    symmetric = config.integer("neuron_reset_type", 0, 1)
    chip = ChipSpec(
        name="ranc_simulator",
        cores=(config.integer("num_cores_x"), config.integer("num_cores_y")),
        chips=(1, 1),
        axons=config.integer("num_axons"),
        neurons=config.integer("num_neurons"),
        axon_types=config.integer("num_weights"),
        weight_bits=16,
        leak_bits=16,
        threshold_bits=31,
        potential_bits=32,
        # one slot of the scheduler is read while the others fill
        delay=(1, config.integer("max_tick_offset", 2, 256) - 1),
        rules=NeuronRules(
            number_format="twos_complement",
            overflow="wrap",
            negative_comparison="<=" if symmetric else "<",
            signed_threshold=True,
        ),
        source="github.com/UA-RCL/RANC, simulator",
    )
    return load_chip(chip)


def _cores(items: list[_Object], chip: ChipSpec, origin: str) -> RancCores:
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
        coordinates[c] = x, y = _pair(core, "coordinates")
        if not (0 <= x < chip.columns and 0 <= y < chip.rows):
            raise ProgramError(
                f"{core.path}: coordinates: found {[x, y]}; needs x 0 to {chip.columns - 1}, y 0 to {chip.rows - 1}"
            )
        row = core.integers("axons", chip.axons, 0, chip.axon_types - 1)
        types[c, : len(row)] = row
        neurons = core.items("neurons", chip.neurons)
        connections[c, : len(neurons)] = core.bits("connections", len(neurons), chip.axons)
        for n, neuron in enumerate(neurons):
            present[c, n] = True
            row = neuron.integers("weights", chip.axon_types)
            weights[c, n, : len(row)] = row
            for ours, theirs in PARAMETERS.items():
                parameters[ours][c, n] = neuron.integer(theirs)
            parameters["dx"][c, n], parameters["dy"][c, n] = _pair(neuron, "destination_core_offset")
    places, counts = np.unique(coordinates, axis=0, return_counts=True)
    if np.any(counts > 1):
        raise ProgramError(f"{origin}: cores: {places[counts > 1][0].tolist()} is described twice")
    return RancCores(coordinates, types, connections, weights, parameters, present)

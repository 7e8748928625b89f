"""RANC's hardware test vectors: memory images of all cores, input packets and expected outputs, as text of bits.

The folder holds, for every core i = x + columns * y, ``csram_i.mem`` (one row of bits per neuron) and ``tc_i.mem``
(one row per axon: its type), and ``tb_input.txt``, ``tb_num_inputs.txt``, ``tb_correct.txt``,
``tb_num_outputs.txt``. Numbers are most significant bit first, two's complement where signed; comments are those of
Verilog. The place of the output bus need not have a core.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.errors import InputError, NotSupportedError, ProgramError, StimulusError
from neuromap.files.foreign import foreign_boundary, read_bytes
from neuromap.files.messages import show_name
from neuromap.formats.ranc.image import RancCase, RancCores, RancImage, make_case, ranc_chip

_MAX_BYTES = 1 << 28
_COMMENT = re.compile(r"/\*|//")
_UNSIGNED = ("reset_mode", "axon", "tick")


def read_vectors(
    folder: str | Path, *, columns: int, output_bus: tuple[int, int], n_outputs: int | None = None
) -> RancCase:
    """Read a folder of RANC's hardware test vectors.

    Parameters
    ----------
    folder : str or Path
    columns : int
        Number of cores along x, which the files do not hold; the rows follow from the number of files.
    output_bus : tuple of int
        x and y of the output bus.
    n_outputs : int, optional
        Number of outputs of the bus, which ``tb_correct.txt`` numbers in as few bits as possible; by default the
        axons of a core, rounded up to a power of 2.

    Returns
    -------
    RancCase
        The chip has 9-bit potentials that wrap, as in RANC's hardware.

    Raises
    ------
    ProgramError
        If a memory image is missing or malformed.
    ChipError
        If the images describe an impossible chip.
    StimulusError
        If the packets or the expected outputs are missing or malformed.
    """
    folder = Path(folder)
    with foreign_boundary("RANC's test vectors", ProgramError, show_name(str(folder))):
        return _read(folder, columns, output_bus, n_outputs)


def _read(folder: Path, columns: int, output_bus: tuple[int, int], n_outputs: int | None) -> RancCase:
    n_cores = len(list(folder.glob("csram_*.mem"))) if folder.is_dir() else 0
    bus = output_bus[0] + columns * output_bus[1]
    numbers = list(range(n_cores))
    if columns >= 1 and (n_cores + 1) % columns == 0 and 0 <= bus <= n_cores and not _csram(folder, bus).exists():
        n_cores += 1
        numbers = [i for i in range(n_cores) if i != bus]
    if not numbers:
        raise ProgramError(f"{folder}: holds no csram_000.mem; needs a folder of RANC's test vectors")
    if columns < 1 or n_cores % columns:
        raise ProgramError(f"{folder}: holds {n_cores} cores, which do not make rows of {columns} columns")
    images = [_read_bits(_csram(folder, i), ProgramError) for i in numbers]
    types = [_read_bits(folder / f"tc_{i:03}.mem", ProgramError) for i in numbers]
    for kind, files in (("csram", images), ("tc", types)):
        for i, bits in zip(numbers, files, strict=True):
            if bits.shape != files[0].shape:
                raise ProgramError(
                    f"{folder / f'{kind}_{i:03}.mem'}: holds {list(bits.shape)} rows and bits; "
                    f"needs {list(files[0].shape)} as in {kind}_{numbers[0]:03}.mem"
                )
    _require_width(folder / f"tc_{numbers[0]:03}.mem", types[0], TYPE_BITS, ProgramError)
    n_axons = len(types[0])
    axon_bits = (n_axons - 1).bit_length()
    if n_outputs is not None and not 1 <= n_outputs <= n_axons:
        raise ProgramError(f"{folder}: n_outputs: found {n_outputs}; allowed are 1 to {n_axons}, the axons of a core")
    most = 2**axon_bits if n_outputs is None else n_outputs
    widths = memory_fields(n_axons)
    needed = n_axons + sum(widths.values())
    if images[0].shape[1] != needed:
        raise ProgramError(
            f"{_csram(folder, numbers[0])}: rows have {images[0].shape[1]} bits; "
            f"needs {needed} for the {n_axons} axons of tc_{numbers[0]:03}.mem"
        )
    chip = ranc_chip(
        "<",
        name=f"ranc_{folder.name}",
        cores=(columns, n_cores // columns),
        axons=n_axons,
        neurons=len(images[0]),
        axon_types=N_WEIGHTS,
        weight_bits=9,
        leak_bits=9,
        threshold_bits=9,
        potential_bits=9,
        delay=(1, 15),
        reach=(255, 255),
        source="github.com/UA-RCL/RANC, hardware test vectors",
    )
    packets = _read_packets(folder, axon_bits)
    return make_case(
        name=f"RANC {folder.name}",
        chip=chip,
        cores=_cores(np.stack(images), np.stack(types), widths, np.array(numbers), columns),
        output_bus=output_bus,
        n_outputs=most,
        input_spikes=packets,
        expected=_read_expected(folder, (most - 1).bit_length()),
    )


def _csram(folder: Path, number: int) -> Path:
    return folder / f"csram_{number:03}.mem"


def _cores(
    images: NDArray[np.bool_], types: NDArray[np.bool_], widths: dict[str, int], core: NDArray[np.int64], columns: int
) -> RancCores:
    n_cores, n_neurons, _ = images.shape
    n_axons = types.shape[1]
    values = {}
    start = n_axons
    for field, bits in widths.items():
        values[field] = _number(images[:, :, start : start + bits], signed=field not in _UNSIGNED)
        start += bits
    return RancCores(
        coordinates=np.stack([core % columns, core // columns], axis=1),
        axon_types=_number(types, signed=False),
        connections=images[:, :, n_axons - 1 :: -1],  # the leftmost bit is the last axon
        weights=np.stack([values.pop(f"weight{g}") for g in range(N_WEIGHTS)], axis=2),
        parameters=values,
        present=np.ones((n_cores, n_neurons), dtype=np.bool_),
    )


def _read_packets(folder: Path, axon_bits: int) -> NDArray[np.int64]:
    """Group, x, y, axon and tick of every packet, shape (n, 5)."""
    widths = (9, 9, axon_bits, 4)
    bits = _read_bits(folder / "tb_input.txt", StimulusError, sum(widths))
    counts = _read_groups(folder / "tb_num_inputs.txt", len(bits))
    fields = np.split(bits, np.cumsum(widths)[:-1], axis=1)
    values = [_number(field, signed=i < 2) for i, field in enumerate(fields)]
    return np.stack([np.repeat(np.arange(len(counts)), counts), *values], axis=1)


def _read_expected(folder: Path, width: int) -> list[NDArray[np.int64]]:
    """Sorted output numbers of every tick."""
    numbers = _number(_read_bits(folder / "tb_correct.txt", StimulusError, width), signed=False)
    counts = _read_groups(folder / "tb_num_outputs.txt", len(numbers))
    return [np.unique(part) for part in np.split(numbers, np.cumsum(counts)[:-1])]


def _read_groups(path: Path, total: int) -> NDArray[np.int64]:
    """Rows in each group, which must sum to ``total``."""
    words = _read_text(path, StimulusError).split()
    # eight digits are more rows than a file of _MAX_BYTES can hold
    wrong = [word for word in words if not (word.isascii() and word.isdigit() and len(word) <= 8)]
    if wrong or not words:
        found = show_name(wrong[0][:60]) if wrong else "nothing"
        raise StimulusError(f"{path}: found {found}; needs one count per line")
    counts = np.array([int(word) for word in words], dtype=np.int64)
    if int(counts.sum()) != total:
        raise StimulusError(f"{path}: counts make {counts.sum()} rows; the file beside it holds {total}")
    return counts


def _read_text(path: Path, error: type[InputError]) -> str:
    try:
        data = read_bytes(path, "text of bits", _MAX_BYTES, error)
    except error as reason:
        raise error(f"{path}: {reason}") from None
    if not data.isascii():
        raise error(f"{path}: is not a text of bits")
    return data.decode("ascii")


def _read_bits(path: Path, error: type[InputError], width: int | None = None) -> NDArray[np.bool_]:
    """Rows of 0 and 1, all of one length, and of that ``width`` where one is given; shape (rows, bits)."""
    rows = _without_comments(_read_text(path, error)).split()
    if not rows:
        return np.zeros((0, width or 0), dtype=np.bool_)
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]) or row.strip("01"):
            raise error(f"{path}: row {i + 1} is {row!r:.60}; needs {len(rows[0])} characters 0 or 1")
    digits = np.frombuffer("".join(rows).encode(), dtype=np.uint8)
    bits = np.asarray(digits == ord("1")).reshape(len(rows), -1)
    if width is not None:
        _require_width(path, bits, width, error)
    return bits


def _without_comments(text: str) -> str:
    """Remove Verilog's comments; an unterminated one extends to the end."""
    # each end is searched for once: one expression for whole comments would search from each of many beginnings
    parts, here = [], 0
    while (found := _COMMENT.search(text, here)) is not None:
        parts.append(text[here : found.start()])
        ending = "\n" if found.group() == "//" else "*/"
        end = text.find(ending, found.end())
        here = len(text) if end < 0 else end + len(ending)
    return " ".join([*parts, text[here:]])


def _require_width(path: Path, bits: NDArray[np.bool_], width: int, error: type[InputError]) -> None:
    """Refuse rows of another width: wider numbers than the format's would wrap around."""
    if bits.shape[1] != width:
        raise error(f"{path}: rows have {bits.shape[1]} bits; needs {width}")


def _number(bits: NDArray[np.bool_], *, signed: bool) -> NDArray[np.int64]:
    """Read the last axis, of at most 62 bits, as numbers, most significant bit first."""
    place = 2 ** np.arange(bits.shape[-1] - 1, -1, -1, dtype=np.int64)
    if signed:
        place[0] = -place[0]
    return np.asarray(bits.astype(np.int64) @ place)


# An image as the files of RANC's FPGA design: memory images of all cores of the grid, and the input packets.


def ranc_vectors(image: RancImage, outputs: Sequence[Ints]) -> dict[str, str]:
    """Write memory images and test vectors, as :func:`~neuromap.formats.ranc.vectors.read_vectors` reads them.

    Parameters
    ----------
    image : RancImage
        Cores that it does not hold, including the one in the output bus's place, are written as silent ones.
    outputs : sequence of ndarray of int64
        Outputs that spike in tick 0, 1, ..., expected of the design.

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


def _vectors(image: RancImage, outputs: Sequence[Ints], fields: Mapping[str, int]) -> dict[str, str]:
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
    """Write numbers as bits, most significant first, negative ones in two's complement."""
    modulus = 1 << width
    return [f"{value % modulus:0{width}b}" if width else "" for value in values.astype(np.int64).tolist()]


def _lines(words: Sequence[str]) -> str:
    return "".join(f"{word}\n" for word in words)


# Capacity of the memory of RANC's FPGA design (``hardware/IP/RANCNetwork``), unlike its simulator's integers.
TYPE_BITS = 2
N_WEIGHTS = 2**TYPE_BITS
_BITS = 9
_TICK_BITS = 4
# Most cores of a grid: their numbers have three digits in the names of files.
MOST_CORES = 1000
# Signed numbers of a neuron, besides its weights.
SIGNED_FIELDS = ("potential", "reset", "leak", "positive_threshold", "negative_threshold", "dx", "dy")


def memory_fields(n_axons: int) -> dict[str, int]:
    """Fields of a neuron's row of memory after its connections, and their bits, in order."""
    weights = [f"weight{g}" for g in range(N_WEIGHTS)]
    values = ("potential", "reset", *weights, "leak", "positive_threshold", "negative_threshold")
    of_target = {"dx": _BITS, "dy": _BITS, "axon": (n_axons - 1).bit_length(), "tick": _TICK_BITS}
    return {**dict.fromkeys(values, _BITS), "reset_mode": 1, **of_target}


def beyond_hardware(image: RancImage) -> str:
    """Name what the FPGA design's memory has no room for; empty if all fits."""
    cores = image.cores
    n_axons = cores.connections.shape[2]
    low, high = -(2 ** (_BITS - 1)), 2 ** (_BITS - 1) - 1
    values: list[tuple[str, NDArray[np.int64], int, int]] = [
        ("weight", cores.weights, low, high),
        *((name.replace("_", " "), cores.parameters[name], low, high) for name in SIGNED_FIELDS),
        ("potential", np.array(image.potentials), low, high),
        ("destination tick", cores.parameters["tick"], 0, 2**_TICK_BITS - 2),
    ]
    if cores.weights.shape[2] != N_WEIGHTS:
        return f"{cores.weights.shape[2]} weights of a neuron (it has {N_WEIGHTS})"
    if n_axons & (n_axons - 1):
        return f"{n_axons} axons of a core (a power of 2)"
    if image.n_outputs > n_axons:
        return f"{image.n_outputs} outputs (at most {n_axons}, as axons of a core)"
    if image.inclusive:
        return "a reset at the negative threshold itself (below it only)"
    for what, array, least, greatest in values:
        wrong = array[(array < least) | (array > greatest)]
        if len(wrong):
            return f"a {what} of {wrong[0]} ({least} to {greatest})"
    return ""

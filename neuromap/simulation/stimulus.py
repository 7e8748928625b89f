"""Input frames of one stimulus or many, checked against the input nodes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors

from neuromap.arrays.frozen import adopted, refuse_masked
from neuromap.errors import StimulusError
from neuromap.files.argument_checks import path_given, real_number, whole_number
from neuromap.files.foreign import HEAD, kind_of_any, read_bytes
from neuromap.files.messages import counted, show
from neuromap.files.sealed import Seal, metadata_of, seal_of, sealed_bytes
from neuromap.files.unpacked import read_npz
from neuromap.files.whole_file import write_whole
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.network.network import Network


def check_stimuli(
    stimuli: Mapping[str, ArrayLike], source: ChipProgram | Network | Mapping[str, int], n_frames: int | None = None
) -> tuple[dict[str, NDArray[Any]], int, int]:
    """Check many stimuli with equal numbers of frames against the input nodes."""
    # n_frames: frames that each must have; by default any number from 2 on
    # returns stimuli in the order of the source's input nodes: Boolean, integers 0 and 1, or values in the input's
    # range; not copied. Then the numbers of stimuli and of frames
    # shapes: stimuli (S, n_frames, size); stimuli (S, n_frames, size)
    sizes = input_sizes(source)
    checked = _checked_arrays("stimuli", stimuli, sizes, source)
    if not sizes:
        raise StimulusError("stimuli: the program has no input node, so one run says all; simulate it")
    first = next(iter(checked.values()))
    wanted = (len(first), first.shape[1] if n_frames is None else n_frames)
    for name, array in checked.items():
        if array.shape[:2] != wanted:
            raise StimulusError(
                f"stimuli of {name}: {array.shape[0]} of {counted(array.shape[1], 'frame')}, where {wanted[0]} of "
                f"{wanted[1]} are expected; give as many of each"
            )
    return checked, *wanted


# Input frames: checking, making and storing them.
#
# Frames are a mapping from the name of every input node to a Boolean array of shape ``(n_frames, size)``; row 0 is
# frame 0. At least two frames are needed: frame 0 is history, frame 1 the first that the network computes. Without
# input nodes, the first node has rows of width 0, whose number is the number of frames.


# Most values that :func:`random_frames` makes or a file may hold (2 GiB).
_MAX_VALUES = 2**31
# Random numbers drawn at once.
_PORTION = 2**20


def input_sizes(source: ChipProgram | Network | Mapping[str, int]) -> dict[str, int]:
    """Sizes of the input nodes, by name.

    Parameters
    ----------
    source : ChipProgram, Network or mapping of str to int
        A mapping is taken as the sizes themselves.

    Returns
    -------
    dict of str to int
        In the order of the source.

    Raises
    ------
    StimulusError
        If the source is something else.
    """
    if isinstance(source, ChipProgram):
        return {port.name: port.size for port in source.nodes if port.kind == "input"}
    if isinstance(source, Network):
        return {name: source.nodes[name].size for name in source.inputs}
    if not isinstance(source, Mapping):
        raise StimulusError(f"frames: made for {show(source)}; give a Program, a Network or a mapping of sizes")
    return dict(source)


def value_ranges(source: ChipProgram | Network | Mapping[str, int]) -> dict[str, tuple[int, int]] | None:
    """Least and greatest value of every input node of a graded network or program; ``None`` for spikes."""
    if isinstance(source, ChipProgram):
        return (
            None if source.value_ranges is None else {name: source.value_ranges[name] for name in input_sizes(source)}
        )
    if not isinstance(source, Network) or not source.is_graded:
        return None
    graded = {name: source.nodes[name].graded for name in source.inputs}
    return {name: neuron.value_range for name, neuron in graded.items() if neuron is not None}


def fed_sizes(source: ChipProgram | Network | Mapping[str, int]) -> dict[str, int]:
    """Widths of the frames by node: sizes of the input nodes, or 0 for the first node if there are no inputs."""
    sizes = input_sizes(source)
    if sizes or isinstance(source, Mapping):
        return sizes
    names = list(source.nodes) if isinstance(source, Network) else [port.name for port in source.nodes]
    return dict.fromkeys(names[:1], 0)


def check_frames(
    frames: Mapping[str, ArrayLike], source: ChipProgram | Network | Mapping[str, int]
) -> dict[str, NDArray[Any]]:
    """Check input frames against the input nodes; return them as Boolean arrays, or int32 for graded networks.

    Parameters
    ----------
    frames : mapping of str to array_like, shape (n_frames, size) or (n_frames, rows, columns, features)
        Boolean, or integers 0 and 1; for graded networks and programs, integers in the input's range.
        Frames in the shape of their node are flattened in neuron order; a network knows the shapes of its nodes, a
        program only their sizes.
    source : ChipProgram, Network or mapping of str to int
        Input nodes and their sizes; see :func:`input_sizes`.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_frames, size)
        In the order of the source's input nodes; read-only. int32 for graded sources.

    Raises
    ------
    StimulusError
        If a node is missing or unknown, a size is wrong, a value is not 0 or 1 (or is out of the input's range), or
        there are fewer than two frames or not equally many for every node.
    """
    arrays = _checked_arrays("frames", frames, fed_sizes(source), source)
    ranges = value_ranges(source) or {}
    for name, array in arrays.items():
        first = next(iter(arrays))
        if len(array) != len(arrays[first]):
            raise StimulusError(
                f"frames of {name}: {counted(len(array), 'frame')}, but {first} has {len(arrays[first])}; give "
                "as many of each"
            )
    return {name: adopted(array.astype(np.int32 if name in ranges else np.bool_)) for name, array in arrays.items()}


def frame_count(frames: Mapping[str, NDArray[Any]]) -> int:
    """Count the frames of checked input frames, frame 0 included; 0 if the mapping is empty."""
    return len(next(iter(frames.values()))) if frames else 0


# Leading axes of a node's frames and of its stimuli, as named in shapes and in places.
_AXES = {"frames": ("n_frames", ("frame",)), "stimuli": ("S, n_frames", ("stimulus", "frame"))}


def _checked_arrays(
    what: str,
    arrays: Mapping[str, ArrayLike],
    sizes: Mapping[str, int],
    source: ChipProgram | Network | Mapping[str, int],
) -> dict[str, NDArray[Any]]:
    """Check name, shape, number of frames and values for each input node; return arrays by neuron, not copied."""
    axes, places = _AXES[what]
    shapes = {name: source.nodes[name].shape for name in source.inputs} if isinstance(source, Network) else {}
    ranges = value_ranges(source) or {}
    if not isinstance(arrays, Mapping):
        raise StimulusError(f"{what}: {no_mapping(arrays, sizes, what)}")
    if not arrays and not any(sizes.values()):
        return {}
    for name in arrays:
        if name not in sizes:
            raise StimulusError(f"{what}: node {name} is not an input node; input nodes are {', '.join(sizes)}")
    checked: dict[str, NDArray[Any]] = {}
    for name, size in sizes.items():
        if name not in arrays:
            raise StimulusError(f"{what}: input node {name} is missing; give an array of shape ({axes}, {size})")
        refuse_masked(arrays[name], f"{what} of {name}", StimulusError)
        try:
            array = by_neuron(np.asarray(arrays[name]), len(places), size, shapes.get(name))
        except ValueError:
            raise StimulusError(
                f"{what} of {name}: rows differ in length; the shape must be ({axes}, {size})"
            ) from None
        except RuntimeError:
            raise StimulusError(
                f"{what} of {name}: found {show(arrays[name])}, which is no array; of a tensor that needs gradients, "
                "give tensor.detach()"
            ) from None
        if array.ndim != len(places) + 1 or array.shape[-1] != size:
            is_turned = what == "frames" and array.ndim == 2 and len(array) == size
            turned = "; give its transpose, array.T" if is_turned else ""
            shape = shapes.get(name)
            parts = f"rows, columns, features) with {size} neurons" if shape is None else str(shape)[1:]
            raise StimulusError(
                f"{what} of {name}: shape {array.shape}; must be ({axes}, {size}) or ({axes}, {parts}{turned}"
            )
        if (n_frames := array.shape[-2]) < 2:
            raise StimulusError(
                f"{what} of {name}: {counted(n_frames, 'frame')}; at least 2 are needed (frame 0 and frame 1)"
            )
        if array.dtype.kind not in "bui":
            raise StimulusError(f"{what} of {name}: dtype {array.dtype}; must be {_allowed(array, name in ranges)}")
        low, high = ranges.get(name, (0, 1))
        if array.dtype.kind != "b" and array.size and (array.min() < low or array.max() > high):
            wrong = tuple(np.argwhere((array < low) | (array > high))[0])
            at = ", ".join(f"{axis} {number}" for axis, number in zip((*places, "neuron"), wrong, strict=True))
            allowed = f"{low} to {high}" if name in ranges else "0 or 1"
            raise StimulusError(f"{what} of {name}: value {array[wrong]} at {at}; must be {allowed}")
        checked[name] = array
    return checked


def random_frames(
    source: ChipProgram | Network | Mapping[str, int], n_frames: int, density: float | None = None, seed: int = 0
) -> dict[str, NDArray[Any]]:
    """Make random input frames, the same on every machine and NumPy version.

    Node ``name`` draws from its own PCG64, seeded with ``SeedSequence([seed, *name.encode()])``, so that
    its frames do not depend on other nodes. In the order of frames, then neurons, each 64-bit number gives
    one value: 1 iff its upper 53 bits, divided by 2**53, are below the density. Without ``density``, the first
    number of every frame, scaled likewise, is the density of that frame, so that neurons with low and with high
    thresholds both switch. In graded networks these neurons get a value: their number, which lies below the
    density, is stretched over the input's range.

    Parameters
    ----------
    source : ChipProgram, Network or mapping of str to int
        Input nodes and their sizes; see :func:`input_sizes`.
    n_frames : int
        Number of frames, including frame 0.
    density : float, optional
        Probability of a 1, from 0 to 1; by default every frame draws its own.
    seed : int
        Zero or more.

    Returns
    -------
    dict of str to ndarray of bool, shape (n_frames, size)
        Read-only; int32 for graded networks.

    Raises
    ------
    StimulusError
        If a parameter is out of range, or more than 2**31 values are requested.
    """
    sizes = fed_sizes(source)
    whole_number("frames: n_frames", n_frames, StimulusError)
    whole_number("frames: seed", seed, StimulusError)
    if density is not None:
        real_number("frames: density", density, StimulusError)
    if n_frames < 2:
        raise StimulusError(
            f"frames: {counted(n_frames, 'frame')} asked for; at least 2 are needed (frame 0 and frame 1)"
        )
    if density is not None and not 0 <= density <= 1:
        raise StimulusError(f"frames: density {density}; must be between 0 and 1")
    if seed < 0:
        raise StimulusError(f"frames: seed {seed}; must be 0 or more")
    n_values = n_frames * sum(sizes.values())
    if n_values > _MAX_VALUES:
        raise StimulusError(f"frames: {n_values} values asked for; at most {_MAX_VALUES} are made, give fewer frames")
    frames, ranges = {}, value_ranges(source) or {}
    for name, size in sizes.items():
        bits = np.random.PCG64(np.random.SeedSequence([seed, *name.encode()]))
        values = ranges.get(name)
        rows: NDArray[Any] = np.empty((n_frames, size), dtype=np.bool_ if values is None else np.int32)
        each = size + (density is None)
        portion = max(1, _PORTION // each)
        for start in range(0, n_frames, portion):
            part = rows[start : start + portion]
            raw = np.asarray(bits.random_raw(len(part) * each), dtype=np.uint64).reshape(len(part), each)
            unit = (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53
            bound, drawn = (unit[:, :1], unit[:, 1:]) if density is None else (np.full(1, density), unit)
            part[:] = drawn < bound if values is None else _stretched(drawn, bound, *values)
        frames[name] = adopted(rows)
    return frames


def _stretched(drawn: NDArray[np.float64], bound: NDArray[np.float64], low: int, high: int) -> NDArray[np.int64]:
    """Stretch the numbers below a bound over a range of values; others become 0."""
    below = np.minimum(drawn / np.maximum(bound, 2.0**-53), 1 - 2.0**-53)
    return np.where(drawn < bound, low + (below * (high - low + 1)).astype(np.int64), 0)


def save_frames(path: str | Path, frames: Mapping[str, ArrayLike]) -> None:
    """Write input frames as safetensors, atomically.

    Parameters
    ----------
    path : str or Path
        The file.
    frames : mapping of str to array_like, shape (n_frames, size) or (n_frames, rows, columns, features)
        Each node becomes a uint8 tensor of 0 and 1 with its name.

    Raises
    ------
    StimulusError
        If the frames are malformed.
    InputError
        If the file cannot be written.
    """
    given = frames if isinstance(frames, Mapping) else {}
    sizes = {name: math.prod(np.shape(values)[1:]) for name, values in given.items()}
    checked = check_frames(frames, sizes)
    tensors = {name: np.ascontiguousarray(rows, dtype=np.uint8) for name, rows in checked.items()}
    write_whole(path, sealed_bytes("frames", tensors, {"format": "neuromap frames", "version": "1"}))


def load_frames(
    path: str | Path, source: ChipProgram | Network | Mapping[str, int] | None = None
) -> dict[str, NDArray[Any]]:
    """Read input frames from a safetensors file or a NumPy ``.npz`` archive.

    Parameters
    ----------
    path : str or Path
        A file with one tensor per input node, under its name: bool or integers 0 and 1, shape (n_frames, size).
    source : ChipProgram, Network or mapping of str to int, optional
        If given, the frames are checked against its input nodes with :func:`check_frames`; else returned as read.

    Returns
    -------
    dict of str to ndarray
        The frames.

    Raises
    ------
    StimulusError
        If the file cannot be read, is not such a file, is damaged, or (with ``source``) its frames do not fit.
    """
    path = path_given("load_frames", path, StimulusError)
    try:
        data = read_bytes(path, "file of frames (safetensors)", _MAX_VALUES, StimulusError)
        frames = read_npz(data, _MAX_VALUES, StimulusError) if path.suffix == ".npz" else _read_safetensors(data)
        return frames if source is None else dict(check_frames(frames, source))
    except OSError as error:
        raise StimulusError(f"{path}: cannot be read ({error.strerror or error})") from None
    except StimulusError as error:
        raise StimulusError(f"{path}: {error}") from None


def _read_safetensors(data: bytes) -> dict[str, NDArray[Any]]:
    kind = kind_of_any(data[:HEAD])
    if kind is not None and "safetensors" not in kind and "frames" not in kind:
        raise StimulusError(f"is {kind}, not a file of frames; save frames with save_frames or NumPy's savez")
    try:
        tensors = load_tensors(data)
    except (SafetensorError, KeyError, ValueError, TypeError):
        # KeyError and TypeError: a dtype that NumPy lacks, such as bfloat16
        raise StimulusError("not a readable safetensors file; save frames with save_frames or NumPy's savez") from None
    # files written by other programs have no digest
    if seal_of(data, metadata_of(data)) is Seal.DAMAGED:
        raise StimulusError("is damaged, it does not fit its digest; take a copy, or make the frames again")
    return tensors


# Input arrays by neuron or in the shape of their node; neurons are ordered by row, column, feature.
NodeShape = tuple[int, int, int]


def by_neuron(array: NDArray[Any], axes: int, size: int, shape: NodeShape | None) -> NDArray[Any]:
    """Flatten the last three axes of an array if they are rows, columns and features of a node."""
    # shape: rows, columns, features of the node; ``None`` if only its size is known, which their product must equal
    if array.ndim != axes + 3:
        return array
    rows, columns, features = array.shape[axes:]
    fits = rows * columns * features == size if shape is None else (rows, columns, features) == shape
    return array.reshape(*array.shape[:axes], size) if fits else array


def no_mapping(found: object, sizes: Mapping[str, int], what: str) -> str:
    """Describe what was found instead of a mapping of arrays, and what to give."""
    first = next(iter(sizes), "I")
    if isinstance(found, str | Path):
        return f"found a path; read the file first: neuromap.simulation.load_frames({str(found)[:40]!r})"
    if hasattr(found, "shape"):
        return f'found an array; name its input node: {{"{first}": array}}'
    return f'found {type(found).__name__}; give a mapping of input node to array: {{"{first}": {what}}}'


def _allowed(array: NDArray[Any], is_graded: bool) -> str:
    """Describe the allowed dtypes, and how to turn an array of floats into one."""
    is_float = array.dtype.kind == "f"
    if is_graded:
        return "integer" + ("; give integers, such as np.rint(array / scale).astype(np.int32)" if is_float else "")
    whole = is_float and bool(((array == 0) | (array == 1)).all())
    advice = f"; give {'array.astype(bool)' if whole else 'spikes, such as array > 0.5'}" if is_float else ""
    return f"bool, or integer with values 0 and 1{advice}"

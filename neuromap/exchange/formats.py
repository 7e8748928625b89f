"""The table of formats, and import and export of files through it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from neuromap.errors import InputError
from neuromap.exchange.imported import Exported, Imported
from neuromap.files.argument_checks import path_given
from neuromap.files.whole_file import write_folder, write_whole
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.registry import Registry, imported, require_package

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from neuromap.simulation.choose_frames import RandomFrames


def import_file(
    path: str | Path, format: str | None = None, *, chip: str | Path | ChipSpec | None = None, **options: Any
) -> Imported:
    """Import a network from a file of another tool. A file is data: nothing in it is executed.

    Parameters
    ----------
    path : str or Path
        The file.
    format : str or None
        Name in :data:`~neuromap.exchange.formats.IMPORT_FORMATS`; by default chosen by the suffix.
    chip : str, Path, ChipSpec or None
        Chip whose integers float neurons take, and whose cores an estimate counts; by default the format's own.
    **options
        Further options of the format's function, such as ``dt`` and ``tool`` of NIR.

    Returns
    -------
    Imported

    Raises
    ------
    InputError
        If there is no such format, option or file, or the file is not what its format says: truncated, too large,
        malformed.
    NotSupportedError
        If a package is missing, or nothing of the file can be imported.
    NetworkError
        If the file does not describe a valid network.
    """
    path = path_given("import_file", path)
    suffix = path.suffix.lower()
    name = format or next((name for name, known in IMPORT_FORMATS.items() if suffix in known.suffixes), None)
    if name is None:
        known = ", ".join(f"{s} ({n})" for n, f in IMPORT_FORMATS.items() for s in f.suffixes)
        raise InputError(f"{path}: suffix {suffix!r} is that of no format; known are {known}; or name the format")
    spec = None if chip is None else load_chip(chip)
    function = IMPORT_FORMATS.find(name).load()
    taken = list(signature(function).parameters)[1:]
    for option in options:
        if option not in taken:
            raise InputError(f"format {name}: takes no {option}; it takes {', '.join(taken)}")
    return cast("Imported", function(path, chip=spec, **options))


# A network, program or trace file as files of another tool, written whole or not at all.


def export_file(
    source: str | Path,
    format: str,
    destination: str | Path,
    *,
    frames: Mapping[str, ArrayLike] | str | Path | None = None,
    random: RandomFrames | None = None,
    program: str | Path | None = None,
) -> Exported:
    """Export a network, program or trace to another tool, writing all of its files or none.

    Parameters
    ----------
    source : str or Path
        A network, program or trace file, whichever the format takes.
    format : str
        Name in :data:`~neuromap.exchange.formats.EXPORT_FORMATS`.
    destination : str or Path
        The file; for a format of several files, their folder, which is created if missing.
    frames : mapping of str to array_like of shape (n_frames, size), or path, optional
        Input frames that go with a program, as :func:`neuromap.simulate` takes them, or a file of them.
    random : RandomFrames, optional
        Random frames to use if none are given; 32 of mixed densities by default.
    program : str or Path, optional
        The program file of a trace, for formats that show where cores are.

    Returns
    -------
    Exported
        What was written, with what was kept, approximated and refused.

    Raises
    ------
    InputError
        If there is no such format or file, the format takes no frames or no program, or the destination cannot be
        written, or holds files of another export, or a README.md of someone else.
    NotSupportedError
        If a package is missing, or the other tool lacks what the source needs.
    """
    known = EXPORT_FORMATS.find(format)
    path_given("export_file", source)
    place = path_given("export_file", destination)
    options: dict[str, Any] = {}
    if known.fed:
        options = {"frames": frames, "random": random}
    elif frames is not None or random is not None:
        raise InputError(f"format {format}: holds a {known.source} without input frames; give none")
    if known.placed:
        options["program"] = program
    elif program is not None:
        raise InputError(f"format {format}: takes no program beside its {known.source} file; give none")
    found = cast("Exported", known.load()(Path(source), **options))
    if known.folder:
        _require_no_others(place, found)
        write_folder(destination, found.contents)
    else:
        (content,) = found.contents.values()
        write_whole(destination, content)
        found = replace(found, contents={place.name: content})  # its only file is called as the caller said
    return found


# Marks every README.md of an export.
_SIGN = b"\nWritten by neuromap: "


def _require_no_others(folder: Path, found: Exported) -> None:
    """Refuse a folder with files of a larger export, which would mix, or with someone else's README.md."""
    numbered = {re.sub("[0-9]+", "*", name) for name in found.contents if re.search("[0-9]", name)}
    try:
        older = sorted({path.name for pattern in numbered for path in folder.glob(pattern)} - set(found.contents))
        readme = folder / "README.md"
        is_strange = readme.is_file() and _SIGN not in readme.read_bytes()[:4096]
    except OSError:  # a folder that cannot be read is reported when it cannot be written
        return
    if older:
        raise InputError(
            f"{folder}: holds {older[0]} of another export, which would be read with these files; remove it, or name "
            "another folder"
        )
    if is_strange:
        raise InputError(f"{readme}: was not written by neuromap and would be lost; name another folder")


# Formats of imports and exports: the table behind commands and pages.


@dataclass(frozen=True)
class Format:
    """One format of other tools.

    Attributes
    ----------
    called : str
        Common name.
    suffixes : tuple of str
        Suffixes of its files; empty if none identifies it.
    holds : str
        What is read from or written to it, in a clause.
    function : str
        ``"module.function"`` below ``neuromap``, or ``"package.module:function"``. An import function takes a path and
        options, and returns an :class:`~neuromap.exchange.imported.Imported`; an export function takes the path of a
        network, program or trace file (``frames`` and ``random`` if ``fed``, ``program`` if ``placed``) and returns an
        :class:`~neuromap.exchange.imported.Exported`, whose files the caller writes.
    package, extra : str
        Optional package that it needs, and the extra that installs it; empty if none.
    source : {"network", "program", "trace"}
        Kind of file that an export takes.
    fed : bool
        Whether input frames go with an export.
    placed : bool
        Whether the program of a trace, which has the places of cores, may be given too.
    folder : bool
        Whether an export is a folder of files rather than one file.
    bounds : str
        How large a file or network may be, in a clause.
    refuses : str
        What is refused, in a clause.
    """

    called: str
    suffixes: tuple[str, ...]
    holds: str
    function: str
    package: str = ""
    extra: str = ""
    source: Literal["network", "program", "trace"] = "network"
    fed: bool = False
    placed: bool = False
    folder: bool = False
    bounds: str = ""
    refuses: str = ""

    def load(self) -> Any:
        """Import the function.

        Raises
        ------
        NotSupportedError
            If a package is missing, with the command that installs it.
        """
        if self.package:
            require_package(self.called, self.package, self.extra, imports=False)
        home = self.function if ":" in self.function else "neuromap.{}:{}".format(*self.function.rsplit(".", 1))
        return imported(f"format {self.called}", home, InputError)


# Formats that can be read, by the name that commands take.
IMPORT_FORMATS: Registry[Format] = Registry(
    "format",
    "neuromap.import_formats",
    {
        "nir": Format(
            called="NIR",
            suffixes=(".nir",),
            holds="spiking networks of IF, LIF, CubaLIF, Threshold in a chip's integers; those of neuromap unchanged",
            function="exchange.nir.import_nir.from_nir",
            package="h5py",
            extra="nir",
            bounds="files of 1 GiB, 2 GiB unpacked, 65,536 nodes, 2**22 values of a node, 2**26 weights of a map",
            refuses="CubaLI and I before neurons, LI before CubaLIF; cycles without neurons; links in the file",
        ),
        "onnx": Format(
            called="ONNX",
            suffixes=(".onnx",),
            holds="quantised networks as graded ones, networks in frame code with weights and thresholds, float ones "
            "by a calibration set; others as structure with shapes and work",
            function="exchange.layers.take_graph.from_onnx",
            package="onnx",
            extra="onnx",
            bounds="files of 2 GiB, 100,000 operators, constants of 2**28 elements, 2**26 weights of a matrix; graded: "
            "sums of 31 bits, values of 24",
            refuses="floats without a calibration set, activations that are not bounds or steps: structure only",
        ),
        "torch": Format(
            called="PyTorch",
            suffixes=(".pt2",),
            holds="what torch.export.save writes, as ONNX: quantised networks, networks in frame code, float ones by a "
            "calibration set; others as structure with shapes and work",
            function="exchange.layers.take_graph.from_torch_file",
            package="torch",
            extra="training",
            bounds="files of 2 GiB, read in 2 GiB of memory and 64 bytes for each of theirs",
            refuses="pickles: torch.save of a module or of its weights, TorchScript",
        ),
        "rates": Format(
            called="graded network",
            suffixes=(),
            holds="graded networks of ours as integrate-and-fire neurons whose rates are the values, for one chip",
            function="exchange.from_graded.from_graded",
            bounds="those of network files",
            refuses="cycles, nodes that take the greatest input, neurons with more than 128 inputs on crossbar cores",
        ),
        "sanafe": Format(
            called="SANA-FE",
            suffixes=(".yaml", ".yml"),
            holds="networks of leaky_integrate_fire neurons in their own integers, and the core of every neuron",
            function="exchange.from_sanafe.from_sanafe",
            package="yaml",
            extra="sanafe",
            bounds="files of 64 MiB, 2**22 neurons, 2**26 attributes of theirs, 2**26 entries of all matrices",
            refuses="other neurons, resets and decays of inputs, delays in dendrites, YAML with anchors",
        ),
    },
    InputError,
    Format,
)
# Formats that can be written, by the name that commands take.
EXPORT_FORMATS: Registry[Format] = Registry(
    "format",
    "neuromap.export_formats",
    {
        "nir": Format(
            called="NIR",
            suffixes=(".nir",),
            holds="a network as a graph of IF, LIF, CubaLIF, LI or Threshold, maps and delays; it comes back as it was",
            function="exchange.nir.export_nir.export_nir",
            package="nir",
            extra="nir",
            bounds="2**26 weights in an edge that is not a convolution or pool, as a dense matrix",
            refuses="networks without weights, nodes whose names are dots",
        ),
        "onnx": Format(
            called="ONNX",
            suffixes=(".onnx",),
            holds="a graded network as a quantised graph (QDQ), whose reference gives the values of the sequential "
            "pattern",
            function="exchange.layers.graded_onnx.export_onnx",
            package="onnx",
            extra="onnx",
            bounds="sums below 2**24, values of 16 bits between nodes; wider outputs are int32",
            refuses="networks that are not graded, cycles",
        ),
        "ranc": Format(
            called="RANC",
            suffixes=(".json",),
            holds="a program with its input packets, for RANC's simulator and the tools of its FPGA design",
            function="exchange.to_ranc.export_ranc",
            source="program",
            fed=True,
            folder=True,
            bounds="an input file of 128 MiB (about 680 cores of 256 x 256)",
            refuses="several chips, synapse-list cores, stochastic modes, reversal of the leak, resets that keep the "
            "potential, a floor other than -R, programs without outputs",
        ),
        "ranc-vectors": Format(
            called="RANC's FPGA design",
            suffixes=(".mem",),
            holds="the same as memory images of all cores and test vectors, for the design and its simulation",
            function="exchange.to_ranc.export_ranc_vectors",
            source="program",
            fed=True,
            folder=True,
            bounds="1000 cores of the grid; 9 bits for weights, leak, thresholds and potentials",
            refuses="what RANC refuses, and any value that does not fit its widths",
        ),
        "sanafe": Format(
            called="SANA-FE",
            suffixes=(".yaml",),
            holds="a program with its input spikes as architecture and network, and the chip file's costs of events",
            function="exchange.to_sanafe.export_sanafe",
            source="program",
            fed=True,
            folder=True,
            bounds="20 million synapses, and as many ticks of input neurons",
            refuses="stochastic modes, reversal of the leak, two sources of one axon, linear resets at the negative "
            "threshold, crossbar neurons that do not start and rest at 0, currents that outlast their tick",
        ),
        "perfetto": Format(
            called="Perfetto",
            suffixes=(".json",),
            holds="a trace as a timeline: frames of nodes, ticks of cores, spikes per tick (Chrome's trace events)",
            function="exchange.perfetto_trace.export_perfetto",
            source="trace",
            placed=True,
            bounds="500,000 events (about 70 MB); later ticks are left out and counted",
            refuses="traces of version 1; a program that is not the trace's",
        ),
        "neo": Format(
            called="Neo",
            suffixes=(".mat",),
            holds="a trace as Neo's block: a spike train of every neuron, epochs of frames, potentials; read it with "
            "NeoMatlabIO",
            function="exchange.spike_traces.export_neo",
            package="neo",
            extra="neo",
            source="trace",
            bounds="65,536 neurons; 1 GiB of spike times and potentials",
            refuses="traces of version 1",
        ),
        "sonata": Format(
            called="SONATA",
            suffixes=(".h5",),
            holds="a trace as a spike file with a population of every node, for libsonata, BMTK and others",
            function="exchange.spike_traces.export_sonata",
            package="h5py",
            extra="hdf5",
            source="trace",
            bounds="those of traces: 4 GiB",
            refuses="traces of version 1, nodes whose names are dots or have a stroke",
        ),
    },
    InputError,
    Format,
)

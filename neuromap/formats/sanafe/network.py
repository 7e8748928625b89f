"""Cells of a program, written as SANA-FE's network (groups, edges, cores of neurons) and architecture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Floats, Ints
from neuromap.arrays.frozen import ReadOnly
from neuromap.arrays.packed_rows import rank_in_run, run_heads
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.crossbar.program import Program, with_crossbars
from neuromap.errors import NotSupportedError, ProgramError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import show_name
from neuromap.hardware.checker import require_legal
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.chip_program import ChipProgram, HostSpikes
from neuromap.render.value import Card

# Resets: to a value, by the threshold, none.
HARD, SOFT, NONE = range(3)


@dataclass(frozen=True, eq=False)
class Cells(ReadOnly, Card):
    """Cells of a program on the way to SANA-FE, whatever its neurons compute."""

    n_ticks: int  # to run
    core: Ints  # (K,): of every neuron, as a row of the program's coordinates
    row: Ints  # (K,): its number in the core
    buffer_core: Ints  # (B,): of buffers, which repeat their input
    generator_core: Ints  # (G,): core that each generator of the host's spikes feeds
    # (E,): spikes of the host, by the tick in which they are integrated
    fed_tick: Ints
    fed_generator: Ints
    # (S,): synapses; numbers run through neurons, buffers, generators
    pre: Ints
    post: Ints
    weight: Ints | Floats

    @property
    def n_neurons(self) -> int:
        """Number of the program's neurons that SANA-FE is given."""
        return len(self.core)


@dataclass(frozen=True, eq=False)
class SanafeCells(Cells):
    """K neurons on C cores, B buffers, G generators; cell numbers run through them in this order.

    A neuron adds its input and its leak to V. With ``V >= threshold`` it spikes and is reset; with ``V <= lower`` it is
    reset too. V is 0 at first, and a neuron without input stays at 0.

    Attributes
    ----------
    n_ticks : int
        Ticks to run.
    core, row : ndarray of int64, shape (K,)
        Where each neuron is on the chip.
    buffer_core : ndarray of int64, shape (B,)
        Core of each buffer; buffers have threshold 1 and receive 1.
    generator_core : ndarray of int64, shape (G,)
        Core that each generator feeds.
    fed_tick, fed_generator : ndarray of int64, shape (E,)
        Spikes from the host, by the tick in which they are integrated.
    pre, post, weight : ndarray of int64, shape (S,)
        Synapses between cells: a spike of tick t is integrated in tick t + 1, one of a generator in its own tick.
    coordinates : ndarray of int64, shape (C, 2)
        x and y of every core, from 0.
    leak, threshold, reset_to, lower, lower_reset_to : ndarray of int64, shape (K,)
        Parameters.
    reset, lower_reset : ndarray of int64, shape (K,)
        ``HARD``, ``SOFT`` or ``NONE``; the lower one is never ``SOFT``.
    """

    coordinates: Ints
    leak: Ints
    threshold: Ints
    reset: Ints
    reset_to: Ints
    lower: Ints
    lower_reset: Ints
    lower_reset_to: Ints


def sanafe_cells(program: ChipProgram, spikes: HostSpikes) -> SanafeCells:
    """Convert a program and the host's spikes to cells and synapses.

    Parameters
    ----------
    program : ChipProgram
        With crossbars, one source per axon, nothing stochastic, and neurons that rest at 0. Potentials that reach their
        rails are not checked for: mapped programs have none (rule ``potential-width`` of the checker).
    spikes : HostSpikes
        As :func:`~neuromap.hardware.program.chip_program.host_spikes` lists them.

    Returns
    -------
    SanafeCells

    Raises
    ------
    ProgramError
        If the program breaks a rule of its chip.
    NotSupportedError
        If SANA-FE lacks what the program needs.
    """
    needs("sanafe_cells", program, ChipProgram, ProgramError)
    require_legal(program)
    program = with_crossbars(program, "these cells for SANA-FE are made of crossbars")
    used = program.neuron_node >= 0
    core, row = (index.astype(np.int64) for index in np.nonzero(used))
    parameters = _parameters(program, core, row)
    refuse_if(program, program.target_core[~used] >= 0, "a neuron without a label feeds an axon", "label it")
    return SanafeCells(
        coordinates=program.coordinates.astype(np.int64) - program.coordinates.min(axis=0, initial=2**31 - 1),
        **parameters,
        **wired(program, spikes, core, row, 1),
    )


def wired(program: ChipProgram, spikes: HostSpikes, core: Ints, row: Ints, one: int) -> dict[str, Any]:
    """Lay out the buffers for delays, the generators of the host's spikes, and the synapses between all cells."""
    # core, row: the program's neurons, which are the first cells; one: weight onto a buffer
    # shapes: core (K,), row (K,)
    number = np.full(program.shape, -1)
    number[core, row] = np.arange(len(core))
    wires, host = program.wires, program.host
    to_core = np.concatenate([wires.target_core, host.core]).astype(np.int64)
    to_axon = np.concatenate([wires.target_axon, host.axon]).astype(np.int64)
    is_crossbar = isinstance(program, Program)
    is_shared = len(np.unique(to_core << 32 | to_axon)) != len(to_core)
    why = ", whose spikes a chip merges and SANA-FE adds" if is_crossbar else ""
    refuse_if(program, is_shared, f"an axon has two sources{why}", "give each an axon of its own")
    found = program.synapses_of(to_core, to_axon)
    target = number[to_core[found.row], found.neuron]
    kept = np.flatnonzero(target >= 0)
    if is_crossbar:  # synapses in the order of their cores
        kept = kept[np.argsort(to_core[found.row[kept]], kind="stable")]
        what = "an axon that is fed has no synapse, so that SANA-FE would not send its spikes"
        refuse_if(program, len(np.unique(found.row[kept])) < len(to_core), what, "do not feed it")
    way, target = found.row[kept], target[kept]
    # ticks on the way besides the one that every spike takes; the host's take none
    late = np.concatenate([wires.delay - 1, np.zeros(len(host), np.int64)])[way] + found.delay[kept]

    # a chain source -> buffer -> ... for every source and axon, as long as its latest synapse requires; the buffers of
    # a chain have consecutive numbers
    length = np.zeros(len(to_core), np.int64)
    np.maximum.at(length, way, late)
    first = len(core) + np.cumsum(length) - length
    buffers = len(core) + np.arange(length.sum())
    generators = len(core) + len(buffers) + np.arange(len(host))
    source = np.concatenate([number[wires.core, wires.neuron], generators])
    before = buffers - 1
    before[first[length > 0] - len(core)] = source[length > 0]
    return {
        "n_ticks": spikes.n_ticks,
        "core": core,
        "row": row,
        "fed_tick": spikes.tick,
        "fed_generator": spikes.row,
        "buffer_core": np.repeat(to_core, length),
        "generator_core": host.core.astype(np.int64),
        "pre": np.concatenate([before, np.where(late > 0, first[way] + late - 1, source[way])]),
        "post": np.concatenate([buffers, target]),
        "weight": np.concatenate([np.full(len(buffers), one), found.weight[kept]]),
    }


def _parameters(program: Program, core: Ints, row: Ints) -> dict[str, Any]:
    """Express the neurons' rules in terms of ``SanafeCells``."""
    table = program.neurons
    for mode in (table.stochastic_weight, table.stochastic_leak, table.noise_bits):
        is_random = mode is not None and mode[core, row].any()
        refuse_if(program, is_random, "a neuron has a stochastic mode", "map with deterministic neurons")
    names = ("leak", "leak_reversal", "threshold", "negative_threshold", "reset", "reset_mode", "potential")
    of = {name: getattr(table, name)[core, row].astype(np.int64) for name in names}
    saturates = table.saturate_negative[core, row]
    what = "a neuron has leak reversal, or a potential before the first tick"
    refuse_if(program, of["leak_reversal"] | of["potential"], what, "start it at 0")
    what, way = "a neuron has a linear reset at the negative threshold", "let its potential stop there (saturate)"
    refuse_if(program, ~saturates & (of["reset_mode"] == 1), what, way)
    # V < -beta is V <= -beta - 1, since all is integer.
    lower = -of["negative_threshold"] - (program.chip.rules.negative_comparison == "<")
    hard = saturates | (of["reset_mode"] == 0)
    lower_reset_to = np.where(saturates, -of["negative_threshold"], np.where(hard, -of["reset"], 0))
    rest = np.where(of["leak"] <= lower, np.where(hard, lower_reset_to, of["leak"]), of["leak"])
    is_active, way = (of["leak"] >= of["threshold"]) | (rest != 0), "give it a leak that a reset takes back"
    refuse_if(program, is_active, "a neuron that hears nothing does not stay at 0", way)
    return {
        "leak": of["leak"],
        "threshold": of["threshold"],
        "reset": np.array([HARD, SOFT, NONE])[of["reset_mode"]],
        "reset_to": of["reset"],
        "lower": lower,
        "lower_reset": np.where(hard, HARD, NONE),
        "lower_reset_to": lower_reset_to,
    }


def refuse_if(program: ChipProgram, wrong: ArrayLike, what: str, way: str) -> None:
    """Refuse a feature that SANA-FE lacks, with the remedy, where it is anywhere."""
    if np.any(wrong):
        raise NotSupportedError(f"program {show_name(program.name)}: {what}; SANA-FE has not that: {way}")


# SANA-FE's step of tick 0.
#
# What is sent in its step s is integrated in step s + 1, so the host's spikes of tick t are sent in step t + 1, and the
# spikes of tick t in step t + 2.
LEAD = 2
# Most synapses of one network file, and most input neurons times ticks: about 400 MB of text.
MOST_SYNAPSES = 20_000_000
_RESETS = ("hard", "soft", "none")
_REPEAT = "threshold: 1, reset: 0, reset_mode: hard, leak: 0, reverse_threshold: -1"
_PER_LINE = 16


def sanafe_network(cells: SanafeCells) -> str:
    """Write SANA-FE's network, with the core of every neuron.

    Parameters
    ----------
    cells : SanafeCells
        Groups are called ``neurons``, ``buffers`` and ``inputs``; a group without cells is left out. Neuron k of
        ``neurons`` is that of ``cells.core[k]``, ``cells.row[k]``.

    Returns
    -------
    str
        YAML for :func:`sanafe.load_net`, with the architecture of the same cells.

    Raises
    ------
    NotSupportedError
        If there are more than ``MOST_SYNAPSES`` synapses, or input neurons times ticks.
    """
    height = int(cells.coordinates[:, 1].max(initial=0)) + 1
    tiles = cells.coordinates[:, 0] * height + cells.coordinates[:, 1]  # tiles run through a column first
    names = ("threshold", "leak", "reset_to", "reset", "lower", "lower_reset_to", "lower_reset")
    neurons = neuron_lines(cells, ", soma: {leak_towards_zero: false, force_update: true}", names, _soma)
    return network_text(cells, neurons, _REPEAT, [f"{tile}.0" for tile in tiles.tolist()])


def _soma(threshold: int, leak: int, to: int, mode: int, lower: int, lower_to: int, lower_mode: int) -> str:
    return (
        f"threshold: {threshold}, leak: {leak}, reset: {to}, reset_mode: {_RESETS[mode]}, "
        f"reverse_threshold: {lower}, reverse_reset: {lower_to}, reverse_reset_mode: {_RESETS[lower_mode]}"
    )


def neuron_lines(cells: Cells, shared: str, names: Sequence[str], soma: Callable[..., str]) -> Iterator[str]:
    """Write the group of the program's neurons; ``soma`` writes one from its values of the fields ``names``."""
    table = np.stack([getattr(cells, name) for name in names], axis=1)
    yield "    - name: neurons"
    yield f"      attributes: {{log_spikes: true, synapse_hw_name: synapses{shared}}}"
    yield "      neurons:"
    for begin, end in runs_of(table):
        yield f"        - {range_words(begin, end)}: {{soma: {{{soma(*table[begin].tolist())}}}}}"


def network_text(cells: Cells, neurons: Iterable[str], repeat: str, places: Sequence[str]) -> str:
    """Write SANA-FE's network of groups of neurons, buffers and inputs, with the core of every cell."""
    # neurons: lines of their group; repeat: the soma of a buffer; places: tile and core, of every core of the program
    n_inputs = len(cells.generator_core)
    for what, number in (("synapses", len(cells.pre)), ("ticks of its inputs", n_inputs * cells.n_ticks)):
        if number > MOST_SYNAPSES:
            raise NotSupportedError(
                f"SANA-FE's network: takes {number} {what}; at most {MOST_SYNAPSES} are written: export a smaller "
                "program, or fewer frames"
            )
    written = {"neurons": neurons, "buffers": _buffers(cells, repeat), "inputs": _inputs(cells)}
    bounds = np.cumsum([0, cells.n_neurons, len(cells.buffer_core), n_inputs]).tolist()
    groups = [group for group in zip(written, bounds, bounds[1:], strict=False) if group[2] > group[1]]
    lines = ["network:", "  name: program", "  groups:"]
    for name, _, _ in groups:
        lines += written[name]
    edges = [line for source in groups for target in groups for line in _edges(cells, source, target)]
    lines += ["  edges:", *edges] if edges else ["  edges: []"]
    return "\n".join([*lines, "mappings:", *_mappings(cells, places)]) + "\n"


def _buffers(cells: Cells, repeat: str) -> Iterator[str]:
    yield "    - name: buffers"
    yield f"      attributes: {{synapse_hw_name: ways, soma: {{{repeat}}}}}"
    yield f"      neurons: [{{{range_words(0, len(cells.buffer_core))}: []}}]"


def _inputs(cells: Cells) -> Iterator[str]:
    """Write the group of input neurons, each with its spike train from the host."""
    yield "    - name: inputs"
    yield "      attributes: {synapse_hw_name: synapses}"
    yield "      neurons:"
    trains = np.zeros((len(cells.generator_core), cells.n_ticks), np.uint8)
    trains[cells.fed_generator, cells.fed_tick] = 1
    for k, train in enumerate(trains):
        yield f"        - {k}: {{soma: {{spikes: [{', '.join('01'[spike] for spike in train)}]}}}}"


def _edges(cells: Cells, source: tuple[str, int, int], target: tuple[str, int, int]) -> Iterator[str]:
    """Write the synapses from one group to another, if there are any."""
    mine = (cells.pre >= source[1]) & (cells.pre < source[2]) & (cells.post >= target[1]) & (cells.post < target[2])
    if not mine.any():
        return
    pre, post = (cells.pre[mine] - source[1]).tolist(), (cells.post[mine] - target[1]).tolist()
    yield f"    - {source[0]} -> {target[0]}:"
    yield "        type: sparse"
    yield f"        source_target_pairs: [{list_words([f'[{u}, {v}]' for u, v in zip(pre, post, strict=True)])}]"
    yield f"        weight: [{list_words([repr(weight) for weight in cells.weight[mine].tolist()])}]"


def _mappings(cells: Cells, places: Sequence[str]) -> Iterator[str]:
    """Write the core of every cell, and the units that compute it."""
    unit = 1 + ranks_of(cells.buffer_core) // DENDRITES
    for name, core, units in (("neurons", cells.core, np.zeros_like(cells.core)), ("buffers", cells.buffer_core, unit)):
        table = np.stack([core, units], axis=1)
        for begin, end in runs_of(table):
            at, k = table[begin].tolist()
            place = f"core: {places[at]}, soma: soma_{k}, dendrite: dendrites_{k}"
            yield f"  - {name}.{range_words(begin, end)}: {{{place}}}"
    last = buffer_units(cells) + 1
    ranks = ranks_of(cells.generator_core).tolist()
    for k, (core, rank) in enumerate(zip(cells.generator_core.tolist(), ranks, strict=True)):
        yield f"  - inputs.{k}: {{core: {places[core]}, soma: 'input[{rank}]', dendrite: dendrites_{last}}}"


def ranks_of(cores: Ints) -> Ints:
    """Assign every cell its number within its core, from 0."""
    order = np.argsort(cores, kind="stable")
    ranks = np.empty(len(cores), dtype=np.int64)
    ranks[order] = rank_in_run(cores[order])
    return ranks


def runs_of(table: NDArray[Any]) -> list[tuple[int, int]]:
    """Bounds of runs of equal rows."""
    if not len(table):
        return []
    heads = np.flatnonzero(run_heads(table)).tolist()
    return list(zip(heads, [*heads[1:], len(table)], strict=True))


def range_words(begin: int, end: int) -> str:
    """Write a range of consecutive neurons."""
    return str(begin) if end == begin + 1 else f"{begin}..{end - 1}"


def list_words(words: list[str]) -> str:
    """Join words with commas, several per line."""
    lines = (", ".join(words[k : k + _PER_LINE]) for k in range(0, len(words), _PER_LINE))
    return ",\n          ".join(lines)


# The chip of a program as SANA-FE's architecture: a mesh of tiles of one core each, with the chip file's costs.


# Directions of hops in its mesh.
WAYS = ("north", "east", "south", "west")
# Neurons that one of SANA-FE's dendrite units holds; their number is not checked there.
DENDRITES = 1024
# Figures of a chip file that SANA-FE's architecture has a place for, by their names there, and the place.
FIGURES_USED = ReadOnlyMapping(
    {
        "energy.synaptic_event_joules": "energy_process_spike of synapses",
        "time.synaptic_event_seconds": "latency_process_spike of synapses",
        "energy.neuron_update_joules": "energy_access_neuron of soma_0",
        "time.neuron_update_seconds": "latency_access_neuron of soma_0",
        "energy.spike_joules": "energy_spike_out of soma_0",
        "energy.hop_joules": "energy of a hop in all directions",
        "router.hop_seconds": "latency of a hop in all directions",
    }
)
# Figure of each cost of its units; all others are 0.
_COSTS = ReadOnlyMapping(
    {
        "energy_process_spike": "energy.synaptic_event_joules",
        "latency_process_spike": "time.synaptic_event_seconds",
        "energy_access_neuron": "energy.neuron_update_joules",
        "latency_access_neuron": "time.neuron_update_seconds",
        "energy_spike_out": "energy.spike_joules",
        **{f"energy_{way}_hop": "energy.hop_joules" for way in WAYS},
        **{f"latency_{way}_hop": "router.hop_seconds" for way in WAYS},
    }
)


def buffer_units(cells: Cells) -> int:
    """Count the units that a core's buffers take; the neurons have unit 0, the generators the last one."""
    return -(-_most(cells.buffer_core) // DENDRITES)


def sanafe_architecture(cells: SanafeCells, chip: ChipSpec) -> str:
    """Write SANA-FE's architecture.

    Parameters
    ----------
    cells : SanafeCells
        Cells whose cores make the mesh, from their first to their last column and row.
    chip : ChipSpec
        Chip whose figures are the costs. Figures that its file lacks, or that others include, are 0 and marked.

    Returns
    -------
    str
        YAML.
    """
    width, height = (int(side) for side in cells.coordinates.max(axis=0, initial=0) + 1)
    units = buffer_units(cells)
    neurons = max(_most(cells.core) + _most(cells.buffer_core) + _most(cells.generator_core), 1)
    costs = {key: cost_text(known_figure(chip, figure)) for key, figure in _COSTS.items()}
    somas = [soma_words("'soma_0'", "truenorth", costs)]
    somas += [soma_words(f"'soma_{k}'", "truenorth", {}) for k in range(1, units + 1)]
    tiles = []
    at = 0
    for n_inputs, run in groupby(_inputs_of_tiles(cells, width, height).tolist()):
        end = at + len(list(run))
        # an input unit reads one train of spikes, so every generator has its own
        inputs = [soma_words(f"'input[0..{n_inputs - 1}]'", "input", {})] * (n_inputs > 0)
        tiles.append(tile_text(f"tile[{at}..{end - 1}]", "core", neurons, [*somas, *inputs], units, costs))
        at = end
    return (
        f"{_head(chip)}architecture:\n"
        "  name: program\n"
        f"  attributes: {{topology: mesh, width: {width}, height: {height}, link_buffer_size: 1, sync_model: fixed, "
        "latency_sync: 0.0}\n"
        "  tile:\n" + "".join(tiles)
    )


def tile_text(tile: str, core: str, n_neurons: int, somas: Sequence[str], units: int, costs: Mapping[str, str]) -> str:
    """Write identical tiles and their cores; costs missing from ``costs``, and those of buffers, are 0."""

    def said(*keys: str, of: Mapping[str, str] = costs) -> str:
        return ", ".join(f"{key}: {of.get(key, '0.0')}" for key in keys)

    hops = said(*(f"{kind}_{way}_hop" for way in WAYS for kind in ("energy", "latency")))
    synapse = ("energy_process_spike", "latency_process_spike")
    dendrites = [
        f"{{name: dendrites_{k}, attributes: {{model: accumulator, energy_update: 0.0, latency_update: 0.0}}}}"
        for k in range(units + 2)
    ]
    between = "\n          - "
    return f"""\
    - name: {tile}
      attributes: {{{hops}}}
      core:
        - name: {core}
          attributes: {{buffer_position: soma, buffer_inside_unit: false, max_neurons_supported: {n_neurons}}}
          axon_in:
          - {{name: in, attributes: {{{said("energy_message_in", "latency_message_in")}}}}}
          synapse:
          - {{name: synapses, attributes: {{model: current_based, {said(*synapse)}}}}}
          - {{name: ways, attributes: {{model: current_based, {said(*synapse, of={})}}}}}
          dendrite:
          - {between.join(dendrites)}
          soma:
          - {between.join(somas)}
          axon_out:
          - {{name: out, attributes: {{{said("energy_message_out", "latency_message_out")}}}}}
"""


def soma_words(name: str, model: str, costs: Mapping[str, str]) -> str:
    """Write a soma of a core; costs missing from ``costs`` are 0."""
    kinds = ("access_neuron", "update_neuron", "spike_out")
    keys = [f"{what}_{kind}" for kind in kinds for what in ("energy", "latency")]
    said = ", ".join(f"{key}: {costs.get(key, '0.0')}" for key in keys)
    return f"{{name: {name}, attributes: {{model: {model}, {said}}}}}"


def _head(chip: ChipSpec) -> str:
    """Write the origin of every cost."""
    lines = [f"# Written by neuromap. Costs are those of its chip file {_plain(chip.name)}:"]
    for name, place in FIGURES_USED.items():
        value = known_figure(chip, name)
        if value is None:
            held = name.startswith("energy.") and name.partition(".")[2] in chip.energy_included
            said = "0: other figures of the file include it" if held else "0: the chip file has no such figure"
        else:
            said = f"{value!r}"
        lines.append(f"#   {name}: {said} ({place})")
    lines.append("# Buffers (ways, soma_1 on) and inputs are not part of the chip and cost nothing.")
    return "\n".join(lines) + "\n"


def known_figure(chip: ChipSpec, name: str) -> float | None:
    """Return a figure of the chip file; ``None`` if it is missing, or included in others."""
    table, _, key = name.partition(".")
    if table == "energy" and key in chip.energy_included:
        return None
    tables = {"energy": chip.energy, "time": chip.timing, "router": chip.router}
    return tables[table].get(key)


def cost_text(figure: float | None) -> str:
    """Write a cost; a missing figure costs nothing."""
    return "0.0" if figure is None else repr(float(figure))


def _plain(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _inputs_of_tiles(cells: SanafeCells, width: int, height: int) -> NDArray[np.int64]:
    """Count the generators of every tile; tiles are numbered column by column."""
    x, y = cells.coordinates.T
    counts = np.zeros(width * height, np.int64)
    counts[x * height + y] = np.bincount(cells.generator_core, minlength=len(cells.coordinates))
    return counts


def _most(cores: NDArray[np.int64]) -> int:
    return int(np.bincount(cores).max(initial=0))

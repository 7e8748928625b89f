"""Cells as SANA-FE's network: groups of neurons, edges, and the core of every neuron."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.packed_rows import run_heads
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.cores.crossbar.program import Program
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
class SanafeCells(Card):
    """K neurons on C cores, B buffers, G generators; cell numbers run through them in this order.

    A neuron adds what it hears and its leak to V. With ``V >= threshold`` it spikes and is reset; with ``V <= lower``
    it is reset too. V is 0 at first, and a neuron that hears nothing stays at 0.

    Attributes
    ----------
    n_ticks : int
        Ticks to run.
    coordinates : ndarray of int64, shape (C, 2)
        x and y of every core, from 0.
    core, row : ndarray of int64, shape (K,)
        Where each neuron is on the chip.
    leak, threshold, reset_to, lower, lower_reset_to : ndarray of int64, shape (K,)
        Parameters.
    reset, lower_reset : ndarray of int64, shape (K,)
        ``HARD``, ``SOFT`` or ``NONE``; the lower one is never ``SOFT``.
    buffer_core : ndarray of int64, shape (B,)
        Buffers have threshold 1 and hear 1.
    generator_core : ndarray of int64, shape (G,)
        Core that each generator feeds.
    fed_tick, fed_generator : ndarray of int64, shape (E,)
        Spikes from the host, by the tick in which they are integrated.
    pre, post, weight : ndarray of int64, shape (S,)
        Synapses between cells: a spike of tick t is integrated in tick t + 1, one of a generator in its own tick.
    """

    n_ticks: int
    coordinates: Ints
    core: Ints
    row: Ints
    leak: Ints
    threshold: Ints
    reset: Ints
    reset_to: Ints
    lower: Ints
    lower_reset: Ints
    lower_reset_to: Ints
    buffer_core: Ints
    generator_core: Ints
    fed_tick: Ints
    fed_generator: Ints
    pre: Ints
    post: Ints
    weight: Ints

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @property
    def n_neurons(self) -> int:
        """Neurons of the program that SANA-FE is given."""
        return len(self.core)


def sanafe_cells(program: ChipProgram, spikes: HostSpikes) -> SanafeCells:
    """Turn a program and what the host delivers into cells and synapses.

    Parameters
    ----------
    program : ChipProgram
        Of crossbars: one source per axon, nothing stochastic, neurons that rest at 0. Potentials that reach their rails
        are not looked for: mapped programs have none (rule ``potential-width`` of the checker).
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
        If SANA-FE has not what the program asks for.
    """
    needs("sanafe_cells", program, ChipProgram, ProgramError)
    require_legal(program)
    if not isinstance(program, Program):
        raise NotSupportedError(
            f"program {show_name(program.name)}: its cores ({program.chip.name}) keep lists of synapses; cells for "
            "SANA-FE are made of crossbars: map the network onto truenorth or ranc"
        )
    used = program.neuron_node >= 0
    core, row = (index.astype(np.int64) for index in np.nonzero(used))
    parameters = _parameters(program, core, row)
    number = np.full(used.shape, -1)
    number[core, row] = np.arange(len(core))
    if (program.target_core[~used] >= 0).any():
        raise _lacks(program, "a neuron without a label feeds an axon", "label it")

    sends = program.target_core[core, row] >= 0
    source = np.flatnonzero(sends)
    to_core, to_axon = (
        table[core, row][sends].astype(np.int64) for table in (program.target_core, program.target_axon)
    )
    hops = program.delay[core, row][sends].astype(np.int64) - 1  # buffers on the way
    axons = np.concatenate([to_core, program.host.core]).astype(np.int64) * program.axon_types.shape[1]
    axons += np.concatenate([to_axon, program.host.axon])
    if len(np.unique(axons)) != len(axons):
        raise _lacks(
            program,
            "an axon has two sources, whose spikes a chip merges and SANA-FE adds",
            "give each an axon of its own",
        )

    # A chain source -> buffer -> ... -> axon, all buffers of one chain with numbers in a row.
    first = len(core) + np.cumsum(hops) - hops
    buffers = len(core) + np.arange(hops.sum())
    before = buffers - 1
    before[first[hops > 0] - len(core)] = source[hops > 0]
    last = np.where(hops > 0, first + hops - 1, source)
    generators = len(core) + len(buffers) + np.arange(len(program.host))
    pre, post, weight = _synapses(program, axons, np.concatenate([last, generators]), number)
    return SanafeCells(
        n_ticks=spikes.n_ticks,
        coordinates=program.coordinates.astype(np.int64) - program.coordinates.min(axis=0, initial=2**31 - 1),
        core=core,
        row=row,
        **parameters,
        buffer_core=np.repeat(to_core, hops),
        generator_core=program.host.core.astype(np.int64),
        fed_tick=spikes.tick,
        fed_generator=spikes.row,
        pre=np.concatenate([before, pre]),
        post=np.concatenate([buffers, post]),
        weight=np.concatenate([np.ones(len(buffers), np.int64), weight]),
    )


def _parameters(program: Program, core: Ints, row: Ints) -> dict[str, Ints]:
    """Say the neuron's rules in terms of ``SanafeCells``."""
    table = program.neurons
    stochastic = (table.stochastic_weight, table.stochastic_leak, table.noise_bits)
    if any(mode is not None and mode[core, row].any() for mode in stochastic):
        raise _lacks(program, "a neuron has a stochastic mode", "map with deterministic neurons")
    names = ("leak", "leak_reversal", "threshold", "negative_threshold", "reset", "reset_mode", "potential")
    of = {name: getattr(table, name)[core, row].astype(np.int64) for name in names}
    saturates = table.saturate_negative[core, row]
    if of["leak_reversal"].any() or of["potential"].any():
        raise _lacks(program, "a neuron has leak reversal, or a potential before the first tick", "start it at 0")
    if (~saturates & (of["reset_mode"] == 1)).any():
        raise _lacks(
            program, "a neuron has a linear reset at the negative threshold", "let its potential stop there (saturate)"
        )
    # V < -beta is V <= -beta - 1, since all is integer.
    lower = -of["negative_threshold"] - (program.chip.rules.negative_comparison == "<")
    hard = saturates | (of["reset_mode"] == 0)
    lower_reset_to = np.where(saturates, -of["negative_threshold"], np.where(hard, -of["reset"], 0))
    rest = np.where(of["leak"] <= lower, np.where(hard, lower_reset_to, of["leak"]), of["leak"])
    if ((of["leak"] >= of["threshold"]) | (rest != 0)).any():
        raise _lacks(
            program, "a neuron that hears nothing does not stay at 0", "give it a leak that a reset takes back"
        )
    return {
        "leak": of["leak"],
        "threshold": of["threshold"],
        "reset": np.array([HARD, SOFT, NONE])[of["reset_mode"]],
        "reset_to": of["reset"],
        "lower": lower,
        "lower_reset": np.where(hard, HARD, NONE),
        "lower_reset_to": lower_reset_to,
    }


def _synapses(program: Program, axons: Ints, feeder: Ints, number: Ints) -> tuple[Ints, Ints, Ints]:
    """List the synapses of the axons that have a source; ``feeder`` is the cell that spikes last on the way to each."""
    n_neurons, n_axons = number.shape[1], program.axon_types.shape[1]
    found = [np.zeros((3, 0), np.int64)]
    for core in range(len(number)):
        mine = axons // n_axons == core
        axon = axons[mine] % n_axons
        bits = np.unpackbits(program.crossbar[core, axon], axis=1, count=n_neurons, bitorder="little").astype(bool)
        bits &= number[core] >= 0
        if not bits.any(axis=1).all():
            raise _lacks(
                program,
                "an axon that is fed has no synapse, so that SANA-FE would not send its spikes",
                "do not feed it",
            )
        at, neuron = np.nonzero(bits)
        weight = program.neurons.weights[core, neuron, program.axon_types[core, axon[at]]]
        found.append(np.stack([feeder[mine][at], number[core, neuron], weight.astype(np.int64)]))
    pre, post, weight = np.concatenate(found, axis=1)
    return pre, post, weight


def _lacks(program: Program, what: str, way: str) -> NotSupportedError:
    return NotSupportedError(f"program {show_name(program.name)}: {what}; SANA-FE has not that: {way}")


# SANA-FE's step of tick 0.
#
# What is sent in its step s is integrated in step s + 1, so the host's spikes of tick t are sent in step t + 1, and the
# spikes of tick t in step t + 2.
LEAD = 2
# Synapses of one network file, and spikes of its inputs: about 400 MB of text.
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
    n_inputs = len(cells.generator_core)
    for what, number in (("synapses", len(cells.pre)), ("ticks of its inputs", n_inputs * cells.n_ticks)):
        if number > MOST_SYNAPSES:
            raise NotSupportedError(
                f"SANA-FE's network: takes {number} {what}; at most {MOST_SYNAPSES} are written: export a smaller "
                "program, or fewer frames"
            )
    bounds = np.cumsum([0, cells.n_neurons, len(cells.buffer_core), n_inputs]).tolist()
    groups = [
        group
        for group in zip(("neurons", "buffers", "inputs"), bounds, bounds[1:], strict=False)
        if group[2] > group[1]
    ]
    lines = ["network:", "  name: program", "  groups:"]
    for name, _, _ in groups:
        lines += _GROUPS[name](cells)
    lines.append("  edges:")
    before = len(lines)
    for source, first, stop in groups:
        for target, begin, end in groups:
            lines += _edges(cells, (source, first, stop), (target, begin, end))
    if len(lines) == before:
        lines[-1] += " []"
    lines.append("mappings:")
    lines += _mappings(cells)
    return "\n".join(lines) + "\n"


def _neurons(cells: SanafeCells) -> Iterator[str]:
    table = np.stack(
        [
            cells.threshold,
            cells.leak,
            cells.reset_to,
            cells.reset,
            cells.lower,
            cells.lower_reset_to,
            cells.lower_reset,
        ],
        axis=1,
    )
    yield "    - name: neurons"
    yield (
        "      attributes: {log_spikes: true, synapse_hw_name: synapses, "
        "soma: {leak_towards_zero: false, force_update: true}}"
    )
    yield "      neurons:"
    for begin, end in runs_of(table):
        threshold, leak, to, mode, lower, lower_to, lower_mode = table[begin].tolist()
        yield (
            f"        - {range_words(begin, end)}: {{soma: {{threshold: {threshold}, leak: {leak}, reset: {to}, "
            f"reset_mode: {_RESETS[mode]}, reverse_threshold: {lower}, reverse_reset: {lower_to}, "
            f"reverse_reset_mode: {_RESETS[lower_mode]}}}}}"
        )


def _buffers(cells: SanafeCells) -> Iterator[str]:
    yield "    - name: buffers"
    yield f"      attributes: {{synapse_hw_name: ways, soma: {{{_REPEAT}}}}}"
    yield f"      neurons: [{{{range_words(0, len(cells.buffer_core))}: []}}]"


def _inputs(cells: SanafeCells) -> Iterator[str]:
    return input_lines(len(cells.generator_core), cells.n_ticks, cells.fed_generator, cells.fed_tick)


def input_lines(n_inputs: int, n_ticks: int, generator: Ints, tick: Ints) -> Iterator[str]:
    """Write the group of input neurons, each with the train of spikes that the host feeds."""
    yield "    - name: inputs"
    yield "      attributes: {synapse_hw_name: synapses}"
    yield "      neurons:"
    trains = np.zeros((n_inputs, n_ticks), np.uint8)
    trains[generator, tick] = 1
    for k, train in enumerate(trains):
        yield f"        - {k}: {{soma: {{spikes: [{', '.join('01'[spike] for spike in train)}]}}}}"


_GROUPS = {"neurons": _neurons, "buffers": _buffers, "inputs": _inputs}


def _edges(cells: SanafeCells, source: tuple[str, int, int], target: tuple[str, int, int]) -> Iterator[str]:
    """Write the synapses from one group to another, if there are any."""
    mine = (cells.pre >= source[1]) & (cells.pre < source[2]) & (cells.post >= target[1]) & (cells.post < target[2])
    if not mine.any():
        return
    pre, post = (cells.pre[mine] - source[1]).tolist(), (cells.post[mine] - target[1]).tolist()
    yield f"    - {source[0]} -> {target[0]}:"
    yield "        type: sparse"
    yield f"        source_target_pairs: [{list_words([f'[{u}, {v}]' for u, v in zip(pre, post, strict=True)])}]"
    yield f"        weight: [{list_words([str(w) for w in cells.weight[mine].tolist()])}]"


def _mappings(cells: SanafeCells) -> Iterator[str]:
    """Write where cells are: core, and the units of it that compute them."""
    height = int(cells.coordinates[:, 1].max(initial=0)) + 1
    tile = cells.coordinates[:, 0] * height + cells.coordinates[:, 1]  # tiles run through a column first
    unit = 1 + ranks_of(cells.buffer_core) // DENDRITES
    last = buffer_units(cells) + 1
    for name, core, units in (("neurons", cells.core, np.zeros_like(cells.core)), ("buffers", cells.buffer_core, unit)):
        table = np.stack([core, units], axis=1)
        for begin, end in runs_of(table):
            at, k = table[begin].tolist()
            place = f"core: {tile[at]}.0, soma: soma_{k}, dendrite: dendrites_{k}"
            yield f"  - {name}.{range_words(begin, end)}: {{{place}}}"
    ranks = ranks_of(cells.generator_core).tolist()
    for k, (core, rank) in enumerate(zip(cells.generator_core.tolist(), ranks, strict=True)):
        yield f"  - inputs.{k}: {{core: {tile[core]}.0, soma: 'input[{rank}]', dendrite: dendrites_{last}}}"


def ranks_of(cores: Ints) -> Ints:
    """Give every cell its number within its core, from 0."""
    ranks = np.empty(len(cores), dtype=np.int64)
    for core in np.unique(cores):
        mine = np.flatnonzero(cores == core)
        ranks[mine] = np.arange(len(mine))
    return ranks


def runs_of(table: NDArray[Any]) -> list[tuple[int, int]]:
    """Bounds of the stretches of equal rows."""
    if not len(table):
        return []
    heads = np.flatnonzero(run_heads(table)).tolist()
    return list(zip(heads, [*heads[1:], len(table)], strict=True))


def range_words(begin: int, end: int) -> str:
    """Name some neurons in a row."""
    return str(begin) if end == begin + 1 else f"{begin}..{end - 1}"


def list_words(words: list[str]) -> str:
    """Join words with commas, some to a line."""
    lines = (", ".join(words[k : k + _PER_LINE]) for k in range(0, len(words), _PER_LINE))
    return ",\n          ".join(lines)


# The chip of a program as SANA-FE's architecture: a mesh of tiles of one core each, with the chip file's costs.


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
_WAYS = ("north", "east", "south", "west")


def buffer_units(cells: SanafeCells) -> int:
    """Count the units that a core's buffers take; the neurons have unit 0, the generators the last one."""
    return -(-_most(cells.buffer_core) // DENDRITES)


def sanafe_architecture(cells: SanafeCells, chip: ChipSpec) -> str:
    """Write SANA-FE's architecture.

    Parameters
    ----------
    cells : SanafeCells
        Whose cores make the mesh, from the first to the last column and row that they lie in.
    chip : ChipSpec
        Whose figures are the costs. Those that its file lacks, and those that others include, are 0 and marked.

    Returns
    -------
    str
        YAML.
    """
    width, height = (int(side) for side in cells.coordinates.max(axis=0, initial=0) + 1)
    units = buffer_units(cells)
    neurons = max(_most(cells.core) + _most(cells.buffer_core) + _most(cells.generator_core), 1)
    synapse, synapse_s = _figure(chip, "energy.synaptic_event_joules"), _figure(chip, "time.synaptic_event_seconds")
    update, update_s = _figure(chip, "energy.neuron_update_joules"), _figure(chip, "time.neuron_update_seconds")
    hop, hop_s = _figure(chip, "energy.hop_joules"), _figure(chip, "router.hop_seconds")
    hops = ", ".join(f"energy_{way}_hop: {hop}, latency_{way}_hop: {hop_s}" for way in _WAYS)
    core = (
        "      core:\n"
        "        - name: core\n"
        "          attributes: {buffer_position: soma, buffer_inside_unit: false, "
        f"max_neurons_supported: {neurons}}}\n"
        "          axon_in:\n"
        "          - {name: in, attributes: {energy_message_in: 0.0, latency_message_in: 0.0}}\n"
        "          synapse:\n"
        + _synapse("synapses", synapse, synapse_s)
        + _synapse("ways", "0.0", "0.0")
        + "          dendrite:\n"
        + "".join(
            f"          - {{name: dendrites_{k}, attributes: {{model: accumulator, energy_update: 0.0, "
            "latency_update: 0.0}}\n"
            for k in range(units + 2)
        )
        + "          soma:\n"
        + _soma("soma_0", "truenorth", update, update_s, _figure(chip, "energy.spike_joules"))
        + "".join(_soma(f"soma_{k}", "truenorth") for k in range(1, units + 1))
    )
    out = (
        "          axon_out:\n"
        "          - {name: out, attributes: {energy_message_out: 0.0, latency_message_out: 0.0}}\n"
    )
    tiles = []
    at = 0
    for n_inputs, run in groupby(_inputs_of_tiles(cells, width, height).tolist()):
        end = at + len(list(run))
        # an input unit reads one train of spikes, so every generator has its own
        inputs = _soma(f"input[0..{n_inputs - 1}]", "input") if n_inputs else ""
        tiles.append(f"    - name: tile[{at}..{end - 1}]\n      attributes: {{{hops}}}\n{core}{inputs}{out}")
        at = end
    return (
        f"{_head(chip)}architecture:\n"
        "  name: program\n"
        f"  attributes: {{topology: mesh, width: {width}, height: {height}, link_buffer_size: 1, sync_model: fixed, "
        "latency_sync: 0.0}\n"
        "  tile:\n" + "".join(tiles)
    )


def _head(chip: ChipSpec) -> str:
    """Say of every cost where it is from."""
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
    """Give a figure of the chip file that is to be added, or None."""
    table, _, key = name.partition(".")
    if table == "energy" and key in chip.energy_included:
        return None
    tables = {"energy": chip.energy, "time": chip.timing, "router": chip.router}
    return tables[table].get(key)


def _figure(chip: ChipSpec, name: str) -> str:
    value = known_figure(chip, name)
    return "0.0" if value is None else repr(float(value))


def _plain(text: str) -> str:
    return text if text.isprintable() else repr(text)


def _synapse(name: str, joules: str, seconds: str) -> str:
    return (
        f"          - {{name: {name}, attributes: {{model: current_based, energy_process_spike: {joules}, "
        f"latency_process_spike: {seconds}}}}}\n"
    )


def _soma(name: str, model: str, access: str = "0.0", access_s: str = "0.0", spike: str = "0.0") -> str:
    return (
        f"          - {{name: '{name}', attributes: {{model: {model}, energy_access_neuron: {access}, "
        f"latency_access_neuron: {access_s}, energy_update_neuron: 0.0, latency_update_neuron: 0.0, "
        f"energy_spike_out: {spike}, latency_spike_out: 0.0}}}}\n"
    )


def _inputs_of_tiles(cells: SanafeCells, width: int, height: int) -> NDArray[np.int64]:
    """Count the generators of every tile; tiles run through a column first."""
    x, y = cells.coordinates.T
    counts = np.zeros(width * height, np.int64)
    counts[x * height + y] = np.bincount(cells.generator_core, minlength=len(cells.coordinates))
    return counts


def _most(cores: NDArray[np.int64]) -> int:
    return int(np.bincount(cores).max(initial=0))

"""Cells as SANA-FE's network: groups of neurons, edges, and the core of every neuron."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.ragged import run_heads
from neuromap.errors import NotSupportedError
from neuromap.formats.sanafe.architecture import DENDRITES, buffer_units
from neuromap.formats.sanafe.cells import SanafeCells

__all__ = ["LEAD", "MOST_SYNAPSES", "sanafe_network"]

LEAD = 2
"""SANA-FE's step of tick 0.

What is sent in its step s is integrated in step s + 1, so the host's spikes of tick t are sent in step t + 1, and the
spikes of tick t in step t + 2.
"""

MOST_SYNAPSES = 20_000_000
"""Synapses of one network file, and spikes of its inputs: about 400 MB of text."""

_RESETS = ("hard", "soft", "none")
_REPEAT = "threshold: 1, reset: 0, reset_mode: hard, leak: 0, reverse_threshold: -1"
_PER_LINE = 16

_Ints = NDArray[np.int64]


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
    for begin, end in _runs(table):
        threshold, leak, to, mode, lower, lower_to, lower_mode = table[begin].tolist()
        yield (
            f"        - {_range(begin, end)}: {{soma: {{threshold: {threshold}, leak: {leak}, reset: {to}, "
            f"reset_mode: {_RESETS[mode]}, reverse_threshold: {lower}, reverse_reset: {lower_to}, "
            f"reverse_reset_mode: {_RESETS[lower_mode]}}}}}"
        )


def _buffers(cells: SanafeCells) -> Iterator[str]:
    yield "    - name: buffers"
    yield f"      attributes: {{synapse_hw_name: ways, soma: {{{_REPEAT}}}}}"
    yield f"      neurons: [{{{_range(0, len(cells.buffer_core))}: []}}]"


def _inputs(cells: SanafeCells) -> Iterator[str]:
    yield "    - name: inputs"
    yield "      attributes: {synapse_hw_name: synapses}"
    yield "      neurons:"
    trains = np.zeros((len(cells.generator_core), cells.n_ticks), np.uint8)
    trains[cells.fed_generator, cells.fed_tick] = 1
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
    yield f"        source_target_pairs: [{_list([f'[{u}, {v}]' for u, v in zip(pre, post, strict=True)])}]"
    yield f"        weight: [{_list([str(w) for w in cells.weight[mine].tolist()])}]"


def _mappings(cells: SanafeCells) -> Iterator[str]:
    """Write where cells are: core, and the units of it that compute them."""
    height = int(cells.coordinates[:, 1].max(initial=0)) + 1
    tile = cells.coordinates[:, 0] * height + cells.coordinates[:, 1]  # tiles run through a column first
    unit = 1 + _ranks(cells.buffer_core) // DENDRITES
    last = buffer_units(cells) + 1
    for name, core, units in (("neurons", cells.core, np.zeros_like(cells.core)), ("buffers", cells.buffer_core, unit)):
        table = np.stack([core, units], axis=1)
        for begin, end in _runs(table):
            at, k = table[begin].tolist()
            yield f"  - {name}.{_range(begin, end)}: {{core: {tile[at]}.0, soma: soma_{k}, dendrite: dendrites_{k}}}"
    ranks = _ranks(cells.generator_core).tolist()
    for k, (core, rank) in enumerate(zip(cells.generator_core.tolist(), ranks, strict=True)):
        yield f"  - inputs.{k}: {{core: {tile[core]}.0, soma: 'input[{rank}]', dendrite: dendrites_{last}}}"


def _ranks(cores: _Ints) -> _Ints:
    """Give every cell its number within its core, from 0."""
    ranks = np.empty(len(cores), dtype=np.int64)
    for core in np.unique(cores):
        mine = np.flatnonzero(cores == core)
        ranks[mine] = np.arange(len(mine))
    return ranks


def _runs(table: _Ints) -> list[tuple[int, int]]:
    """Bounds of the stretches of equal rows."""
    if not len(table):
        return []
    heads = np.flatnonzero(run_heads(table)).tolist()
    return list(zip(heads, [*heads[1:], len(table)], strict=True))


def _range(begin: int, end: int) -> str:
    return str(begin) if end == begin + 1 else f"{begin}..{end - 1}"


def _list(words: list[str]) -> str:
    """Join words with commas, some to a line."""
    lines = (", ".join(words[k : k + _PER_LINE]) for k in range(0, len(words), _PER_LINE))
    return ",\n          ".join(lines)

"""What a program takes of its chip, as figures for people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuromap.hardware.program import Program

__all__ = ["program_figures"]


def program_figures(program: Program) -> dict[str, Any]:
    """Count what a program takes of its chip.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.

    Returns
    -------
    dict
        ``cores``, ``neurons`` (all in use: originals, copies and relays), ``copies`` (further neurons with the
        label of another), ``relays``, ``axons`` (those that a neuron or the host feeds), ``synapses``, the
        utilisation of each between 0 and 1, and the clock.
    """
    import numpy as np

    chip = program.chip
    used = program.neuron_node >= 0
    plain = used & ~program.is_relay
    labels = np.stack([program.neuron_node[plain], program.neuron_index[plain]])
    aimed = program.target_core >= 0
    wires = np.stack([program.target_core[aimed], program.target_axon[aimed]])
    host = np.stack([program.host.core, program.host.axon])
    axons = np.unique(np.concatenate([wires, host], axis=1), axis=1).shape[1]
    neurons = int(used.sum())
    return {
        "network": program.name,
        "chip": chip.name,
        "pattern": program.pattern,
        "execution": program.execution,
        "cores": program.n_cores,
        "neurons": neurons,
        "copies": int(plain.sum()) - np.unique(labels, axis=1).shape[1],
        "relays": int((used & program.is_relay).sum()),
        "axons": axons,
        "synapses": int(np.unpackbits(program.crossbar).sum()),
        "core_utilisation": program.n_cores / chip.n_cores,
        "neuron_utilisation": neurons / max(1, program.n_cores * chip.neurons),
        "axon_utilisation": axons / max(1, program.n_cores * chip.axons),
        "frame_period_ticks": program.period,
        "ticks_per_step": program.ticks_per_step,
        "sampling_frequency_hz": 1 / (program.period * chip.tick_seconds),
    }

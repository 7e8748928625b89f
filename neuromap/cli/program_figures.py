"""What a program takes of its chip, as figures for people and programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuromap.hardware.program import Program

__all__ = ["UNITS", "program_figures"]

UNITS = {
    "cores": "of {cores_of_chip}",
    "copies": "neurons that repeat another",
    "relays": "neurons that lengthen a delay",
    "axons": "fed by a neuron or the host",
    "bias_axons": "of them carry a constant",
    "synapses": "crossings that are set",
    "neuron_utilisation": "of the neurons of the cores in use",
    "axon_utilisation": "of the axons of the cores in use",
    "frame_period_ticks": "ticks",
    "ticks_per_step": "ticks",
    "sampling_frequency_hz": "frames per second",
}
"""What stands beside a figure in the table."""


def program_figures(program: Program) -> dict[str, Any]:
    """Count what a program takes of its chip.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.

    Returns
    -------
    dict
        Labels; the members of :class:`neuromap.report.usage.Usage`; frame period and ticks per step in ticks,
        sampling frequency in frames per second.
    """
    from dataclasses import asdict

    from neuromap.report.usage import sampling_frequency, usage

    return {
        "network": program.name,
        "chip": program.chip.name,
        "pattern": program.pattern,
        "execution": program.execution,
        **asdict(usage(program)),
        "frame_period_ticks": program.period,
        "ticks_per_step": program.ticks_per_step,
        "sampling_frequency_hz": sampling_frequency(program),
    }

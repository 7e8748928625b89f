"""Responses measured on a program: the dependency wave (docs/report.md).

The wave walks what is loaded onto the chip (host table, synapses, weights, targets, delays) and its labels
and clocks (node labels, sample ticks, frame period). It knows nothing of networks, patterns and schedules, so
what it finds is a measurement that the schedule's prediction can be held against.

*First response.* Frame i of one input is delivered; a neuron is reached at tick t if a synapse of nonzero weight is
due at t (on crossbars: its axon), and sends on. The earliest tick at which a neuron of the output is
reached, less the tick at which the input was sampled; the least over the inputs.

*Full response.* Everything that the input's last frame before the onset still reaches is *dirty*. Older frames
reach the same neurons earlier, by whole periods. Synapses within one node are masked, because a self-edge
never forgets. The output is clean one frame period after its last dirty tick; less the onset, the tick at which
the input's next frame was sampled; the greatest over the inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.files.given import needs
from neuromap.forms.card import Card
from neuromap.hardware.chip.chip_spec import CoreKind
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.verification.crossbar_wave import CrossbarWiring
from neuromap.verification.list_wave import ListWiring
from neuromap.verification.wiring import NEVER, Wiring

__all__ = ["MeasuredResponse", "measure"]


@dataclass(frozen=True)
class MeasuredResponse(Card):
    """Responses of one output, measured on the program.

    Attributes
    ----------
    first_response_ticks : int or None
        Ticks from an input's sampling to the first output that depends on it; ``None`` where no input reaches
        the output.
    full_response_ticks : int or None
        Ticks from the onset to the first output that depends on nothing before it; ``None`` where no input
        reaches the output, or where the program has cycles other than those within one node.
    """

    first_response_ticks: int | None
    full_response_ticks: int | None


def measure(program: ChipProgram) -> dict[str, MeasuredResponse]:
    """Measure first and full response of every output on the program itself.

    Parameters
    ----------
    program : ChipProgram
        Mapped or written by hand; it needs node labels and sample ticks.

    Returns
    -------
    dict of str to MeasuredResponse
        By output node, in ticks.

    Raises
    ------
    InputError
        If it is no program.
    """
    needs("measure", program, ChipProgram)
    wiring = _WIRINGS[program.chip.core_model](program)
    outputs = [k for k, port in enumerate(program.nodes) if port.kind == "output"]
    inputs = [k for k, port in enumerate(program.nodes) if port.kind == "input"]
    n_neurons = program.shape[1]
    read_out = {
        o: (program.outputs.core.astype(np.int64) * n_neurons + program.outputs.neuron)[program.outputs.node == o]
        for o in outputs
    }
    first: dict[int, list[int]] = {o: [] for o in outputs}
    full: dict[int, list[int]] = {o: [] for o in outputs}
    ends = wiring.self_edges_only
    for node in inputs:
        earliest = wiring.earliest(node)
        latest = wiring.latest(node) if ends else None
        ends = ends and latest is not None
        for o in outputs:
            reached = earliest[read_out[o]]
            first[o] += reached[reached > NEVER].tolist()
            if latest is not None:
                # last dirty tick + period - onset, the dirty frame being one period before the onset
                last = latest[read_out[o]]
                full[o] += last[last > NEVER].tolist()
    return {
        program.nodes[o].name: MeasuredResponse(
            min(first[o], default=None), max(full[o], default=None) if ends else None
        )
        for o in outputs
    }


_WIRINGS: Mapping[CoreKind, Callable[..., Wiring]] = ReadOnlyMapping(
    {"crossbar": CrossbarWiring, "synapse-list": ListWiring}
)
"""How the wave walks a program, by the kind of core."""

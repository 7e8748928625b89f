"""A quantisation as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from neuromap.forms.numbers import plain, seconds
from neuromap.forms.tables import new_table, printed
from neuromap.quantise.quantisation import Quantisation

if TYPE_CHECKING:
    from rich.table import Table


def render_text(found: Quantisation, width: int = 100) -> str:
    """Write what became of neurons and synapses, and how far the spike trains are from the float original's."""
    tables = [_nodes(found), _errors(found), _edges(found), *([_distances(found)] if found.distances else [])]
    blocks = [_printed(table, width) for table in tables]
    head = (
        f"{found.network} in the integers of {found.chip}: a tick is {seconds(found.dt)} of the model and "
        f"{seconds(found.tick_seconds)} of the chip"
    )
    lines = [
        "errors are relative to the float values, the greatest of all neurons; that of weights is the sum of errors by "
        "the sum of weights",
        f"scale: {found.search}",
        *(f"note: {note}" for note in found.notes),
        *(["distance: van Rossum's, mean over neurons; a spike without a partner is 1"] if found.distances else []),
    ]
    return "\n\n".join([head, *blocks]) + "\n\n" + "\n".join(lines) + "\n"


def _printed(table: Table, width: int) -> str:
    return printed(lambda console: console.print(table), width).rstrip("\n")


def _nodes(found: Quantisation) -> Table:
    table = new_table(
        "node", "neurons", "scale [units\nper unit of v]", "threshold\n[units]", "lowest v", "room of\nthe current"
    )
    for node in found.nodes:
        room = "-" if node.current_headroom is None else f"{plain(node.current_headroom)} x"
        table.add_row(
            node.node, f"{node.neurons:,}", plain(node.scale), f"{node.threshold:,}", plain(node.lowest_voltage), room
        )
    return table


def _errors(found: Quantisation) -> Table:
    table = new_table("node", "tau", "synapse taus", "threshold", "bias", "truncation\nby threshold")
    for node in found.nodes:
        taus = ", ".join(map(_percent, node.synapse_tau_errors))
        errors = (node.threshold_error, node.bias_error, node.truncation)
        table.add_row(node.node, _percent(node.tau_error), taus, *map(_percent, errors))
    return table


def _edges(found: Quantisation) -> Table:
    table = new_table("edge", "synapses", "weights", "greatest\nof a weight", "weights\nlost", "delays")
    for edge in found.edges:
        cells: Sequence[str] = (
            edge.edge,
            f"{edge.synapses:,}",
            _percent(edge.weight_error),
            _percent(edge.greatest_weight_error),
            f"{edge.lost:,}",
            seconds(edge.delay_error),
        )
        table.add_row(*cells)
    return table


def _distances(found: Quantisation) -> Table:
    table = new_table(
        "node",
        "original",
        "neurons\ncompared",
        "spikes",
        "spikes of\noriginal",
        "distance",
        "of silence",
        "time constant",
    )
    for row in found.distances:
        table.add_row(
            row.node,
            row.original,
            f"{row.neurons:,}",
            f"{row.spikes:,}",
            f"{row.original_spikes:,}",
            plain(row.distance),
            plain(row.of_silence),
            seconds(row.time_constant),
        )
    return table


def _percent(value: float | None) -> str:
    return "no bound" if value is None else f"{plain(float(f'{100 * value:.2g}'))} %"

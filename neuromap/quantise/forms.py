"""Forms of a quantisation: text, JSON, and tables for pages."""

from __future__ import annotations

from typing import Any

from neuromap.quantise.quantisation import EdgeErrors, NodeErrors, Quantisation, TrainDistance
from neuromap.render.document import INTEGER, NUMBER, TEXT, const, document, each, record_of
from neuromap.render.numbers import plain, seconds
from neuromap.render.table import Column, Table

DOCUMENT = document(
    "quantisation",
    format=const("neuromap quantisation 1"),
    network=TEXT,
    chip=TEXT,
    model_seconds_per_tick=NUMBER(at="dt"),
    chip_seconds_per_tick=NUMBER(at="tick_seconds"),
    search=TEXT,
    notes=each(TEXT),
    nodes=each(record_of(NodeErrors, threshold=INTEGER)),
    edges=each(record_of(EdgeErrors)),
    distances=each(record_of(TrainDistance)),
)
to_dict = DOCUMENT.of
"""Plain values: errors are relative, times in seconds; unbounded and missing values are ``None``."""


def error_percent(value: float | None) -> str:
    """Write a relative error in percent with two digits; ``None`` means no bound."""
    return "no bound" if value is None else f"{plain(float(f'{100 * value:.2g}'))} %"


_INTEGERS: tuple[Column[NodeErrors], ...] = (
    Column("node", lambda node: node.node, left=True, term="node"),
    Column("neurons", lambda node: f"{node.neurons:,}", term="neurons"),
    Column("scale [units\nper unit of v]", lambda node: plain(node.scale), term="scale"),
    Column("threshold\n[units]", lambda node: f"{node.threshold:,}", term="threshold"),
    Column("lowest v", lambda node: plain(node.lowest_voltage), term="lowest-voltage"),
    Column(
        "room of\nthe current",
        lambda node: "-" if node.current_headroom is None else f"{plain(node.current_headroom)} x",
        term="current-room",
    ),
)
_ERRORS: tuple[Column[NodeErrors], ...] = (
    Column("node", lambda node: node.node, left=True, term="node"),
    Column("tau", lambda node: error_percent(node.tau_error), term="tau-error"),
    Column(
        "synapse taus", lambda node: ", ".join(map(error_percent, node.synapse_tau_errors)), term="synapse-tau-error"
    ),
    Column("threshold", lambda node: error_percent(node.threshold_error), term="threshold-error"),
    Column("bias", lambda node: error_percent(node.bias_error), term="bias-error"),
    Column("truncation\nby threshold", lambda node: error_percent(node.truncation), term="truncation"),
)
_SYNAPSES: tuple[Column[EdgeErrors], ...] = (
    Column("edge", lambda edge: edge.edge, left=True),
    Column("synapses", lambda edge: f"{edge.synapses:,}", term="synapses"),
    Column("weights", lambda edge: error_percent(edge.weight_error), term="weight-error"),
    Column(
        "greatest\nof a weight", lambda edge: error_percent(edge.greatest_weight_error), term="greatest-weight-error"
    ),
    Column("weights\nlost", lambda edge: f"{edge.lost:,}", term="lost"),
    Column("delays", lambda edge: seconds(edge.delay_error), term="delay-error"),
)
_TRAINS: tuple[Column[TrainDistance], ...] = (
    Column("node", lambda row: row.node, left=True, term="node"),
    Column("original", lambda row: row.original),
    Column("neurons\ncompared", lambda row: f"{row.neurons:,}"),
    Column("spikes", lambda row: f"{row.spikes:,}"),
    Column("spikes of\noriginal", lambda row: f"{row.original_spikes:,}"),
    Column("distance", lambda row: plain(row.distance), term="distance"),
    Column("of silence", lambda row: plain(row.of_silence), term="of-silence"),
    Column("time constant", lambda row: seconds(row.time_constant)),
)


def quantisation_tables(found: Quantisation) -> list[Table[Any]]:
    """Return the tables of nodes, node errors, edge errors and, if compared, spike-train distances."""
    return [
        Table(_INTEGERS, found.nodes),
        Table(_ERRORS, found.nodes),
        Table(_SYNAPSES, found.edges),
        *([Table(_TRAINS, found.distances)] if found.distances else []),
    ]


def render_text(found: Quantisation, width: int = 100) -> str:
    """Write the integers and errors of neurons and synapses, and the distances of spike trains from the original's."""
    head = (
        f"{found.network} in the integers of {found.chip}: a tick is {seconds(found.dt)} of the model and "
        f"{seconds(found.tick_seconds)} of the chip file"
    )
    lines = [
        "errors are relative to the float values, the greatest of all neurons; that of weights is the sum of errors by "
        "the sum of weights",
        f"scale: {found.search}",
        *(f"note: {note}" for note in found.notes),
        *(["distance: van Rossum's, mean over neurons; a spike without a partner is 1"] if found.distances else []),
    ]
    return "\n\n".join([head, *(table.text(width) for table in quantisation_tables(found)), "\n".join(lines)]) + "\n"

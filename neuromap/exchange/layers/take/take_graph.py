"""A graph of operators as a network: with weights where it is in frame code, else its structure, shapes and work."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from neuromap.errors import NetworkError, NotSupportedError
from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.layers.edge_transforms import edge_transform
from neuromap.exchange.layers.find_structure import find_structure
from neuromap.exchange.layers.frame_code.take_weights import take_weights
from neuromap.exchange.layers.layer_shapes import layer_shapes
from neuromap.exchange.layers.structure import Structure
from neuromap.exchange.layers.take.core_estimate import estimate_note
from neuromap.exchange.layers.take.structure_notes import structure_notes
from neuromap.exchange.layers.take.weight_notes import weight_notes
from neuromap.files.messages import show_name
from neuromap.formats.layers.operator_graph import OperatorGraph
from neuromap.formats.layers.simplify import simplified
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.edge import Edge
from neuromap.network.network import Network
from neuromap.network.node import Node
from neuromap.network.transforms.kinds import Shape
from neuromap.network.transforms.limits import as_shape

__all__ = ["take_graph"]


def take_graph(graph: OperatorGraph, *, format: str, source: str, chip: ChipSpec | None = None) -> Imported:
    """Make a network of a graph of operators."""
    graph = simplified(graph)
    structure = find_structure(graph)
    if not structure.layers or not structure.outputs or not structure.inputs:
        raise NotSupportedError(
            f"{show_name(source)}: no output depends on an input through any weights or functions, so there is no "
            "network to take over; export the model with its inputs"
        )
    try:
        taken = take_weights(graph, structure, node_text(graph.name))
    except NotSupportedError as reason:
        return _structural(graph, structure, format, source, str(reason), chip)
    notes = weight_notes(taken)
    unread = tuple(
        Note(name, "is an input that nothing reads", "leave it out of the model") for name in structure.left_out
    )
    return Imported(
        network=replace(taken.network, tables={"work": work} if (work := _work(structure, taken.dropped)) else {}),
        format=format,
        source=source,
        producer=graph.producer,
        kept=notes["kept"],
        approximated=notes["approximated"],
        refused=(*notes["refused"], *unread),
        work=work,
    )


def _work(structure: Structure, without: Collection[str] = ()) -> dict[str, int]:
    """Give the multiply-accumulates of nodes, if those of all are known."""
    works = {layer.name: layer.work for layer in structure.layers if layer.name not in without}
    return {name: work for name, work in works.items() if work is not None} if None not in works.values() else {}


def _structural(
    graph: OperatorGraph, structure: Structure, format: str, source: str, reason: str, chip: ChipSpec | None
) -> Imported:
    shapes, refused = _fitting_shapes(layer_shapes(graph, structure))
    work = _work(structure)
    nodes = {name: Node(name, shape) for name, shape in shapes.items()}
    edges: dict[tuple[str, str], Edge] = {}
    for layer in structure.layers:
        for name, ways in layer.ways.items():
            before, after = shapes[name], shapes[layer.name]
            transform = None
            if before is not None and after is not None:
                transform = edge_transform(ways, before, after, layer.operators[-1])
            edges[name, layer.name] = Edge(name, layer.name, transform)
    network = Network(
        name=node_text(graph.name),
        nodes=nodes,
        edges=edges,
        outputs=structure.outputs,
        tables={"work": work} if any(work.values()) else {},
    )
    notes = structure_notes(graph, structure, reason)
    estimate = () if chip is None else (estimate_note(structure, shapes, chip),)
    return Imported(
        network=network,
        format=format,
        source=source,
        producer=graph.producer,
        kept=notes["kept"],
        approximated=(*notes["approximated"], *estimate),
        refused=(*notes["refused"], *refused),
        work=work,
    )


def node_text(name: str) -> str:
    """Make a network's name of what the source calls itself."""
    return name if name and name.isprintable() and len(name) <= 100 else "network"


def _fitting_shapes(shapes: Mapping[str, Shape | None]) -> tuple[dict[str, Shape | None], tuple[Note, ...]]:
    """Give shapes to all nodes, or to none where one is not known or larger than nodes may be."""
    for name, shape in shapes.items():
        if shape is None:
            note = Note(
                name,
                "its shape is not known, so no node has one",
                "give the source's inputs fixed sizes, and export it again",
            )
            return dict.fromkeys(shapes), (note,)
        try:
            as_shape(shape)
        except NetworkError as error:
            return dict.fromkeys(shapes), (Note(name, f"{error}; no node has a shape", "export it for smaller inputs"),)
    return dict(shapes), ()

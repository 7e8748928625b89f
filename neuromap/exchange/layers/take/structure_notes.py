"""What became of the operators of a graph that is taken over as structure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from neuromap.exchange.imported import Note
from neuromap.exchange.layers.structure import Structure
from neuromap.files.messages import counted
from neuromap.formats.layers.operator import Operator
from neuromap.formats.layers.operator_graph import OperatorGraph

__all__ = ["structure_notes"]

_NODES = ["conv", "conv_transpose", "dense", "product", "multiply", "max_pool", "add", "other"]
_PRODUCTS = ("product", "multiply")


def structure_notes(graph: OperatorGraph, structure: Structure, reason: str) -> Mapping[str, tuple[Note, ...]]:
    """Say what was kept, approximated and refused."""
    joined = [one for layer in structure.layers for one in layer.operators]
    ways = [way for layer in structure.layers for found in layer.ways.values() for way in found]
    folded = {id(one): one for way in ways for one in way.folds}
    kept = [
        Note(
            "nodes", f"{counted(len(structure.layers), 'node')} that sum or decide, of {_counted_kinds(joined, _NODES)}"
        )
    ]
    ends = [one for one in joined if one.kind not in _NODES]
    if ends:
        kept.append(Note("in nodes", f"{_counted_calls(ends)}: end in the node whose value they take"))
    moves = [one for one in folded.values() if one.kind not in ("function", "average")]
    if moves:
        kept.append(Note("on edges", f"{_counted_calls(moves)}: are no nodes, edges read through them"))
    means = [one for one in folded.values() if one.kind == "average"]
    if means:
        kept.append(Note("on edges", f"{_counted_calls(means)}: are linear, edges carry them"))
    approximated = []
    functions = [one for one in folded.values() if one.kind == "function"]
    if functions:
        text = f"{_counted_calls(functions)}: stand before what reads them, where others read the same value without"
        approximated.append(Note("functions on edges", text))
    products = [layer.name for layer in structure.layers if any(one.kind in _PRODUCTS for one in layer.operators)]
    if products:
        text = "that multiply what they read: no sums, patterns and times take them as they are"
        approximated.append(Note(_some(products), f"{counted(len(products), 'node')} {text}"))
    several = [
        f"{source} -> {layer.name}"
        for layer in structure.layers
        for source, found in layer.ways.items()
        if len(found) > 1
    ]
    if several:
        text = "that stand for several ways between the same nodes: a pattern takes them together"
        approximated.append(Note(_some(several), f"{counted(len(several), 'edge')} {text}"))
    refused = [
        Note("operators", text, "write the model with operators of ONNX or ATen, or take the node as it is")
        for text in graph.unread
    ]
    refused += [
        Note(name, "is an input that nothing reads", "leave it out of the model") for name in structure.left_out
    ]
    text = (
        f"are not taken over, as this is not in frame code: {reason}; patterns, times and work hold, nothing is mapped"
    )
    refused.append(Note("weights", text, "train it with integer weights and step activations (docs/layers.md)"))
    return {"kept": tuple(kept), "approximated": tuple(approximated), "refused": tuple(refused)}


def _counted_kinds(operators: Iterable[Operator], kinds: Iterable[str]) -> str:
    counts = Counter(one.called for one in operators if one.kind in kinds)
    return _list(counts)


def _counted_calls(operators: Iterable[Operator]) -> str:
    return _list(Counter(one.called or one.kind for one in operators))


def _list(counts: Mapping[str, int]) -> str:
    most = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    shown = [f"{number} {name}" for name, number in most[:6]]
    rest = sum(number for _, number in most[6:])
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def _some(names: list[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")

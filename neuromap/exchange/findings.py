"""What an import found, in sentences: what was taken over, at what price, and what was left out."""

from __future__ import annotations

from collections.abc import Sequence

from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.of_imports import note_text
from neuromap.files.messages import counted
from neuromap.quantise.forms import error_percent as percent
from neuromap.quantise.quantisation import Quantisation, TrainDistance
from neuromap.render.numbers import plain, seconds

_MOST_NOTES = 3
"""Notes that are told in sentences; of more it says how many."""


def is_exact(found: Imported) -> bool:
    """Whether nothing was approximated, put into integers or left out."""
    return not found.approximated and not found.refused and found.quantisation is None


def findings(found: Imported) -> dict[str, tuple[str, ...]]:
    """Say what became of an import."""
    said = {"Taken over": _sentences(_taken(found), *_work(found))}
    if found.quantisation is not None:
        said[f"In the integers of {found.quantisation.chip}"] = _sentences(*_price(found.quantisation))
    if found.approximated:
        said["Approximated"] = _told(found.approximated)
    if found.refused:
        said["Left out"] = _told(found.refused)
    return said


def _sentences(*texts: str) -> tuple[str, ...]:
    return tuple(f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" for text in texts)


def _taken(found: Imported) -> str:
    network = found.network
    if network.is_spiking:
        kind = "a spiking network"
    elif network.is_graded and all(edge.transform is not None for edge in network.edges.values()):
        kind = "a graded network, with integer weights"
    elif all(edge.transform is not None for edge in network.edges.values()):
        kind = "a network in frame code, with weights and thresholds"
    elif any(node.shape is not None for node in network.nodes.values()):
        kind = "a structure with shapes, without weights: patterns and times hold, nothing of it can be mapped"
    else:
        kind = "a structure without shapes: patterns and times hold, nothing of it can be mapped"
    neurons = sum(node.size for node in network.nodes.values() if node.shape is not None)
    size = f" of {_many(neurons, 'neuron')}" if neurons else ""
    return f"{counted(len(network.nodes), 'node')}{size} and {counted(len(network.edges), 'edge')} became {kind}"


def _many(number: int, what: str) -> str:
    return counted(number, what).replace(str(number), f"{number:,}")


def _work(found: Imported) -> tuple[str, ...]:
    total = sum(found.work.values())
    if not total:
        return ()
    most = max(found.work, key=lambda name: found.work[name])
    text = f"a frame takes {total:,} multiply-accumulates"
    if len(found.work) > 1:
        text += f"; {most} does most, {percent(found.work[most] / total)} of them"
    return (text,)


def _price(price: Quantisation) -> tuple[str, ...]:
    said = []
    errors = []
    if price.edges:
        worst = max(price.edges, key=lambda edge: edge.weight_error)
        errors.append(f"weights are off by {percent(worst.weight_error)} at most ({worst.edge}, sums over the edge)")
    if price.nodes:
        for word, value in (("time constants", "tau_error"), ("thresholds", "threshold_error")):
            node = max(price.nodes, key=lambda row: float(getattr(row, value)))
            errors.append(f"{word} by {percent(getattr(node, value))} ({node.node})")
    if errors:
        said.append(", ".join(errors))
    synapses, lost = sum(edge.synapses for edge in price.edges), sum(edge.lost for edge in price.edges)
    if synapses:
        which = f"{_many(lost, 'weight')} became 0" if lost else "no weight became 0"
        said.append(f"of {_many(synapses, 'synapse')} {which}")
    said += [_train(row) for row in _worst(price.distances)]
    said += list(price.notes)
    return tuple(said)


def _worst(rows: Sequence[TrainDistance]) -> list[TrainDistance]:
    """Give the node whose trains are farthest from the original's, by what silence would be."""
    heard = [row for row in rows if row.of_silence > 0]
    return [max(heard, key=lambda row: row.distance / row.of_silence)] if heard else []


def _train(row: TrainDistance) -> str:
    if row.distance == 0:
        return "all spike trains that were compared are those of the float original"
    return (
        f"spike trains differ most in {row.node}: {row.spikes:,} spikes, {row.original_spikes:,} in the float "
        f"original; their distance is {plain(row.distance)} where silence has {plain(row.of_silence)} (van Rossum’s, "
        f"time constant {seconds(row.time_constant)} of the model)"
    )


def _told(notes: Sequence[Note]) -> tuple[str, ...]:
    """Tell the first notes, ways out with them; say how many more there are."""
    said = []
    for note in notes[:_MOST_NOTES]:
        said.append(f"{note_text(note)}.")
    if len(notes) > _MOST_NOTES:
        said.append(f"And {len(notes) - _MOST_NOTES} more.")
    return tuple(said)

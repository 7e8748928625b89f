"""A guess at the cores of a structure without weights: from fan-in, neurons and axons alone."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from neuromap.exchange.imported import Note
from neuromap.exchange.layers.structure import Layer, Structure
from neuromap.files.messages import counted
from neuromap.formats.layers.operator import Operator
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.transforms.kinds import Shape

__all__ = ["estimate_note", "estimated_cores"]


def estimate_note(structure: Structure, shapes: Mapping[str, Shape | None], chip: ChipSpec) -> Note:
    """Say how many cores a structure might take, and what that assumes."""
    found = estimated_cores(structure, shapes, chip)
    if found is None:
        return Note(f"cores of {chip.name}", "are not estimated, as shapes are not known")
    total = sum(found.values())
    most = max(found, key=lambda name: found[name])
    boards = counted(-(-total // max(1, chip.n_cores)), "board")
    copies = ", a copy of a neuron for every axon but the first that it feeds" if chip.core_model == "crossbar" else ""
    text = (
        f"an estimate, nothing is mapped: {counted(total, 'core')}, {boards} of {chip.n_cores}; most for {most} "
        f"({found[most]}); it assumes binary neurons, an axon per source and core, windows that are read patch by "
        f"patch, sums of more than {chip.axons} axons cut into parts{copies}"
    )
    return Note(f"cores of {chip.name}", text)


def estimated_cores(structure: Structure, shapes: Mapping[str, Shape | None], chip: ChipSpec) -> dict[str, int] | None:
    """Estimate the cores of every node."""
    # A core holds a patch of p x p places of a node, and features while it has neurons: as large a patch as its axons
    # can read. Where one place reads more than a core has axons, its sum is cut into parts, each with neurons of its
    # own. On crossbar cores an axon is fed by a neuron of its own: axons beyond one for every neuron that is read cost
    # copies.
    # gives ``None`` where a shape is not known
    found = {}
    for layer in structure.layers:
        target = shapes[layer.name]
        sources = [shapes[name] for name in layer.ways]
        if target is None or any(shape is None for shape in sources):
            return None
        found[layer.name] = _cores(layer, target, shapes, set(structure.inputs), chip)
    return found


def _cores(
    layer: Layer, target: Shape, shapes: Mapping[str, Shape | None], inputs: Collection[str], chip: ChipSpec
) -> int:
    """Try patches of all sizes, and take the fewest cores."""
    best = None
    feeding = sum(math.prod(shapes[name] or (0,)) for name in layer.ways if name not in inputs)
    places = target[0] * target[1]
    for side in range(1, max(target[0], target[1]) + 1):
        rows, columns = min(side, target[0]), min(side, target[1])
        axons = sum(_read(way.into, shapes[name] or target, target, (rows, columns))
                    for name, ways in layer.ways.items() for way in ways)  # fmt: skip
        parts = -(-axons // chip.axons)
        if best is not None and parts > 1:
            break
        patches = -(-target[0] // rows) * -(-target[1] // columns)
        tiles = _tiles(layer, target[2], chip.neurons // (rows * columns), chip.axons // max(axons, 1))
        cores = parts * patches * tiles
        if chip.core_model == "crossbar" and feeding:
            cores += -(-max(0, patches * axons * tiles - feeding) // chip.neurons)
        best = cores if best is None else min(best, cores)
        if rows * columns >= places or rows * columns > chip.neurons:
            break
    return best or 1


def _read(one: Operator, source: Shape, target: Shape, patch: tuple[int, int]) -> int:
    """Count the sources that a patch of all features of one group reads."""
    if one.kind in ("conv", "max_pool") and len(one.setting("kernel", ())) in (1, 2):
        kernel = (*one.settings["kernel"], 1)[:2]
        stride = (*one.setting("stride", (1, 1)), 1)[:2]
        spans = [min(n, (p - 1) * s + k) for n, p, s, k in zip(source[:2], patch, stride, kernel, strict=True)]
        features = source[2] if one.kind == "max_pool" else -(-source[2] // int(one.setting("groups", 1)))
        return int(math.prod(spans) * features)
    if one.kind in ("add", "multiply") and source[:2] == target[:2]:
        return patch[0] * patch[1] * source[2]
    if one.kind == "dense" and one.setting("weight_shape") and target[0] * target[1] > 1:
        return patch[0] * patch[1] * int(one.settings["weight_shape"][1])
    if one.kind == "product" and one.work:
        return int(
            -(-(patch[0] + patch[1]) * target[2] * one.work // math.prod(target) // 2)
        )  # half of it from each factor
    return math.prod(source)


def _tiles(layer: Layer, features: int, neurons: int, windows: int) -> int:
    """Count the cores that share the features of a patch: groups read windows of their own, several fit one core."""
    groups = max((int(one.setting("groups", 1)) for one in layer.operators if one.kind == "conv"), default=1)
    per_group = -(-features // groups)
    together = min(windows, neurons // per_group)
    if together >= 1:
        return -(-groups // together)
    return groups * -(-per_group // max(1, neurons))

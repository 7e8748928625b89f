"""The mapper: from a rollout to a program, stage by stage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neuromap.hardware.check import require_legal
from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.chip_file import load_chip
from neuromap.hardware.program import Program
from neuromap.mapping.emit import emit, route
from neuromap.mapping.legalise import legalise
from neuromap.mapping.partition import partition
from neuromap.mapping.place import place
from neuromap.rollout.schedule import Rollout

__all__ = ["map_rollout"]


def map_rollout(
    rollout: Rollout,
    chip: str | Path | ChipSpec = "truenorth",
    *,
    placer: str = "swap",
    progress: Callable[[int, int, str], None] | None = None,
) -> Program:
    """Map a rolled-out network onto a chip.

    The program computes, frame by frame, what :func:`neuromap.reference` computes without a chip;
    :func:`neuromap.verify` shows it (docs/mapping.md).

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    placer : {"swap", "hilbert", "row-major"}
        How cores are placed; the function computed does not depend on it.
    progress : callable, optional
        Called with parts tiled, parts in all, and the name of the last.

    Returns
    -------
    Program
        Legal for the chip.

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    ChipError
        If the chip is unknown or its file malformed.
    DoesNotFitError
        If the network does not fit; ``error.infeasibility`` names node, demand, bound, gap and remedies.

    Examples
    --------
    >>> import neuromap as nm
    >>> net = nm.load_network("examples/digits/sr.toml")
    >>> program = nm.map_rollout(nm.Rollout(net, "streaming"), chip="truenorth")
    >>> program.period
    1
    """
    spec = load_chip(chip)
    legal = legalise(rollout, spec)
    parts = partition(legal, spec, progress)
    routes = route(parts)
    where = place(len(parts.tiles), routes.wires, spec, placer)
    pattern = rollout.pattern.name or "unnamed"
    program = emit(rollout.network.name, pattern, rollout.execution, parts, routes, where, spec)
    require_legal(program)  # the checker shares no code with the mapper
    return program

"""Does it fit, and what would: the answer without placement refined or a program written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip import ChipSpec
from neuromap.hardware.chip_file import load_chip
from neuromap.mapping.apply_remedy import Request
from neuromap.mapping.axon_types import plan_axons
from neuromap.mapping.fan_out import FanOut
from neuromap.mapping.infeasible import Infeasibility
from neuromap.mapping.legalise import Legalised, legalise
from neuromap.mapping.lower_bounds import CoreBound, core_bound
from neuromap.mapping.options import MappingOptions
from neuromap.mapping.refusals import AMPLE, LOOKED_AT
from neuromap.mapping.remedies import map_in_outline, what_would_fit
from neuromap.mapping.remedy_offers import Progress
from neuromap.mapping.sources import Sources, join_sources
from neuromap.rollout.schedule import Rollout

__all__ = ["DryRun", "NodeDemand", "dry_run"]


@dataclass(frozen=True)
class NodeDemand:
    """What a node asks of the chip.

    Attributes
    ----------
    node : str
        Name.
    neurons : int
        Of the network, copies not counted.
    sources : int
        Distinct sources of the neuron that has most.
    axons : int or None
        Axons that one neuron needs at most, bias axons included, among those with most sources; ``None`` where no
        number of axons serves it.
    copies : int or None
        Copies that one neuron needs at most; ``None`` where the network does not fit.
    relays, splitters : int
        Neurons that carry its spikes on.
    cores : int or None
        Cores that hold some of its neurons, relays and splitters left out; ``None`` where the network does not fit.
    """

    node: str
    neurons: int
    sources: int
    axons: int | None
    copies: int | None
    relays: int
    splitters: int
    cores: int | None


@dataclass(frozen=True, eq=False)
class DryRun:
    """Whether a rollout fits a chip, and if not, what would help.

    Attributes
    ----------
    network, pattern, execution : str
        Names.
    chip : ChipSpec
        Chip or board.
    fits : bool
        Whether it maps as asked for.
    cores : int or None
        Cores that it takes; ``None`` where it does not fit.
    bound : CoreBound or None
        Lower bound on the cores of any mapping; ``None`` where a delay or a neuron does not fit.
    schedule : {"steps", "ticks"}
        ``"ticks"`` where splitters stand on edges without slack.
    split : tuple of (str, str)
        Edges whose spikes go over splitters.
    nodes : tuple of NodeDemand
        Nodes that are not inputs, in the network's order; empty where a delay does not fit.
    problems : tuple of Infeasibility
        Why it does not fit, and what is met once the first remedy of each before it is applied.
    cores_with_remedies : int or None
        Cores that it takes with the first remedy of every problem; ``None`` where it fits, or no remedies were found
        that map together.
    """

    network: str
    pattern: str
    execution: str
    chip: ChipSpec
    fits: bool
    cores: int | None
    bound: CoreBound | None
    schedule: str
    split: tuple[tuple[str, str], ...]
    nodes: tuple[NodeDemand, ...]
    problems: tuple[Infeasibility, ...]
    cores_with_remedies: int | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        bound = self.bound
        return {
            "network": self.network,
            "chip": self.chip.name,
            "pattern": self.pattern,
            "execution": self.execution,
            "fits": self.fits,
            "cores": self.cores,
            "usable_cores": self.chip.n_usable_cores,
            "core_bound": None if bound is None else {"total": bound.total, "by": bound.by},
            "schedule": self.schedule,
            "split_edges": [f"{u} -> {v}" for u, v in self.split],
            "axons_per_core": self.chip.axons,
            "neurons_per_core": self.chip.neurons,
            "nodes": [vars(node).copy() for node in self.nodes],
            "problems": [problem.to_dict() for problem in self.problems],
            "cores_with_remedies": self.cores_with_remedies,
        }


def dry_run(
    rollout: Rollout,
    chip: str | Path | ChipSpec = "truenorth",
    options: MappingOptions | None = None,
    *,
    seconds: float | None = 20.0,
    progress: Progress | None = None,
) -> DryRun:
    """Say whether a rollout fits a chip, and what would help if it does not.

    Everything is done but placement and the program: ticks, relays, splitters, tiles, cores. Where that is refused,
    remedies are applied and tried.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    options : MappingOptions
        As for :func:`neuromap.mapping.map_rollout.map_network`.
    seconds : float or None
        Time after which no more remedies are tried; ``None`` tries all. The answer whether it fits takes the time it
        takes.
    progress : callable, optional
        Called with parts done, parts in all, and the name of the last or of the remedy that is tried.

    Returns
    -------
    DryRun

    Raises
    ------
    NetworkError
        If shapes, weights or thresholds are missing.
    ChipError, InputError
        If chip, options or pins are wrong.

    Examples
    --------
    >>> import neuromap as nm
    >>> net = nm.load_network("examples/digits/sr.toml")
    >>> found = dry_run(nm.Rollout(net, "streaming"))
    >>> found.fits, found.problems
    (True, ())
    """
    spec, options = load_chip(chip), options or MappingOptions()
    request = Request(rollout, spec, options)
    found: FanOut | None = None
    problems: tuple[Infeasibility, ...] = ()
    with_remedies: int | None = None
    try:
        found = map_in_outline(request, progress)
    except DoesNotFitError as refusal:
        answer = what_would_fit(request, refusal.infeasibility, seconds, progress)
        problems, with_remedies = answer.problems, answer.cores
    legal = _legalised(request, found)
    nodes = () if legal is None else tuple(_demands(legal, found, spec))
    is_held = legal is not None and all(node.axons is not None and node.axons <= spec.axons for node in nodes)
    return DryRun(
        network=rollout.network.name,
        pattern=rollout.pattern.name or "unnamed",
        execution=rollout.execution,
        chip=spec,
        fits=found is not None,
        cores=None if found is None else len(found.partition.cores),
        bound=core_bound(legal, spec) if legal is not None and is_held else None,
        schedule="ticks" if found is not None and found.rollout.is_tick_level else "steps",
        split=tuple(sorted(found.split)) if found is not None else (),
        nodes=nodes,
        problems=problems,
        cores_with_remedies=with_remedies,
    )


def _legalised(request: Request, found: FanOut | None) -> Legalised | None:
    if found is not None:
        return found.partition.network
    try:
        return legalise(request.rollout, request.chip, stretch=request.options.ticks_per_step)
    except DoesNotFitError:
        return None


def _demands(network: Legalised, found: FanOut | None, chip: ChipSpec) -> list[NodeDemand]:
    """Collect what every node asks for, whether or not it fits."""
    sources = join_sources(network) if found is None else found.partition.sources
    demands = []
    for index, population in enumerate(network.populations):
        if population.is_relay:
            continue
        carriers = [p for p in network.populations if p.is_relay and p.node == population.node]
        relays = sum(len(p.neurons) for p in carriers if not p.is_splitter)
        splitters = sum(len(p.neurons) for p in carriers if p.is_splitter)
        matrix = sources[index].matrix
        copies, cores = (None, None) if found is None else _held(found, index)
        demands.append(
            NodeDemand(
                node=population.name,
                neurons=len(population.neurons),
                sources=int(np.diff(matrix.indptr).max(initial=0)),
                axons=_most_axons(sources[index], population.threshold, chip),
                copies=copies,
                relays=relays,
                splitters=splitters,
                cores=cores,
            )
        )
    return demands


def _most_axons(sources: Sources, threshold: np.ndarray[Any, np.dtype[np.int64]], chip: ChipSpec) -> int | None:
    """Count the axons that the neediest neuron takes alone, on a core with as many as one could wish for."""
    matrix, most = sources.matrix, 0
    for n in np.argsort(-np.diff(matrix.indptr), kind="stable")[:LOOKED_AT].tolist():
        weights = matrix[[n]].data.astype(np.int64)[None, :]
        if int((-(-np.abs(weights) // chip.weight_range[1])).sum()) > AMPLE // 2:  # axons that would be laid out
            return None
        plan = plan_axons(weights, threshold[[n]], replace(chip, axons=AMPLE))
        if plan is None:
            return None
        most = max(most, plan.n_axons)
    return most


def _held(found: FanOut, index: int) -> tuple[int, int]:
    """Count the copies of the neuron that has most, and cores that hold some of the population."""
    parts = found.partition
    copies = np.zeros(len(parts.network.populations[index].neurons), np.int64)
    for tile in parts.tiles:
        if tile.population == index:
            np.add.at(copies, tile.neurons, tile.copies)
    cores = sum(any(parts.tiles[t].population == index for t in core.tiles) for core in parts.cores)
    return int(copies.max(initial=0)), cores

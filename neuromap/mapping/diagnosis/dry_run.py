"""Whether a rollout fits a chip, and what would help, without refining a placement or writing a program."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from neuromap.errors import DoesNotFitError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import list_chips, load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.diagnosis.remedies import what_would_fit
from neuromap.mapping.legalise.legalise import legalise
from neuromap.mapping.legalise.legalised import Legalised, join_sources
from neuromap.mapping.map_rollout import Parts, map_in_outline
from neuromap.mapping.options.budget import Budget, Progress
from neuromap.mapping.options.infeasibility import INFEASIBILITY, Infeasibility, Remedy, count_cores, refuse
from neuromap.mapping.options.options import MappingOptions
from neuromap.render.document import (
    COUNT,
    EXECUTION,
    FLAG,
    NULL,
    PATTERN,
    TEXT,
    any_of,
    define,
    document,
    each,
    enum,
    record,
    record_of,
)
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout

# Share of the time limit that the bound may take.
EARLY = 0.15


def refuse_early(request: Request) -> DoesNotFitError | None:
    """Make the refusal of a network that no mapping can fit on the board."""
    # returns ``None`` where only the mapper can tell: also where a delay or a neuron does not fit, which it explains
    # better, and where splitters, chosen or pinned, or other phases may change the schedule, on which the bound depends
    chip, options = request.chip, request.options
    if may_change_schedule(request):
        return None
    network = legalised(request)
    if network is None or not is_held(demands_of(network, chip), chip):
        return None
    budget = Budget(None if options.seconds is None else EARLY * options.seconds)
    bound = core_bound(network, chip, proven=True, budget=budget)
    room = chip.n_usable_cores
    if bound.total <= room:
        return None
    alike = (c for c in list_chips() if c.kind is chip.kind and c.name != chip.name)
    enough = [c for c in alike if c.n_usable_cores >= bound.total]
    remedies = [
        Remedy("chip", c.name, f"chip {c.name} has {count_cores(c.n_usable_cores)}")
        for c in sorted(enough, key=lambda c: (c.n_cores, c.name))[:1]
    ]
    remedies.append(Remedy("chip.cores", None, f"a chip or board of {count_cores(bound.total)} at least is needed"))
    text = f"any mapping of the network needs at least {count_cores(bound.total)}, for its {bound.by}, {chip.name} has"
    return refuse("cores", None, bound.total, room, f"{text} {room}", remedies)


def legalised(request: Request) -> Legalised | None:
    """Legalise the rollout of a request without splitters; ``None`` if a delay does not fit."""
    try:
        return legalise(request.rollout, request.chip, ticks_per_step=request.options.ticks_per_step)
    except DoesNotFitError:
        return None


def may_change_schedule(request: Request) -> bool:
    """Whether the mapper may change the schedule: for splitters, chosen or pinned, for phases, or if in ticks."""
    options = request.options
    splits = "splitters" in request.chip.kind.structure.OPTIONS and (
        options.splitters == "anywhere" or options.pins.splitters
    )
    return bool(splits) or options.phases != "least" or request.rollout.is_tick_level


def is_held(nodes: Iterable[NodeDemand], chip: ChipSpec) -> bool:
    """Whether a core has enough axons for each single neuron of these nodes; else a bound on cores means nothing."""
    return all(node.axons is not None and node.axons <= chip.axons for node in nodes)


# Demand of every node: sources, axons, copies, relays, splitters, cores.
@dataclass(frozen=True)
class NodeDemand:
    """What a node needs of the chip.

    Attributes
    ----------
    node : str
        Name.
    neurons : int
        Neurons of the node, copies not counted.
    sources : int
        Greatest number of distinct sources of any neuron.
    axons : int or None
        Greatest number of axons that one neuron needs, bias axons included, among those with most sources; ``None`` if
        no number of
        axons suffices.
    copies : int or None
        Greatest number of copies that one neuron needs; ``None`` if the network does not fit.
    relays, splitters : int
        Neurons that pass its spikes on.
    cores : int or None
        Cores that hold some of its neurons, relays and splitters excluded; ``None`` if the network does not fit.
    parts : int
        Neurons that hold parts of its sums; then sources and axons are those of a neuron that gathers them.
    """

    node: str
    neurons: int
    sources: int
    axons: int | None
    copies: int | None
    relays: int
    splitters: int
    cores: int | None
    parts: int = 0


def demands_of(network: Legalised, chip: ChipSpec, found: Parts | None = None) -> list[NodeDemand]:
    """Collect the demand of every node, whether or not it fits."""
    partition = None if found is None else found.partition
    sources = join_sources(network)
    demands = []
    for index, population in enumerate(network.populations):
        if population.is_relay:
            continue
        carriers = [p for p in network.populations if p.is_relay and p.node == population.node]
        splitters = sum(len(p.neurons) for p in carriers if p.is_splitter)
        parts = sum(len(p.neurons) for p in carriers if p.is_part)
        relays = sum(len(p.neurons) for p in carriers) - splitters - parts
        matrix = sources[index].matrix
        copies, cores = (None, None) if partition is None else partition.held(index)
        demands.append(
            NodeDemand(
                node=population.name,
                neurons=len(population.neurons),
                sources=int(np.diff(matrix.indptr).max(initial=0)),
                axons=chip.kind.mapper.most_axons(sources[index], population, chip, parts > 0),
                copies=copies,
                relays=relays,
                splitters=splitters,
                cores=cores,
                parts=parts,
            )
        )
    return demands


# Dry run: the mapper up to its placement, and remedies where it refuses.


@dataclass(frozen=True, eq=False)
class DryRun(Card):
    """Whether a rollout fits a chip, and if not, what would help.

    Attributes
    ----------
    network, pattern, execution : str
        Names.
    chip : ChipSpec
        Chip or board.
    fits : bool
        Whether it maps with the given options.
    cores : int or None
        Number of cores used; ``None`` if it does not fit.
    bound : CoreBound or None
        Lower bound on the cores of any mapping; ``None`` if a delay or a neuron does not fit, or if nothing was mapped
        and the schedule may change (for splitters, for phases, or because it is in ticks).
    schedule : {"steps", "ticks"}
        ``"ticks"`` where splitters stand on edges without slack.
    split : tuple of (str, str)
        Edges whose spikes go over splitters.
    nodes : tuple of NodeDemand
        Nodes that are not inputs, in the network's order; empty if a delay does not fit.
    problems : tuple of Infeasibility
        Why it does not fit: the first refusal, then those met after applying the first remedy of each before.
    cores_with_remedies : int or None
        Number of cores used with the first remedy of every problem; ``None`` if it fits, or if no remedies were found
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

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.network,
            "pattern": self.pattern,
            "execution": self.execution,
            "chip": self.chip.name,
            "fits": f"in {self.cores} of {counted(self.chip.n_usable_cores, 'core')}" if self.fits else "no",
            **{f"problem {k}": problem.statement for k, problem in enumerate(self.problems, start=1)},
        }

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return DOCUMENT.of(self)


DOCUMENT = document(
    "dry-run",
    network=TEXT,
    chip=TEXT(at="chip.name"),
    pattern=PATTERN,
    execution=EXECUTION,
    fits=FLAG,
    cores=COUNT.or_null,
    usable_cores=COUNT(at="chip.n_usable_cores"),
    core_bound=any_of(record(total=COUNT, by=TEXT), NULL)(at="bound"),
    schedule=enum("steps", "ticks"),
    split_edges=each(TEXT)(at=lambda found: [f"{u} -> {v}" for u, v in found.split]),
    axons_per_core=COUNT(at="chip.axons"),
    neurons_per_core=COUNT(at="chip.neurons"),
    nodes=each(record_of(NodeDemand)),
    problems=each(define("problem", INFEASIBILITY)),
    cores_with_remedies=COUNT.or_null,
)


def dry_run(
    rollout: Rollout,
    chip: str | Path | ChipSpec = "truenorth",
    options: MappingOptions | None = None,
    *,
    seconds: float | None = 20.0,
    progress: Progress | None = None,
) -> DryRun:
    """Check whether a rollout fits a chip, and what would help if it does not.

    Ticks, relays, splitters, tiles and cores are those of the mapping; no placement is refined and no program written.
    If the mapping is refused, remedies are tried.

    Parameters
    ----------
    rollout : Rollout
        Network with weights, valid pattern, execution.
    chip : str, path or ChipSpec
        Name of a packaged chip, a chip file, or a chip.
    options : MappingOptions, optional
        As for :func:`neuromap.mapping.map_rollout.map_with_stages`.
    seconds : float or None
        Time limit for trying remedies; ``None`` tries all. The check itself has no limit; with ``options.seconds``, its
        searches and the remedies share that time.
    progress : callable, optional
        Called with the number of parts done, the total, and the name of the last part or of the remedy being tried.

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
    needs("dry_run", rollout, Rollout)
    options = MappingOptions() if options is None else options
    needs("dry_run: options", options, MappingOptions)
    spec = load_chip(chip)
    request = Request(rollout, spec, options)
    began = time.monotonic()
    found: Parts | None = None
    problems: tuple[Infeasibility, ...] = ()
    with_remedies: int | None = None
    try:
        early = refuse_early(request)
        if early is not None:
            raise early
        options = options.after(time.monotonic() - began)
        found = map_in_outline(rollout, spec, options, progress)
    except DoesNotFitError as refusal:
        if request.options.seconds is not None:  # shared by the answer and the remedies
            left = max(0.0, request.options.seconds - (time.monotonic() - began))
            seconds = left if seconds is None else min(seconds, left)
        answer = what_would_fit(request, refusal.infeasibility, seconds, progress)
        problems, with_remedies = answer.problems, answer.cores
    budget = Budget(request.options.after(time.monotonic() - began).seconds)
    legal = legalised(request) if found is None else found.network
    # the bound depends on the schedule: where that may change it is not known without a mapping
    is_known = found is not None or not may_change_schedule(request)
    nodes = () if legal is None else tuple(demands_of(legal, spec, found))
    # a neuron that leads to no output may ask for more than any core has, and is left out
    is_mappable = found is not None or is_held(nodes, spec)
    return DryRun(
        network=rollout.network.name,
        pattern=rollout.pattern.name or "unnamed",
        execution=rollout.execution,
        chip=spec,
        fits=found is not None,
        cores=None if found is None else found.n_cores,
        bound=core_bound(legal, spec, budget=budget) if legal is not None and is_mappable and is_known else None,
        schedule="ticks" if found is not None and found.rollout.is_tick_level else "steps",
        split=tuple(sorted(found.split)) if found is not None else (),
        nodes=nodes,
        problems=problems,
        cores_with_remedies=with_remedies,
    )

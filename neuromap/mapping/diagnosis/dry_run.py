"""Dry run: whether a rollout fits a chip, and what would help, without refining a placement or writing a program."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from neuromap.errors import DoesNotFitError
from neuromap.files.argument_checks import needs
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.bounds.lower_bounds import CoreBound, core_bound
from neuromap.mapping.diagnosis.apply_remedy import Request
from neuromap.mapping.diagnosis.early_refusal import (
    NodeDemand,
    demands_of,
    is_held,
    legalised,
    map_in_outline,
    may_change_schedule,
    refuse_early,
)
from neuromap.mapping.diagnosis.remedies import what_would_fit
from neuromap.mapping.options.budget import Budget, Progress
from neuromap.mapping.options.infeasibility import INFEASIBILITY, Infeasibility
from neuromap.mapping.options.options import MappingOptions
from neuromap.mapping.parts import Parts
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
        found = map_in_outline(replace(request, options=options), progress)
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

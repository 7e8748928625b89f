"""``SweepSpec``: a sweep over networks, patterns, executions, chips and seeds; its runs, their keys and jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from neuromap.arrays.frozen import ReadOnly
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.jobs.fingerprint import Fingerprint, fingerprint_of_chip
from neuromap.mapping.options.options import MappingOptions
from neuromap.network.network import Network
from neuromap.render.value import Card
from neuromap.rollout.pattern import RolloutPattern
from neuromap.version import __version__

RunStatus = Literal["mapped", "invalid", "does not fit", "failed", "lost"]
AskedBy = Literal["sweep", "explore"]


class RunJob(NamedTuple):
    """Runs of a spec that share a program: all but the seed is the same."""

    # pattern, chip: numbers in the spec
    pattern: int
    execution: str  # the time axis
    chip: int
    seeds: tuple[int, ...]  # one for every run


@dataclass(frozen=True)
class SweepRun(Card):
    """One run, as its row names it: of a sweep, or a row that an exploration measured."""

    # digest of all that the row depends on, 64 hexadecimal digits: network, pattern, execution, chip, frames, density,
    # both seeds, options of the mapper and version of neuromap. Two runs with one key are one row. In an exploration
    # all patterns with one schedule have one key, and the first of them names the row
    key: str
    # network, network_digest: name, and the digest of all that it computes
    network: str
    network_digest: str
    # pattern, execution: name of the pattern; the time axis
    pattern: str
    execution: str
    chip: str  # name of the chip whose figures were set; in an exploration, of the chip with its figures
    chip_figures: str  # what was set, as a JSON object
    seed: int | None  # seed of the random frames; ``None`` where frames were given
    n_frames: int  # how many frames there are, frame 0 included
    density: float | None  # probability of a 1 in them; ``None`` where every frame draws its own
    mapping: str  # options of the mapper that are not the default ones, as a JSON object
    neuromap: str = __version__  # version
    n_stimuli: int = 1  # stimuli over which energy is a mean; their seeds follow each other
    asked_by: AskedBy = "sweep"  # the command that measured it


@dataclass(frozen=True)
class RunOutcome(ReadOnly, Card):
    """What became of a run."""

    # ``"lost"`` where the processes that did it died: the next command does it again. All others are final
    status: RunStatus
    stage: str = ""  # where it ended; empty where it did not
    exit_code: int = 0  # what the command line would give for this run alone
    message: str = ""  # why, in one line; empty where there is nothing to say
    # by the keys of :data:`neuromap.sweep.run_store.RUN_FIGURES`; those that are known
    figures: Mapping[str, float | bool] = field(default_factory=dict)


def runs_of(spec: SweepSpec) -> Iterator[tuple[RunJob, tuple[SweepRun, ...]]]:
    """Go through all runs of a spec: networks outermost, then patterns, executions, chips; seeds change first."""
    networks = {id(network): network_digest(network) for network in spec.networks}
    chips = [(fingerprint_of_chip(chip.chip), json.dumps(dict(chip.figures))) for chip in spec.chips]
    told = told_options(spec.options)
    for p, pattern in enumerate(spec.patterns):
        digest = networks[id(pattern.network)]
        for execution in spec.executions:
            for c, (chip, figures) in enumerate(chips):
                shared = (digest, pattern.values, execution, chip, spec.n_frames, spec.density, told, spec.noise_seed)
                runs = (
                    SweepRun(
                        key=_key(*shared, seed),
                        network=pattern.network.name,
                        network_digest=digest,
                        pattern=pattern.name,
                        execution=execution,
                        chip=spec.chips[c].base,
                        chip_figures=figures,
                        seed=seed,
                        n_frames=spec.n_frames,
                        density=spec.density,
                        mapping=told,
                    )
                    for seed in spec.seeds
                )
                yield RunJob(p, execution, c, spec.seeds), tuple(runs)


def _key(*parts: object) -> str:
    return sha256(repr(("neuromap run 1", __version__, *parts)).encode()).hexdigest()


def network_digest(network: Network) -> str:
    """Give the digest of a network's name and of all that it computes, as 64 hexadecimal digits."""
    fingerprint = Fingerprint(f"network {network.name}")
    fingerprint.add_network(network)
    return fingerprint.text()


def told_options(options: MappingOptions) -> str:
    """Give the options of the mapper that are not the default ones, as a JSON object."""
    default = MappingOptions()
    return json.dumps(
        {f.name: v for f in fields(options) if (v := getattr(options, f.name)) != getattr(default, f.name)}
    )


# ``SweepSpec``: everything that a sweep of runs is made of, read and checked.


@dataclass(frozen=True, eq=False)
class SetChip(ReadOnly, Card):
    """A chip of a sweep, and the figures that were set to make it."""

    base: str  # name of the chip whose figures were changed
    figures: Mapping[str, Any]  # what was set, called as in chip files
    chip: ChipSpec  # the chip that they make


@dataclass(frozen=True, eq=False)
class SweepSpec(Card):
    """Networks, patterns, executions, chips and seeds, every combination of which is a run.

    Attributes
    ----------
    name : str
        Of the spec file, without its suffix.
    patterns : tuple of RolloutPattern
        Network by network, all patterns of each; valid or not.
    executions : tuple of str
        Time axes, such as ``"windowed"``.
    chips : tuple of SetChip
        Chips outermost, the values of the last figure change first.
    seeds : tuple of int
        Of the random frames.
    n_frames : int
        Random frames of every run, frame 0 included.
    density : float or None
        Probability of a 1 in them; ``None`` where every frame draws its own.
    options : MappingOptions
        How every run is mapped.
    engine : str
        What runs the ticks, on one thread; the results do not depend on it.
    noise_seed : int
        Seed of the neurons' stochastic modes.
    title : str
        One line for people.
    """

    name: str
    patterns: tuple[RolloutPattern, ...]
    executions: tuple[str, ...]
    chips: tuple[SetChip, ...]
    seeds: tuple[int, ...]
    n_frames: int
    density: float | None
    options: MappingOptions
    engine: str = "fast"
    noise_seed: int = 0
    title: str = ""

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks, each once."""
        return tuple({id(pattern.network): pattern.network for pattern in self.patterns}.values())

    @property
    def n_runs(self) -> int:
        """Combinations; runs are fewer where two of them are the same."""
        return len(self.patterns) * len(self.executions) * len(self.chips) * len(self.seeds)

    def _facts(self) -> dict[str, object]:
        return {
            "name": self.name,
            "networks": ", ".join(network.name for network in self.networks),
            "patterns": len(self.patterns),
            "executions": ", ".join(self.executions),
            "chips": len(self.chips),
            "seeds": len(self.seeds),
            "runs": self.n_runs,
        }

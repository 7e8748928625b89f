"""CoreKind: the interface of a kind of core, and the registry of kinds by name.

A kind is a package whose modules are its parts: ``structure``, ``program``, ``rules``, ``mapper``, ``engines``,
``faults``, ``proof`` where programs can be proven and, where the general one is too slow or too coarse, ``wave`` and
``shared_engine``. Each part implements its protocol below and is imported on first access. The registry lists ours;
other packages register theirs as entry points of the group ``neuromap.core_kinds``, with the kind's name and package.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

from neuromap.errors import ChipError
from neuromap.registry import Registry, imported
from neuromap.render.value import Card

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from neuromap.faults.edited_program import ThresholdEdit, WeightEdit
    from neuromap.faults.options import Faults
    from neuromap.files.toml_table import TomlTable
    from neuromap.hardware.checker import Rules
    from neuromap.hardware.chip.chip_spec import ChipSpec
    from neuromap.hardware.program.chip_program import ChipProgram
    from neuromap.mapping.bounds.lower_bounds import CoreBound
    from neuromap.mapping.legalise.legalised import Legalised, Population, Sources
    from neuromap.mapping.map_rollout import Parts
    from neuromap.mapping.options.budget import Budget
    from neuromap.mapping.tile.tilings import MappingContext
    from neuromap.network.spiking_neuron import IntegerNeuron
    from neuromap.rollout.schedule.rollout import Rollout
    from neuromap.simulation.cost.activity import CoreShares
    from neuromap.simulation.engine.engine import Engine
    from neuromap.simulation.engine.engine_choice import EngineChoice
    from neuromap.simulation.mpi.rank_engine import Exchange, RemoteWires
    from neuromap.verification.wave import Wiring

    Bools: TypeAlias = NDArray[np.bool_]
    Ints: TypeAlias = NDArray[np.int64]


# Kind of the cores of a chip file that names none.
DEFAULT = "crossbar"


@dataclass(frozen=True)
class CoreFigures(Card):
    """Base of the figures specific to one kind of core, which derives a frozen dataclass from it."""

    kind: ClassVar[str]  # name of the kind


class Structure(Protocol):
    """Properties of a kind of core, and its table ``[core]`` of the chip file."""

    NEURONS: tuple[type[IntegerNeuron], ...]  # classes of neurons that it computes, besides frame neurons
    ONE_TARGET: bool  # whether a neuron feeds one axon, so that fan-out takes copies
    DELAYS_BEHIND_AXONS: bool  # whether an axon carries a spike to neurons at different delays
    UPDATES_ALL: bool  # whether a core in use computes all its neurons in every tick, idle ones too
    # mapper options that this kind supports, of those that not all kinds do; ``pins`` stands for tiles, cores, regions
    # and splitters, ``pins.neurons`` and the like for single ones
    OPTIONS: frozenset[str]
    KEYS: tuple[str, ...]  # keys of the table ``[core]``
    NEURON_TABLE: bool  # whether a chip file may say how the neuron reads its equations

    def figures(self, core: TomlTable) -> dict[str, Any]:
        """Read the table; return fields of a :class:`~neuromap.hardware.chip.chip_spec.ChipSpec`."""

    def table(self, chip: ChipSpec) -> dict[str, Any]:
        """Write the table."""


class ProgramPart(Protocol):
    """The class of programs."""

    PROGRAM: type[ChipProgram]


class RulesPart(Protocol):
    """Rules for programs, checked on program and chip alone; shares no code with the mapper."""

    RULES: Rules


class Mapper(Protocol):
    """From a rollout to a program."""

    def partition(self, rollout: Rollout, chip: ChipSpec, context: MappingContext) -> Parts:
        """Partition the neurons of a rollout into cores, or refuse."""

    def emit(self, rollout: Rollout, parts: Parts, where: Ints, chip: ChipSpec) -> ChipProgram:
        """Write the program of placed cores; ``where`` has shape (cores, 2)."""

    def core_bound(self, network: Legalised, chip: ChipSpec, proven: bool, priced: bool, budget: Budget) -> CoreBound:
        """Return a lower bound on the cores of any mapping."""

    def most_axons(self, sources: Sources, population: Population, chip: ChipSpec, gathers: bool) -> int | None:
        """Return the most axons that any single neuron needs; ``None`` if no number suffices."""


class Engines(Protocol):
    """Engines: ``numpy``, the readable one, and optionally ``fast``, which must equal it bit by bit."""

    # may also offer ``side_by_side(program)``, an engine for many stimuli at once

    ENGINES: Mapping[str, Callable[[Any, EngineChoice], Engine]]


class FaultsPart(Protocol):
    """Faults and edits of programs; every function returns a new program."""

    def with_stuck(self, program: Any, stuck: Bools, fires: bool) -> ChipProgram:
        """Make neurons, a mask of shape (C, N), never fire, or fire in every tick."""

    def without_ways(self, program: Any, cut: Bools) -> ChipProgram:
        """Remove some of the program's wires."""

    def flipped(self, program: Any, places: Ints, faults: Faults) -> tuple[ChipProgram, int, int]:
        """Flip synapses; also return how many flipped and could. ``places``: the cores' numbers on the board."""

    def with_threshold(self, program: Any, at: tuple[Ints, Ints], edit: ThresholdEdit) -> ChipProgram:
        """Raise or lower thresholds of neurons, by cores and neurons."""

    def with_weight(self, program: Any, places: Sequence[tuple[int, int]], edit: WeightEdit) -> ChipProgram:
        """Change the weight of a connection to some neurons."""


class ProofPart(Protocol):
    """What the N neurons of a core compute, for proofs, given the least and greatest sums that reach them."""

    # may also offer ``counting(program, core, neuron)``, where neurons hold parts of sums: what can ``step``, or None
    # may also offer ``lifted``, ``either`` and ``NO_NEURON``, by which programs become networks (``proof/lift.py``)

    def forgetting(self, program: Any, core: int, low: Ints, high: Ints) -> tuple[Ints, NDArray[np.uint8]]:
        """Return each neuron's least spiking sum, and why it does not forget (``proof/codes.py``), 0 if it does."""

    def remembering(
        self, program: Any, core: int, wanted: Mapping[str, Ints], part: Ints, power: Ints, low: Ints, high: Ints
    ) -> NDArray[np.uint8]:
        """Return why each is not the neuron with these parameters, times 2^power; 0 if it is.

        ``part`` says which of a neuron's currents each holds.
        """


class Wave(Protocol):
    """Views of a program for the dependency wave and for counting work."""

    def wiring(self, program: Any) -> Wiring:
        """Make the wave's view of a program."""

    def shares(self, program: Any) -> CoreShares:
        """Count the synapses of every axon by node."""


class SharedEngine(Protocol):
    """The fast engine for the cores of a rank, where ranks share memory; else spikes go in messages."""

    def make_shared_engine(
        self, program: Any, wires: RemoteWires, exchange: Exchange, choice: EngineChoice
    ) -> Engine | None:
        """Load the cores of a rank; all ranks call this. None if they share no memory."""


class CoreKind:
    """A kind of core: a package, and its parts."""

    structure: Structure
    program: ProgramPart
    rules: RulesPart
    mapper: Mapper
    engines: Engines
    faults: FaultsPart
    # ``proof``, ``wave`` and ``shared_engine`` are None where the package has none
    proof: ProofPart | None
    wave: Wave | None
    shared_engine: SharedEngine | None

    def __init__(self, name: str, package: str) -> None:
        self.name, self._package = name, package

    def computes(self, neuron: type[IntegerNeuron]) -> bool:
        """Whether its cores compute neurons of a class; all cores compute frame neurons."""
        return neuron in self.structure.NEURONS

    def __getattr__(self, part: str) -> Any:
        """Import a part on first access."""
        said = CoreKind.__annotations__.get(part)
        if said is None:
            raise AttributeError(part)
        asked = globals()[said.removesuffix(" | None")]
        label, path, found = f"core kind {self.name}", f"{self._package}.{part}", None
        imported(label, self._package, ChipError)
        if not said.endswith("None") or find_spec(path) is not None:
            found = imported(label, path, ChipError)
            for key in (*asked.__annotations__, *(key for key in vars(asked) if not key.startswith("_"))):
                imported(label, f"{path}:{key}", ChipError)
        setattr(self, part, found)
        return found


CORE_KINDS: Registry[CoreKind] = Registry(
    "core kind",
    "neuromap.core_kinds",
    {
        "crossbar": "neuromap.cores.crossbar",
        "synapse-list": "neuromap.cores.synapse_list",
        "graded": "neuromap.cores.graded",
    },
    ChipError,
    made=CoreKind,
)


def core_kind(name: str) -> CoreKind:
    """Find a kind by its name."""
    return CORE_KINDS.find(name)


def our_kinds() -> tuple[CoreKind, ...]:
    """Return the kinds that come with neuromap."""
    return tuple(CORE_KINDS[name] for name in CORE_KINDS.ours)

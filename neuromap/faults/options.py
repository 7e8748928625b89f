"""``Faults``: kinds, rates and seed of faults; ``StudyOptions``: options of a fault study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.files.argument_checks import mapping_given, real_number, whole_number
from neuromap.files.messages import did_you_mean
from neuromap.jobs.ahead import MOST_PROCESSES
from neuromap.jobs.silent import silent
from neuromap.mapping.options.options import MappingOptions
from neuromap.options import COMMON, check_options, option
from neuromap.render.value import Card
from neuromap.simulation.choose_frames import DEFAULT_STIMULI, RandomFrames
from neuromap.simulation.engine.engine_choice import DEFAULT_ENGINE, EngineChoice

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike

    from neuromap.datasets.tracks import ImageSet
    from neuromap.hardware.chip.chip_spec import ChipSpec

_MOST_SEED = 2**64


class FaultKind(NamedTuple):
    """A kind of fault."""

    number: int  # distinguishes its draws from those of other kinds; never changed
    at_risk: str  # parts that may fail at the rate
    effect: str  # effect of one fault


# Kinds of faults by name, with those of graded cores.
EVERY_KIND: Mapping[str, FaultKind] = ReadOnlyMapping(
    {
        "dead-cores": FaultKind(1, "cores", "none of its neurons ever fires; its router still forwards"),
        "dead-links": FaultKind(2, "links", "spikes whose way crosses it, in either direction, are lost"),
        "dropped-spikes": FaultKind(3, "spikes", "one spike is lost on its way to one axon"),
        "silent-neurons": FaultKind(4, "neurons", "it never fires"),
        "firing-neurons": FaultKind(5, "neurons", "it fires in every tick"),
        "flipped-synapses": FaultKind(
            6, "synapses", "a bit of a crossbar is the other; on synapse-list cores the weight has the other sign"
        ),
        "flipped-payloads": FaultKind(
            7, "messages", "a bit of the value that one message carries to one axon is the other"
        ),
    }
)
# Kinds of faults on any chip.
KINDS: Mapping[str, FaultKind] = ReadOnlyMapping(dict(list(EVERY_KIND.items())[:-1]))


@dataclass(frozen=True)
class Faults(Card):
    """Faults that strike after a program was mapped for a chip without them.

    Every part at risk fails independently with the same probability, the rate. A draw depends only on the seed, the
    kind and the place on the board: whatever fails at a rate fails at every higher one, and nothing fails at 0.

    Attributes
    ----------
    rates : mapping of str to float
        Rate, 0 to 1, of every kind that occurs: those of ``KINDS``, and on graded cores ``flipped-payloads``.
    seed : int
        0 to 2**64 - 1; selects one chip of many.

    Raises
    ------
    InputError
        If a kind is unknown, or a rate or the seed is out of range.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        mapping_given("faults: rates", self.rates, "kinds and their rates, such as {'dead-cores': 0.01}")
        check_kinds(self.rates)
        if not 0 <= whole_number("seed", self.seed) < _MOST_SEED:
            raise InputError(f"faults: seed = {self.seed}: must be 0 to {_MOST_SEED - 1}")
        rates = {kind: check_rate(rate, f"faults: rate of {kind}") for kind, rate in self.rates.items()}
        object.__setattr__(self, "rates", ReadOnlyMapping(rates))

    def rate(self, kind: str) -> float:
        """Return the rate of a kind; 0 if it does not occur."""
        return self.rates.get(kind, 0.0)


def check_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Return kinds without repetition; refuse unknown ones."""
    found = tuple(dict.fromkeys(kinds))
    for kind in found:
        if kind not in EVERY_KIND:
            raise InputError(
                f"faults: kind {kind!r:.60}: is not known; choose of {', '.join(EVERY_KIND)}"
                f"{did_you_mean(kind, EVERY_KIND)}"
            )
    return found


def check_rate(rate: object, name: str = "rate") -> float:
    """Return a rate; refuse one out of range."""
    value = float(real_number(name, rate))
    if not 0 <= value <= 1:
        raise InputError(f"{name} {value:g}: must be a part from 0 to 1, such as 0.01 for 1 %")
    return value


def check_rates(rates: Sequence[float]) -> tuple[float, ...]:
    """Return rates in ascending order, without repetition."""
    found = tuple(sorted({check_rate(rate) for rate in rates}))
    if not found:
        raise InputError("rate: none is given; give parts from 0 to 1, such as 0, 0.01 and 0.05")
    return found


# Most chips per point.
MOST_SEEDS = 1000


class ShownImages(NamedTuple):
    """Labelled images as stimuli.

    Attributes
    ----------
    images : ImageSet
        Images, each shown from the program's initial state.
    n_frames : int
        Number of output frames to compare, from the first response on; the last one decides the class.
    seed : int
        Seed of the encoding's random numbers.
    """

    images: ImageSet
    n_frames: int = 1
    seed: int = 0


@dataclass(frozen=True)
class StudyOptions(Value):
    """Options of a study; see :func:`neuromap.faults.fault_study.study_faults`."""

    _group: ClassVar = "study"
    chip: str | Path | ChipSpec = "truenorth"
    _: KW_ONLY
    kinds: Sequence[str] = option(
        "--kinds, --kind KINDS  Kinds of faults, separated by commas: dead-cores, dead-links, dropped-spikes, "
        "silent-neurons, firing-neurons, flipped-synapses; of graded cores flipped-payloads; or all but that: all. A "
        "chip has faults of one kind.  [default: all]",
        tuple(KINDS),
        items="str",
        choices=("all", *EVERY_KIND),
        group=COMMON,
    )
    rates: Sequence[float] = option(
        "RATES  Parts of what is at risk that fail, 0 to 1, separated by commas.  [default: 0,0.01,0.02,0.05,0.1]",
        (0.0, 0.01, 0.02, 0.05, 0.1),
        items="float",
        within=(0, 1),
        needs="parts from 0 to 1, such as 0,0.01,0.05",
        group=COMMON,
    )
    seeds: int = option(
        "N  Chips of every kind and rate, 1 to 1000.",
        5,
        within=(1, MOST_SEEDS),
        must=f"must be 1 to {MOST_SEEDS} chips of every kind and rate",
        group=COMMON,
    )
    processes: int = option("N  Chips that run at the same time.", 1, within=(1, MOST_PROCESSES))
    results: str | Path | None = option("FILE  Keep every chip in this file; what is in it is not done again.")
    stimuli: Mapping[str, ArrayLike] | str | Path | RandomFrames | ShownImages | None = None
    n_stimuli: int = DEFAULT_STIMULI
    options: MappingOptions = MappingOptions()
    choice: EngineChoice = DEFAULT_ENGINE
    progress: Callable[..., object] = silent

    def __post_init__(self) -> None:
        check_options(self)

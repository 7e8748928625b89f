"""TickCosts: what a core's work takes in time, where a tick lasts as long as its slowest core and a barrier."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.render.numbers import seconds
from neuromap.render.value import Card

_FIGURES = {
    "access": "neuron_access_seconds",
    "update": "neuron_update_seconds",
    "fire": "fire_seconds",
    "spike": "spike_seconds",
    "arrival": "arrival_seconds",
    "event": "synaptic_event_seconds",
}


@dataclass(frozen=True)
class TickCosts(Card):
    """Seconds of everything that a core does in a tick; figures of the table ``[time]`` of a chip file.

    Attributes
    ----------
    access, update : float
        Looking at a neuron in use, in every tick; what an active one takes besides: one whose potential is not 0, that
        has a bias, or that a synapse has reached.
    fire, spike, arrival, event : float
        A neuron that fires; a spike sent to one core; a spike that comes in on one axon; a synapse on that axon.
    hop_x, hop_y : float
        A link between two routers.
    barrier : tuple of (int, float)
        Tiles in use, ascending from 1, and the time of the barrier from so many on.
    """

    access: float
    update: float
    fire: float
    spike: float
    arrival: float
    event: float
    hop_x: float
    hop_y: float
    barrier: tuple[tuple[int, float], ...]

    def whole(self, unit: float) -> tuple[int, ...]:
        """Give all but the barrier as whole numbers of so many seconds, in the order above, so that sums are exact."""
        return tuple(round(figure / unit) for figure in astuple(self)[:-1])

    def barrier_of(self, n_tiles: int) -> float:
        """Seconds of the barrier of a program that uses so many tiles."""
        return max((seconds for tiles, seconds in self.barrier if tiles <= max(1, n_tiles)), default=0.0)


def tick_costs(chip: ChipSpec) -> TickCosts | None:
    """Read what work takes on a chip.

    Parameters
    ----------
    chip : ChipSpec
        Its tables ``[time]`` and ``[router]``.

    Returns
    -------
    TickCosts or None
        ``None`` where ticks are of fixed length. Figures that a file with timed ticks leaves out take no time.
    """
    if not chip.is_timed:
        return None
    figures = {name: chip.timing.get(key, 0.0) for name, key in _FIGURES.items()}
    if "neuron_access_seconds" not in chip.timing:  # then updates are those of all neurons in use
        figures |= {"access": figures["update"], "update": 0.0}
    hops = {f"hop_{axis}": chip.router.get(f"hop_{axis}_seconds", chip.router.get("hop_seconds", 0.0)) for axis in "xy"}
    return TickCosts(**figures, **hops, barrier=chip.barrier_seconds)


def tick_words(chip: ChipSpec) -> str:
    """Say how long a tick is."""
    return "ticks as long as their work" if chip.is_timed else f"1 tick = {seconds(chip.tick_seconds)}"

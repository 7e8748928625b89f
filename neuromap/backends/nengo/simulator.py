"""Nengo's simulator, with the ensembles that fit on a simulated chip."""

from __future__ import annotations

from typing import Any

import nengo
import numpy as np
from nengo.builder import Model
from nengo.cache import get_default_decoder_cache
from numpy.typing import ArrayLike, NDArray

from neuromap.backends.nengo.chip_builder import ChipBuilder
from neuromap.backends.nengo.chip_operator import frames_of
from neuromap.backends.nengo.crossbar.crossbar_plan import DECODER_ERROR
from neuromap.backends.nengo.crossbar_builder import CrossbarBuilder
from neuromap.backends.nengo.mapped_plan import MappedPlan
from neuromap.backends.nengo.placement import Placement
from neuromap.backends.nengo.run_report import RunReport, report_run
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.quantise.quantisation import TrainDistance
from neuromap.quantise.spike_distance import train_distance
from neuromap.simulation.engine.engine_choice import EngineChoice

__all__ = ["Simulator"]


class Simulator(nengo.Simulator):
    """Runs a Nengo network: ensembles that fit on a chip, all else on the host by Nengo itself."""

    # network: what is built; None if ``model`` has been built already

    def __init__(
        self,
        network: nengo.Network | None,
        dt: float = 0.001,
        seed: int | None = None,
        model: Model | None = None,
        progress_bar: Any = True,
        optimize: bool = True,
        *,
        chip: str | ChipSpec = "loihi1",
        engine: str = "fast",
        ticks_per_step: int | None = None,
        decoder_error: float = DECODER_ERROR,
    ) -> None:
        self.closed = True  # as long as nothing is built
        spec = chip if isinstance(chip, ChipSpec) else load_chip(chip)
        is_crossbar = spec.core_model == "crossbar"
        ticks_per_step = (1 if is_crossbar else 2) if ticks_per_step is None else ticks_per_step
        most = spec.delay[1]
        if type(ticks_per_step) is not int or not 1 <= ticks_per_step <= most:
            raise InputError(f"ticks_per_step: found {ticks_per_step!r:.60}; allowed are 1 to {most}")
        if not 0 <= decoder_error < 1:
            raise InputError(f"decoder_error: found {decoder_error!r:.60}; allowed are 0 to below 1")
        choice = EngineChoice(engine, threads=1)
        if model is None:
            model = Model(float(dt), f"{network}, dt={dt:f}", get_default_decoder_cache())
        if network is not None:
            model.builder = (
                CrossbarBuilder(spec, choice, ticks_per_step, decoder_error)
                if is_crossbar
                else ChipBuilder(spec, choice, ticks_per_step)
            )
        super().__init__(network, dt, seed, model, progress_bar, optimize)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Go on where another simulator was written to bytes; its chip is fed anew all that it was fed."""
        builder = state["model"].builder
        past = builder.operator.past if isinstance(builder, ChipBuilder) and builder.operator is not None else None
        super().__setstate__(state)
        if past is not None and not state["closed"]:
            builder.operator.replay(past)

    @property
    def _builder(self) -> ChipBuilder | None:
        builder = self.model.builder
        return builder if isinstance(builder, ChipBuilder) else None

    @property
    def placement(self) -> Placement | None:
        """What runs where, and why; None for a model that was built without a chip."""
        return self._builder.placement if self._builder is not None else None

    @property
    def mapped(self) -> MappedPlan | None:
        """What is on the chip; None where that is nothing."""
        return self._builder.mapped if self._builder is not None else None

    def report(self) -> RunReport:
        """Tell what ran where since the last reset, and what the chip did: cores, spikes, hops, energy, latency."""
        builder = self._builder
        operator = builder.operator if builder is not None else None
        return report_run(
            int(self.n_steps), float(self.dt), self.placement, self.mapped, operator.state if operator else None
        )

    def train_distance(self, ensemble: Any, original: ArrayLike, time_constant: float = 0.01) -> TrainDistance:
        """Tell how far the spike trains of an ensemble on the chip are from others: van Rossum's distance."""
        # shapes: original (steps, n)
        builder = self._builder
        places = builder.placement.ensembles if builder is not None and builder.placement is not None else ()
        if builder is None or ensemble not in places:
            raise InputError(f"{ensemble}: is not on the chip; its spikes are Nengo's own")
        assert builder.mapped is not None
        name = builder.mapped.ensembles[places.index(ensemble)].name
        frames = self.chip_frames[name][1:].reshape(int(self.n_steps), builder.ticks_per_step, -1)
        fired: NDArray[np.bool_] = np.any(frames, axis=1)
        theirs = np.asarray(original) != 0
        return train_distance(name, fired, theirs, float(self.dt), by="Nengo", time_constant=time_constant)

    @property
    def chip_frames(self) -> dict[str, NDArray[np.bool_]]:
        """Frames of ensembles on the chip and of what they were fed, for :func:`neuromap.reference` to check."""
        # Frame i + 1 of an ensemble is what it spiked in tick i, frame i of an input node what it was fed in tick i, so
        # the last frame of the input nodes is silent. They begin with the last reset. Empty where nothing is on the
        # chip.
        builder = self._builder
        if builder is None or builder.operator is None or builder.operator.state is None:
            return {}
        return frames_of(builder.operator.mapped, builder.operator.state)

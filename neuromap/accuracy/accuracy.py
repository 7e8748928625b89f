"""An accuracy as people read it in a terminal."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from neuromap.forms.formed import Formed, form
from neuromap.forms.numbers import joules, plain
from neuromap.forms.tables import new_table, printed


def render_text(found: Accuracy, width: int = 100) -> str:
    """Write the accuracy by frame, update step and tick, under what was run and above what it costs."""
    table = new_table("frame", "known at\n[update step]", "known at\n[tick]", "right\n[images]", "accuracy")
    for frame in found.frames:
        step = "-" if frame.update_step is None else str(frame.update_step)
        table.add_row(str(frame.frame), step, str(frame.tick), f"{frame.correct:,}", f"{100 * frame.accuracy:.2f} %")
    head = (
        f"{found.network} ({found.pattern}, {found.execution}) on {found.chip}, {found.n_images:,} {found.part} images "
        f"of {found.data}, {found.classes} classes"
    )
    lines = (
        f"cores: {found.cores:,}; first response {found.first_response} ticks; sampling frequency "
        f"{plain(found.sampling_frequency)} Hz",
        f"per frame in steady operation: {plain(found.synaptic_events)} synaptic events, {plain(found.spikes)} spikes, "
        f"{joules(found.joules)} (mean over {found.n_costed} images)",
        f"a frame names the class with most spikes of {found.output} in it, the lowest of equals; frame 1 is the first "
        "response; steps and ticks since the onset of the stimulus",
    )
    return "\n".join([head, "", printed(lambda console: console.print(table), width).rstrip("\n"), "", *lines]) + "\n"


# ``Accuracy``: how often a program names the right class, over frames, update steps and ticks, and what it costs.


@dataclass(frozen=True)
class FrameAccuracy:
    """One frame of the output.

    Attributes
    ----------
    frame : int
        Counted from 1, the first that depends on the stimulus.
    update_step : int or None
        At which it is known, since the onset of the stimulus; ``None`` where the schedule is made in ticks.
    tick : int
        The same in ticks of the chip.
    correct : int
        Images that this frame alone names rightly.
    accuracy : float
        The same as a fraction of the images.
    """

    frame: int
    update_step: int | None
    tick: int
    correct: int
    accuracy: float


@dataclass(frozen=True, eq=False)
class Accuracy(Formed):
    """A network on a chip, and how often it is right.

    Attributes
    ----------
    network, pattern, execution, chip, data, part, output : str
        Names.
    n_images, classes, seed : int
        Images of that part; seed of what their encoding draws.
    frames : tuple of FrameAccuracy
        From the first response on.
    cores : int
        That the program takes.
    first_response : int
        Ticks from the onset of the stimulus.
    sampling_frequency : float
        Frames per second, in hertz.
    n_costed : int
        Images over which the costs are means.
    synaptic_events, spikes : float
        Per frame in steady operation.
    joules : float or None
        Energy of a frame in steady operation; ``None`` where the chip has no figures.
    """

    network: str
    pattern: str
    execution: str
    chip: str
    data: str
    part: str
    output: str
    n_images: int
    classes: int
    seed: int
    frames: tuple[FrameAccuracy, ...] = field(repr=False)
    cores: int
    first_response: int
    sampling_frequency: float
    n_costed: int
    synaptic_events: float
    spikes: float
    joules: float | None

    _called = "an accuracy"

    def _facts(self) -> dict[str, object]:
        return {
            "network": f"{self.network} ({self.pattern}, {self.execution})",
            "chip": self.chip,
            "data": f"{self.data}, {self.part}, {self.n_images} images",
            "accuracy": f"{self.frames[0].accuracy:.4f} to {self.frames[-1].accuracy:.4f} by frame",
            "cores": self.cores,
            "first response": f"{self.first_response} ticks",
            "sampling frequency": f"{self.sampling_frequency:g} Hz",
            "energy per frame": joules(self.joules),
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the accuracy as plain values, those of its JSON document."""
        found: dict[str, Any] = form(self, "dict")
        return found

    def to_json(self) -> str:
        """Write the accuracy as a JSON document."""
        return str(form(self, "json"))

    def to_csv(self) -> str:
        """Write the frames, one line each, as CSV text (RFC 4180, UTF-8)."""
        return str(form(self, "csv"))

"""Conversion of graded networks to spiking rates, for chips without graded spikes, balanced on labelled images."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from neuromap.datasets.sources import load_images
from neuromap.datasets.tracks import PIXELS
from neuromap.encoding.frames import encode_set
from neuromap.encoding.input_tables import input_encodings, with_known_classes
from neuromap.errors import InputError
from neuromap.exchange.imported import Imported, Note
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.network.network_file import load_network
from neuromap.network.spiking_neuron import LeakNeuron
from neuromap.quantise.rate import to_rates

# Most images of the training part on which values are measured.
_SHOWN = 1_000


def from_graded(path: str | Path, *, chip: str | Path | ChipSpec | None = None, data: str | None = None) -> Imported:
    """Convert the file of a graded network to spiking neurons (:func:`neuromap.quantise.to_rates`).

    Parameters
    ----------
    path : str or Path
        A network file with graded nodes only and one input of images.
    chip : str, Path, ChipSpec or None
        Chip of the spiking network; ``truenorth`` by default.
    data : str
        Labelled images, as :func:`neuromap.datasets.load_images` names them: values are measured on the first thousand
        of the training part.

    Returns
    -------
    Imported

    Raises
    ------
    InputError
        If no data are given, or they cannot be read.
    NotSupportedError, NetworkError, StimulusError
        If the network cannot be converted, or the images do not fit its input.
    """
    path = path_given("from_graded", path)
    if data is None:
        raise InputError(
            f"{path}: rates are balanced on values that images give; name them, such as --data digits or --data "
            "mnist:PATH"
        )
    network = load_network(path)
    images = load_images(data, "train", limit=_SHOWN).stills()
    images = with_known_classes(network, images, "conversion to rates")
    encoding = input_encodings(network)[network.inputs[0]]
    frames = encode_set(replace(encoding, noise=0.0), images, 1, 0)[:, 0]
    made = to_rates(network, {encoding.node: frames}, "truenorth" if chip is None else chip)
    seen = encoding.range_for(images)
    told = {**made.network.tables, "training": {"classes": len(images.classes)}}
    if seen != PIXELS:  # intensities of the rates are those of the values
        told["inputs"] = {encoding.node: {**told["inputs"][encoding.node], "seen": list(seen)}}
    bound = made.bounded_ticks
    long = "" if bound is None else f"; for {bound} ticks no current can leave its width, start again by then"
    notes = []
    for name, full in made.full.items():
        neuron = made.network.nodes[name].neuron
        shown = counted(len(images.images), "image")
        text = f"a value becomes a rate, {full:.4g} a spike in every tick, found on {shown}"
        if isinstance(neuron, LeakNeuron) and not neuron.subtract:
            text += "; a spike loses what lay above its threshold, which is lowered by the mean of that"
        notes.append(Note(name, text))
    return Imported(
        network=replace(made.network, tables=told),
        format="rates",
        source=str(path),
        kept=(
            Note(network.name, f"its neurons; an output answers {made.depth} ticks after its stimulus begins{long}"),
        ),
        approximated=tuple(notes),
    )

"""What the figures of a report mean: name, unit and time axis, and a definition, for the page."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.forms.page import Definition

__all__ = ["DEFINITIONS"]


_AXIS = "ticks from stimulus onset, on the time axis of the row’s execution"

DEFINITIONS: Mapping[str, Definition] = ReadOnlyMapping(
    {
        "pattern": Definition(
            "Pattern",
            "",
            "Which edges hand their value to the next frame (streaming, R = 1) and which work inside a frame "
            "(sequential, R = 0). It is valid if every cycle has a streaming edge (Theorem 1).",
        ),
        "execution": Definition(
            "Execution",
            "",
            "Windowed: windows of size 1 one after the other, frame period F. Pipelined: frames follow each "
            "other as closely as the network’s cycles allow. Each is a time axis of its own.",
        ),
        "inference-factor": Definition(
            "Inference factor F",
            "update steps",
            "The greatest update step in the tableau of the rollout window of size 1.",
        ),
        "frame-period": Definition(
            "Frame period",
            "ticks",
            "Between two frames of one node; the mean, where intervals are unequal.",
        ),
        "sampling-frequency": Definition(
            "Sampling frequency",
            "Hz (frames per second at the chip’s tick)",
            "1 / (frame period × length of a tick).",
        ),
        "first-response": Definition(
            "First response",
            _AXIS,
            "When an output can first differ with the stimulus. Predicted: least sum of delays from an input to "
            "an output, from the schedule. Measured: by a walk through the finished program.",
        ),
        "full-response": Definition(
            "Full response",
            _AXIS,
            "When an output depends on the stimulus along every path that visits no node twice. “≤” marks an "
            "upper bound: the search for the longest path was cut off.",
        ),
        "worst-case-reaction": Definition(
            "Worst-case reaction",
            _AXIS,
            "First response plus frame period minus one tick: for an event that just missed a sample, at the input "
            "that is answered first; with several inputs, an event at another may take longer.",
        ),
        "cores": Definition(
            "Cores",
            "cores",
            "In use. “≥” is a lower bound on the cores of any mapping of the row’s schedule.",
        ),
        "neurons": Definition(
            "Neurons",
            "neurons",
            "In use, with copies, splitters and relays.",
        ),
        "copies": Definition(
            "Copies",
            "neurons",
            "That repeat another one, since a neuron of the chip sends to one axon only.",
        ),
        "splitters": Definition(
            "Splitters",
            "neurons",
            "Relays that are there to send to more axons.",
        ),
        "relays": Definition(
            "Relays",
            "neurons",
            "That only pass spikes on, to make a delay longer.",
        ),
        "axons": Definition(
            "Axons",
            "axons",
            "That a neuron or the host feeds.",
        ),
        "verified": Definition(
            "Verified",
            "",
            "The simulated chip gave exactly the reference’s frames and no spike outside them, and the program "
            "keeps the rules of the chip.",
        ),
        "utilisation": Definition(
            "In use",
            "%",
            "Of what the cores in use have.",
        ),
        "deliveries": Definition(
            "Deliveries",
            "pairs",
            "Of a source and a core that reads it: spikes that must be sent for each of its spikes.",
        ),
        "hops": Definition(
            "Weighted hops",
            "links",
            "Links between routers on all ways, summed over targets.",
        ),
        "accuracy": Definition(
            "Accuracy",
            "fraction of images, at ticks since the onset of the image",
            "How many of the images the last frame of the output that is known at a tick names rightly, alone. "
            "The class with most spikes is named, the lowest of equals.",
        ),
        "energy": Definition(
            "Energy",
            "J per frame in steady operation",
            "Of the whole board, idle chips included, from the figures of the chip file.",
        ),
    }
)
"""Figures by the end of their anchor, ``def-…``."""

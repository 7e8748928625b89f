"""Accuracy of networks on the chip: whole sets of labelled images, frame by frame, over steps and ticks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

_HOMES = {
    "Accuracy": "accuracy",
    "FrameAccuracy": "accuracy",
    "SureAnswers": "accuracy",
    "SureMargin": "accuracy",
    "accuracy_of_reference": "measure",
    "accuracy_on_chip": "measure",
    "decide": "accuracy",
    "frames_of_answers": "accuracy",
    "leads_of": "accuracy",
    "votes_of": "accuracy",
}

if TYPE_CHECKING:
    from neuromap.accuracy.accuracy import Accuracy as Accuracy
    from neuromap.accuracy.accuracy import FrameAccuracy as FrameAccuracy
    from neuromap.accuracy.accuracy import SureAnswers as SureAnswers
    from neuromap.accuracy.accuracy import SureMargin as SureMargin
    from neuromap.accuracy.accuracy import decide as decide
    from neuromap.accuracy.accuracy import frames_of_answers as frames_of_answers
    from neuromap.accuracy.accuracy import leads_of as leads_of
    from neuromap.accuracy.accuracy import votes_of as votes_of
    from neuromap.accuracy.measure import accuracy_of_reference as accuracy_of_reference
    from neuromap.accuracy.measure import accuracy_on_chip as accuracy_on_chip

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

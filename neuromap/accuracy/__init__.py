"""Accuracy of networks on the chip: whole sets of labelled images, by frame, over update steps and ticks."""

import neuromap.one_installation  # noqa: F401 - here too: see there
from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)

"""Experiments: networks trained repeatedly under several rollout patterns, measured on test images, and drawn."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)

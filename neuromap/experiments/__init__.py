"""Experiments: networks trained under several rollout patterns, repeated, measured on test images, drawn."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)

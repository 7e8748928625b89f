"""The first frame of an output that depends on the stimulus: a notion of patterns, reached from here too."""

from __future__ import annotations

from neuromap.rollout.patterns.first_frame import first_frame

__all__ = ["first_frame"]

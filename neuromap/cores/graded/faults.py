"""What faults and edits do to a program of graded cores."""

from __future__ import annotations

from neuromap.cores.synapse_list.faults import flipped, with_stuck, with_threshold, with_weight, without_ways  # noqa

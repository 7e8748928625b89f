"""Rules that a program of graded cores must keep."""

from __future__ import annotations

from neuromap.cores.synapse_list import rules as list_rules
from neuromap.hardware.check import common_rules
from neuromap.hardware.check.violation import Rules

RULES = Rules(
    starts=(list_rules.starts,),
    indices=(list_rules.synapses, list_rules.list_targets, *common_rules.TABLES, list_rules.host_axons),
    chip=(common_rules.coordinates, list_rules.axons, list_rules.output_axons, *common_rules.BOARD),
    mapped=(common_rules.chosen_periods,),
)

"""Which nodes of a network are summed in parts, taken up one by one as they turn out not to fit."""

from __future__ import annotations

from collections.abc import Mapping

from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.asked.options import MappingOptions
from neuromap.mapping.legalise.partial_sums import PartialSums
from neuromap.mapping.refused.infeasible import Infeasibility
from neuromap.mapping.wide.plan_sums import plan_sums
from neuromap.mapping.wide.wide_node import WideNode, wide_node
from neuromap.network.network import Network

__all__ = ["PlannedSums"]

_WIDE_LIMITS = frozenset({"axons", "axon_types", "potential"})
"""Limits of a core that a part may keep where its neuron does not."""


class PlannedSums:
    """Plans partial sums of the nodes that a core cannot hold."""

    # planned: nodes that are summed in parts so far, in the order in which they were taken up

    def __init__(self, network: Network, chip: ChipSpec, options: MappingOptions) -> None:
        self._network, self._chip, self._options = network, chip, options
        self._nodes: dict[str, WideNode] = {}
        self.planned: Mapping[str, PartialSums] = {}

    def take_up(self, refusal: Infeasibility) -> bool:
        """Plan the node of a refusal, or plan it with smaller parts; say whether that may help."""
        name = refusal.node
        if self._options.wide == "refuse" or name is None or refusal.limit not in _WIDE_LIMITS:
            return False
        part_of = {f"{node} part": node for node in self.planned}
        if name in part_of:
            name = part_of[name]
            widest = self.planned[name].most_inputs
            if widest == 1:
                return False
            self._plan(name, widest // 2)
            return True
        if name in self.planned or name not in self._network.nodes or self._network.is_spiking:
            return False
        self._nodes[name] = wide_node(self._network, name)
        self._plan(name, None)
        return True

    def _plan(self, name: str, most_inputs: int | None) -> None:
        sums = plan_sums(self._nodes[name], self._chip, self._options.wide_ticks, most_inputs)
        self.planned = {**self.planned, name: sums}

"""A program of synapse lists by hand, legal on its chip to the last bit."""

import numpy as np
import pytest

from neuromap.cores.synapse_list.program import CurrentTable, ListProgram, SynapseTable, TargetTable
from neuromap.cores.synapse_list.structure import SynapseLists
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.hardware.program.ports import HostTable, NodePort, OutputTable


@pytest.fixture(scope="session")
def list_chip():
    """Two by two cores of three neurons and two axons; every limit is met by ``lists_by_hand``."""
    lists = SynapseLists(
        output_axons=3, synapse_memory_bits=145, synapse_bits=25, list_bits=10, weight_shifts=(1, 3), mixed_sign_step=2,
        threshold_shift=6, bias_bits=5, bias_shifts=(0, 2), current_bits=12, decay_bits=4, refractory_bits=2,
    )  # fmt: skip
    return ChipSpec(
        name="little", cores=(2, 2), chips=(1, 1), axons=2, neurons=3, axon_types=0, weight_bits=4, leak_bits=0,
        threshold_bits=5, potential_bits=12, delay=(2, 5), reach=(1, 1), core_figures=lists,
    )  # fmt: skip


@pytest.fixture(scope="session")
def lists_by_hand(list_chip):
    """Cores 0 and 1 with two axons each and 5 and 3 synapses; core 0 sends to both, core 1 to itself."""

    def ints(*values):
        return np.array(values, np.int32)

    def core(*rows):
        return np.array(rows, np.int32)

    return ListProgram(
        name="by hand", chip=list_chip, period=3, ticks_per_step=1,
        coordinates=core([0, 0], [1, 0]),
        nodes=(NodePort("in", 1, "input", 0), NodePort("hidden", 3, "hidden", 1), NodePort("out", 2, "output", 2)),
        neuron_node=core([1, 1, 1], [2, 2, -1]), neuron_index=core([0, 1, 2], [0, 1, 0]),
        is_relay=np.zeros((2, 3), np.bool_),
        synapses=SynapseTable(
            axons=np.array([0, 2, 4]), lists=np.array([0, 3, 5, 8, 8]),
            neuron=ints(0, 1, 2, 0, 1, 0, 1, 1), weight=ints(8, -24, 16, 56, 16, 2, 14, 0),
            delay=np.array([0, 3, 1, 0, 2, 3, 0, 0], np.uint8),
        ),
        neurons=CurrentTable(
            current_decay=core([0, 16, 4], [16, 16, 16]), voltage_decay=core([16, 0, 1], [0, 0, 0]),
            threshold=core([0, 64, 31 * 64], [640, 640, 640]), bias=core([-16, 15, 60], [0, 3, -64]),
            refractory=np.array([[0, 3, 1], [0, 0, 0]], np.uint8),
            current=core([-2048, 2047, 0], [0, 0, 0]), voltage=core([-2047, 2047, 0], [0, 0, 0]),
        ),
        targets=TargetTable(
            start=np.array([0, 3, 4, 4, 5, 5, 5]), core=ints(0, 1, 1, 1, 1), axon=ints(1, 0, 1, 0, 1),
        ),
        host=HostTable(ints(0), ints(0), ints(0), ints(0), np.array([0]), np.array([0], np.int8)),
        outputs=OutputTable(ints(2, 2), ints(0, 1), ints(1, 1), ints(0, 1)),
    )  # fmt: skip

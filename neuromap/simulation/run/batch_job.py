"""What all stimuli of a batch share, and how their spikes become frames and counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import freeze_arrays
from neuromap.arrays.value import Value
from neuromap.errors import InputError
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.simulation.engine.engine import Spikes
from neuromap.simulation.run.host_feed import HostFeed
from neuromap.simulation.run.run_length import ticks_to_run
from neuromap.simulation.trace.frame_clock import FrameClock
from neuromap.simulation.trace.readout import Readout
from neuromap.simulation.trace.recording import Recording, readout_of

__all__ = ["BatchJob", "BatchPart"]


class BatchPart(NamedTuple):
    """Results of some stimuli in a row; the arrays of :class:`~neuromap.simulation.trace.batch.Batch` for them."""

    frames: NDArray[np.bool_] | None
    counts: NDArray[np.int64]
    strays: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BatchJob(Value):
    """What all stimuli share: made once, only read by the threads."""

    program: ChipProgram  # what runs
    feed: HostFeed  # its host table
    neurons: Readout  # the K neurons whose spikes are kept
    row_of: NDArray[np.int32]  # (C, N): row of every neuron in ``neurons``; -1 for the others
    watched: NDArray[np.bool_]  # (C, N): whether a neuron is one of them
    column: NDArray[np.int64]  # (K,): place of each in the nodes' frames side by side
    keep_frames: bool  # whether frames are kept, or only counts

    def __post_init__(self) -> None:
        freeze_arrays(self)

    @classmethod
    def of(cls, program: ChipProgram, record: Recording, keep_frames: bool) -> Self:
        """Prepare a program for many stimuli."""
        neurons = readout_of(program, _node_words(program, record))
        row_of = neurons.rows(program)
        offset = np.cumsum(np.array([0, *(port.size for port in neurons.nodes)], dtype=np.int64))
        return cls(
            program=program,
            feed=HostFeed(program),
            neurons=neurons,
            row_of=row_of,
            watched=row_of >= 0,
            column=offset[neurons.node] + neurons.index,
            keep_frames=keep_frames,
        )

    @property
    def n_columns(self) -> int:
        """Neurons of the recorded nodes."""
        return sum(port.size for port in self.neurons.nodes)

    def n_ticks(self, n_frames: int) -> int:
        """Count the ticks of a stimulus: up to and with the last frame of the slowest node that is recorded."""
        return ticks_to_run(self.program, n_frames, self.neurons.nodes)

    def part(self, spikes: Sequence[Spikes], n_stimuli: int, n_frames: int) -> BatchPart:
        """Tell the frames of the watched neurons' spikes."""
        nothing = np.zeros(0, dtype=np.int64)
        tick = np.concatenate([nothing, *(some.ticks for some in spikes)])
        owner, tick = np.divmod(tick, max(1, self.n_ticks(n_frames)))
        row = np.concatenate([nothing, *(self.row_of[some.cores, some.neurons] for some in spikes)])
        node, column = self.neurons.node[row], self.column[row]
        clock = FrameClock.of(self.neurons.nodes, self.program.period, n_frames)
        frame, is_inside, is_stray = clock.frames_of(tick, node)
        # As in a trace: spikes of outputs count as far as they do without other nodes.
        is_stray &= (tick < ticks_to_run(self.program, n_frames)) | ~self.neurons.is_output[row]

        table = np.zeros((n_stimuli, n_frames, self.n_columns), dtype=np.bool_)
        table[owner[is_inside], frame[is_inside], column[is_inside]] = True
        strays = np.zeros((n_stimuli, len(self.neurons.nodes)), dtype=np.int64)
        places = np.stack([values[is_stray] for values in (owner, node, column, tick)], axis=1)
        places = np.unique(places, axis=0)  # copies of a neuron spike as one
        np.add.at(strays, (places[:, 0], places[:, 1]), 1)
        return BatchPart(table if self.keep_frames else None, table.sum(axis=1, dtype=np.int64), strays)


def _node_words(program: ChipProgram, record: Recording) -> list[str]:
    """Give the words of a recording that asks for nodes only."""
    words: list[str] = []
    for word in record.spikes:
        if word == "all":
            left_out = program.left_out
            inside = [port.name for port in program.nodes if port.kind != "input"]
            words += [f"node:{name}" for name in inside if name not in left_out]
        else:
            words.append(word)
    wrong = [word for word in words if word.startswith("core:")]
    if wrong or record.potentials or record.counts:
        what = wrong[0] if wrong else "of potentials" if record.potentials else "of counts"
        raise InputError(f"recording {what}: a batch keeps frames of nodes only; simulate single stimuli for more")
    return words

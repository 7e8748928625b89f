"""Many stimuli through one program: one stimulus per thread, what is only read is shared."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from safetensors.numpy import save as save_tensors

from neuromap.arrays.frozen import freeze_arrays
from neuromap.errors import InputError
from neuromap.files.whole_file import write_whole
from neuromap.forms.card import Card
from neuromap.hardware.program.program import NodePort, Program
from neuromap.simulation.engine.noise import check_seed
from neuromap.simulation.engine.threads import thread_count
from neuromap.simulation.run.batch_run import BatchJob, Block, Chips, run_blocks
from neuromap.simulation.run.simulate import ticks_to_run
from neuromap.simulation.trace.recording import Recording

__all__ = ["Batch", "simulate_batch"]

_MAX_BYTES = 2**31
"""Memory that the recorded frames of a batch may take."""


@dataclass(frozen=True, eq=False)
class Batch(Card):
    """What was recorded of S stimuli through one program.

    Attributes
    ----------
    name, pattern, execution : str
        Labels of the program.
    nodes : tuple of NodePort
        The recorded nodes, by default the output nodes.
    period : int
        Frame period in ticks.
    n_frames : int
        Frames of each stimulus, including frame 0.
    n_ticks : int
        Ticks that were run for each, from tick 0.
    spikes_by_frame : ndarray of bool, shape (S, n_frames, K), or None
        The recorded nodes' frames side by side; None where only counts are kept.
    spike_counts : ndarray of int64, shape (S, K)
        Frames in which each neuron spiked.
    stray_counts : ndarray of int64, shape (S, number of nodes)
        Spikes that belong to no frame.
    """

    name: str
    pattern: str
    execution: str
    nodes: tuple[NodePort, ...]
    period: int
    n_frames: int
    n_ticks: int
    spikes_by_frame: NDArray[np.bool_] | None
    spike_counts: NDArray[np.int64]
    stray_counts: NDArray[np.int64]

    def __post_init__(self) -> None:
        freeze_arrays(self)

    def __len__(self) -> int:
        """Stimuli."""
        return len(self.spike_counts)

    def _facts(self) -> dict[str, object]:
        return {
            "network": self.name,
            "pattern": self.pattern,
            "execution": self.execution,
            "stimuli": len(self),
            "frames of each": self.n_frames,
            "ticks of each": self.n_ticks,
            **{f"spikes of {port.name}": int(self.counts(port.name).sum()) for port in self.nodes},
        }

    def frames(self, name: str) -> NDArray[np.bool_]:
        """Spikes of a node by frame, as :meth:`neuromap.simulation.trace.trace.Trace.frames` gives them.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of bool, shape (S, n_frames, size)
            Read-only.

        Raises
        ------
        InputError
            If the node was not recorded, or only counts are kept.
        """
        _, columns = self._columns(name)
        if self.spikes_by_frame is None:
            raise InputError(f'batch: frames of {name} were not kept, only counts; simulate with keep="frames"')
        return self.spikes_by_frame[:, :, columns]

    def counts(self, name: str) -> NDArray[np.int64]:
        """Spikes of every neuron of a node in all frames of a stimulus, from frame 1 on.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of int64, shape (S, size)
            Read-only.

        Raises
        ------
        InputError
            If the node was not recorded.
        """
        return self.spike_counts[:, self._columns(name)[1]]

    def strays(self, name: str) -> NDArray[np.int64]:
        """Count the spikes of a node that belong to no frame; outputs of a correct program have none.

        Parameters
        ----------
        name : str
            A recorded node.

        Returns
        -------
        ndarray of int64, shape (S,)
            Read-only.

        Raises
        ------
        InputError
            If the node was not recorded.
        """
        return self.stray_counts[:, self._columns(name)[0]]

    def save(self, path: str | Path) -> None:
        """Write frames or counts as safetensors, whole or not at all.

        Parameters
        ----------
        path : str or Path
            The file. Every node gives a tensor of its name, uint8 of shape (S, n_frames, size), or where only counts
            were kept int64 of shape (S, size). ``docs/simulation.md`` says what stands beside them.

        Raises
        ------
        InputError
            If the file cannot be written.
        """
        tensors: dict[str, NDArray[Any]] = {}
        for port in self.nodes:
            kept = self.counts(port.name) if self.spikes_by_frame is None else self.frames(port.name).astype(np.uint8)
            tensors[port.name] = np.ascontiguousarray(kept)
        labels = {
            "name": self.name,
            "pattern": self.pattern,
            "execution": self.execution,
            "nodes": [asdict(port) for port in self.nodes],
            "period": self.period,
            "n_frames": self.n_frames,
            "n_ticks": self.n_ticks,
            "strays": {port.name: self.strays(port.name).tolist() for port in self.nodes},
        }
        metadata = {"format": "neuromap batch", "version": "1", "batch": json.dumps(labels)}
        write_whole(path, save_tensors(tensors, metadata=metadata))

    def _columns(self, name: str) -> tuple[int, slice]:
        start = 0
        for position, port in enumerate(self.nodes):
            if port.name == name:
                return position, slice(start, start + port.size)
            start += port.size
        recorded = ", ".join(port.name for port in self.nodes)
        raise InputError(f"batch: node {name} was not recorded; recorded nodes are {recorded or 'none'}")


def simulate_batch(
    program: Program,
    stimuli: Mapping[str, ArrayLike] | Iterable[Mapping[str, ArrayLike]],
    *,
    engine: str = "fast",
    threads: int | None = None,
    noise_seed: int = 0,
    record: Recording | None = None,
    keep: str = "frames",
    progress: Callable[[int, int], object] | None = None,
) -> Batch:
    """Run many stimuli through a program, every one from the program's initial state.

    Stimulus s gives exactly what ``simulate(program, stimulus, noise_seed=noise_seed + s)`` gives, for every
    number of threads.

    Parameters
    ----------
    program : Program
        Mapped, or written by hand.
    stimuli : mapping of str to array_like, shape (S, n_frames, size), or iterable of such mappings
        Input frames for every input node, Boolean or 0 and 1. An iterable gives them in portions, of any number of
        stimuli each, that are taken when they are needed and let go when they are done.
    engine : {"fast", "numpy"}
        What runs the ticks; the result is the same.
    threads : int, optional
        Stimuli that run at the same time; by default one for every core of the machine that may be used.
    noise_seed : int
        Seed of the neurons' stochastic modes for the first stimulus; the others take the numbers that follow (after
        2**64 - 1 comes 0).
    record : Recording, optional
        Nodes whose frames are kept; by default the outputs. A batch keeps no cores, potentials or counts of all
        neurons.
    keep : {"frames", "counts"}
        Whether frames are kept, one byte per stimulus, frame and neuron, or only their sums over frames.
    progress : callable, optional
        Called as ``progress(stimuli done, stimuli known so far)``.

    Returns
    -------
    Batch
        Stimuli in the order given.

    Raises
    ------
    StimulusError
        If stimuli do not match the program's input nodes, differ in their number of frames, or there are none.
    InputError
        If there is no such engine or node, a number is out of range, the recording asks for more than nodes, or the
        frames would take more than 2 GiB.
    ProgramError
        If the program has no output node, or its tables point outside it.
    """
    n_threads = thread_count(threads)
    check_seed(noise_seed)
    if keep not in ("frames", "counts"):
        raise InputError(f"keep {keep!r}: must be 'frames' or 'counts'")
    job = BatchJob.of(program, Recording() if record is None else record, keep == "frames")
    chips = Chips(program, engine, noise_seed)
    portions = [stimuli] if isinstance(stimuli, Mapping) else stimuli

    found: list[Block] = []
    n_bytes = done = n_frames = 0
    for block, known, n_frames in run_blocks(job, chips, portions, n_threads):  # noqa: B007
        found.append(block)
        done += len(block.counts)
        n_bytes += 0 if block.frames is None else block.frames.nbytes
        if n_bytes > _MAX_BYTES:
            raise InputError(
                f"batch: frames of {done} stimuli take {n_bytes / 2**30:.1f} GiB; at most {_MAX_BYTES >> 30} are held "
                'in memory, give fewer stimuli at once or keep="counts"'
            )
        if progress is not None:
            progress(done, known)
    kept = [block.frames for block in found if block.frames is not None]
    return Batch(
        name=program.name,
        pattern=program.pattern,
        execution=program.execution,
        nodes=job.neurons.nodes,
        period=program.period,
        n_frames=n_frames,
        n_ticks=ticks_to_run(program, n_frames),
        spikes_by_frame=np.concatenate(kept) if kept else None,
        spike_counts=np.concatenate([block.counts for block in found]),
        stray_counts=np.concatenate([block.strays for block in found]),
    )

"""``ParallelStream``: a streaming rollout on several processes.

In a streaming rollout every node depends only on the previous frame (Fischer, Köhler, Pfeil 2018, section 3), so all
nodes can be computed in parallel. Shared memory holds two frames: processes read the previous one, write the current
one, synchronise, and swap the two.
"""

from __future__ import annotations

import math
import multiprocessing
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.synchronize import Event, Semaphore

import torch
from torch import Tensor

from neuromap.errors import InputError, NeuromapError
from neuromap.files.argument_checks import whole_number
from neuromap.network.network import Network
from neuromap.network.transforms import Conv, Dense
from neuromap.rollout.pattern import RolloutPattern
from neuromap.training.options.node_settings import fan_in
from neuromap.training.torch.rollout_model import RolloutModel

_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class _Phases:
    """Signals of a worker: begin a frame, the frame is done, the stream has ended."""

    begin: Semaphore
    end: Semaphore
    left: Event


def _room(shape: tuple[int, ...]) -> int:
    """Count the floats reserved for a node, rounded up so that nodes share no cache line."""
    return -(-math.prod(shape) // 16) * 16


def _frames(memory: Tensor, shapes: Mapping[str, tuple[int, ...]]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Return both frames, node by node, as views of the memory."""
    rooms = list(map(_room, shapes.values()))
    one, two = (
        {
            name: room[: math.prod(shape)].view(shape)
            for (name, shape), room in zip(shapes.items(), half.split(rooms), strict=True)
        }
        for half in memory
    )
    return one, two


class ParallelStream:
    """A streaming model whose nodes are distributed over processes; a context manager."""

    # Processes are spawned, so a script needs ``if __name__ == "__main__"``.

    def __init__(self, model: RolloutModel, batch: int, processes: int) -> None:
        for name, number in (("batch", batch), ("processes", processes)):
            if whole_number(name, number) < 1:
                raise InputError(f"{name} {number}: must be 1 or more")
        self._model = model
        self._shapes = {name: (batch, *(node.shape or ())) for name, node in model.network.nodes.items()}
        self._shares = node_shares(model.network, processes)

    @property
    def shares(self) -> tuple[tuple[str, ...], ...]:
        """Nodes of every process."""
        return self._shares

    def __enter__(self) -> ParallelStream:
        context = multiprocessing.get_context("spawn")
        memory = torch.zeros((2, sum(map(_room, self._shapes.values())))).share_memory_()
        self._last, self._next = _frames(memory, self._shapes)
        self._started = False
        self._phases = [_Phases(context.Semaphore(0), context.Semaphore(0), context.Event()) for _ in self._shares]
        model = self._model.eval()
        self._workers = [
            context.Process(target=_work, args=(model, share, memory, self._shapes, phases), daemon=True)
            for share, phases in zip(self._shares, self._phases, strict=True)
        ]
        for worker in self._workers:
            worker.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for phases in self._phases:
            phases.left.set()
            phases.begin.release()
        for worker in self._workers:
            worker.join()

    def step(self, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Compute the next frame."""
        # shapes: inputs (batch, rows, columns, features)
        if self._started:
            for phases in self._phases:
                phases.begin.release()
        for name in self._model.network.inputs:
            self._next[name].copy_(inputs[name])
        if self._started:
            self._wait_for_all()
        self._started = True
        self._last, self._next = self._next, self._last
        return {name: value.clone() for name, value in self._last.items()}

    def _wait_for_all(self) -> None:
        for worker, phases in zip(self._workers, self._phases, strict=True):
            while not phases.end.acquire(timeout=_LOOK_SECONDS):
                if worker.exitcode is not None:
                    raise NeuromapError(
                        f"parallel stream: one of {len(self._workers)} processes was ended, perhaps for want of "
                        "memory; use fewer processes or a smaller batch"
                    )


def _work(
    model: RolloutModel,
    share: tuple[str, ...],
    memory: Tensor,
    shapes: Mapping[str, tuple[int, ...]],
    phases: _Phases,
) -> None:
    """Worker loop: compute a share of the nodes frame after frame, until the stream ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted parent ends the stream and signals that
    torch.set_num_threads(1)
    now, last = _frames(memory, shapes)  # frame 0 is in the second
    pattern = RolloutPattern.streaming(model.network)
    with torch.no_grad():
        while _is_to_begin(phases):
            for name in share:
                now[name].copy_(model.compute(pattern, name, last, last))
            phases.end.release()
            last, now = now, last


def _is_to_begin(phases: _Phases) -> bool:
    """Wait for the next frame; false if the stream has ended or the parent process was killed."""
    parent = multiprocessing.parent_process()
    while not phases.begin.acquire(timeout=_LOOK_SECONDS):
        if parent is None or not parent.is_alive():
            return False
    return not phases.left.is_set()


# Distribution of nodes over processes: greedy, the most work first, to the least loaded process.


def multiply_accumulates(network: Network) -> dict[str, int]:
    """Count the multiply-accumulates per frame of each node; inputs are left out."""
    work = {name: 0 for name in network.nodes if name not in network.inputs}
    for edge in network.edges.values():
        inputs = fan_in(edge.transform) if isinstance(edge.transform, Conv | Dense) else 1
        work[edge.target] += network.nodes[edge.target].size * inputs
    return work


def node_shares(network: Network, processes: int) -> tuple[tuple[str, ...], ...]:
    """Distribute nodes over processes; processes without nodes are left out."""
    work = multiply_accumulates(network)
    shares: list[list[str]] = [[] for _ in range(processes)]
    loads = [0] * processes
    for name in sorted(work, key=lambda n: -work[n]):
        least = loads.index(min(loads))
        shares[least].append(name)
        loads[least] += work[name]
    return tuple(tuple(share) for share in shares if share)

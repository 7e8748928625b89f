"""Ranks as threads of one process: to try ranks, and test them, where there is no MPI."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["LocalExchange", "run_local"]

_T = TypeVar("_T")
Ints = NDArray[np.int64]


class LocalExchange:
    """One rank's end; see :class:`neuromap.simulation.mpi.rank_engine.Exchange`.

    Parameters
    ----------
    rank : int
        This rank.
    board : list
        A place for what each rank shows to all, shared by them.
    barrier : threading.Barrier
        Where they wait for each other.
    shares : bool
        Whether they have memory that all see.
    """

    def __init__(self, rank: int, board: list[Any], barrier: threading.Barrier, shares: bool = True) -> None:
        self.rank, self.size = rank, len(board)
        self._board, self._barrier, self._shares = board, barrier, shares
        self._messages: Sequence[NDArray[Any]] = ()

    def open(self, most_out: Ints, most_in: Ints, dtype: Any) -> None:
        """Nothing has to be opened."""

    def start(self, messages: Sequence[NDArray[Any]]) -> None:
        """Keep the parcels until the others ask for them."""
        self._messages = messages

    def finish(self) -> list[NDArray[Any]]:
        """Take the parcels of all ranks to this one."""
        return [messages[self.rank] for messages in self._shown(self._messages)]

    def memory(self, n_bytes: int) -> NDArray[np.uint8] | None:
        """Take memory of rank 0, full of rubbish."""
        words = np.full(n_bytes // 8 + 8, 0x5A5A5A5A, np.int64) if self.rank == 0 else np.zeros(0, np.int64)
        return self._shown(words)[0].view(np.uint8)[:n_bytes] if self._shares else None

    def share(self, array: Ints) -> list[Ints]:
        """Take the arrays of all ranks."""
        return self._shown(np.array(array, np.int64))

    def agree(self, value: float) -> float:
        """Take the value of rank 0."""
        return float(self._shown(value)[0])

    def gather(self, array: Ints) -> list[Ints]:
        """Take the arrays of all ranks, on rank 0."""
        arrays = self._shown(array)
        return arrays if self.rank == 0 else []

    def _shown(self, mine: Any) -> list[Any]:
        """Show something to all ranks and look at what they show."""
        self._board[self.rank] = mine
        self._barrier.wait()
        found = list(self._board)
        self._barrier.wait()  # nobody shows the next thing before all have looked
        return found


def run_local(n_ranks: int, work: Callable[[LocalExchange], _T], *, shares: bool = True) -> list[_T]:
    """Run a function once for every rank, in threads that wait for each other where ranks exchange.

    Parameters
    ----------
    n_ranks : int
        1 or more.
    work : callable
        Takes the rank's end of the exchange.
    shares : bool
        Whether the ranks have memory that all see, else they send messages.

    Returns
    -------
    list
        What it returned, rank by rank. Where one of them raises, all end and that is raised.
    """
    board: list[Any] = [None] * n_ranks
    barrier = threading.Barrier(n_ranks)

    def run(rank: int) -> _T:
        try:
            return work(LocalExchange(rank, board, barrier, shares))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(n_ranks) as pool:
        futures = [pool.submit(run, rank) for rank in range(n_ranks)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    for error in sorted(errors, key=lambda error: isinstance(error, threading.BrokenBarrierError)):
        raise error
    return [future.result() for future in futures]

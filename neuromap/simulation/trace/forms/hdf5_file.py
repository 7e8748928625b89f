"""Traces as HDF5 files, written chunk by chunk while they are made; ``sonata.py`` says what stands in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from neuromap.errors import InputError, NotSupportedError
from neuromap.files.unfinished import keep_names, keep_on_disk, sweep, unfinished_name
from neuromap.files.whole_file import check_target
from neuromap.simulation.trace.forms.checksum import RunDigest
from neuromap.simulation.trace.forms.file_digest import append_digest
from neuromap.simulation.trace.forms.file_layout import import_h5py
from neuromap.simulation.trace.forms.hdf5_stream import Hdf5Stream
from neuromap.simulation.trace.forms.labels import trace_text
from neuromap.simulation.trace.forms.sonata import append_chunk, start_file
from neuromap.simulation.trace.readout import Readout
from neuromap.simulation.trace.recorded_run import Chunk, RecordedRun
from neuromap.simulation.trace.trace import Trace

if TYPE_CHECKING:
    import h5py

__all__ = ["hdf5_writer", "save_hdf5"]


@contextmanager
def hdf5_writer(path: str | Path) -> Iterator[Callable[[RecordedRun], None]]:
    """Open a file beside ``path`` that takes its place when the block ends well, and is gone when it does not."""
    h5py = import_h5py()
    target = check_target(path)
    if target is None:
        raise InputError(f"{path}: is a device or pipe; HDF5 needs the name of a file")
    sweep(target.parent)
    temporary = target.with_name(unfinished_name())
    stream = None
    # A thread of its own calls HDF5: the next ticks run meanwhile, and an interrupt, which Python hands to the main
    # thread only, is not lost in one of the callbacks of h5py, where exceptions are ignored.
    executor = ThreadPoolExecutor(1, thread_name_prefix="neuromap-hdf5")
    try:
        with _named(path):
            stream = Hdf5Stream(temporary)
            file = executor.submit(h5py.File, stream, "w", rdcc_nbytes=2**26).result()
        try:
            yield lambda run: _write(executor, file, stream, path, run)
        finally:
            with _named(path, stream):
                executor.submit(file.close).result()
                stream.close()
        with _named(path):
            append_digest(temporary)
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o777)
            keep_on_disk([temporary])
            temporary.replace(target)
            keep_names([target.parent])
    finally:
        executor.shutdown()
        if stream is not None:
            stream.abandon()
        temporary.unlink(missing_ok=True)


def save_hdf5(trace: Trace, path: str | Path) -> None:
    """Write a trace that is in memory."""
    if trace.core is None or trace.neuron is None or trace.tick_seconds is None:
        raise NotSupportedError(
            f"{path}: a trace of version 1 lacks the places of its spikes, which HDF5 needs; simulate again"
        )
    places = np.stack([trace.node, trace.index, trace.core, trace.neuron], axis=1)
    rows, row = np.unique(places, axis=0, return_inverse=True)
    node, index, core, neuron = (np.ascontiguousarray(column) for column in rows.T)
    table = trace.potential_table
    potentials = np.zeros((trace.n_ticks, 0), np.int32) if table is None else table.values
    run = RecordedRun(
        header=trace,
        neurons=Readout(trace.nodes, core, neuron, node, index),
        potential_neurons=Readout.none() if table is None else table.neurons,
        counts=trace.counts,
        chunks=[Chunk(trace.tick, row.reshape(-1), potentials)],
        peak=int(np.abs(potentials.astype(np.int64)).max(initial=0)),
    )
    with hdf5_writer(path) as write:
        write(run)


@contextmanager
def _named(path: str | Path, stream: Hdf5Stream | None = None) -> Iterator[None]:
    """Turn what HDF5 says of a file, whose name is not that of the user, into one line on the user's."""
    try:
        yield
    except (KeyError, OSError, RuntimeError, ValueError) as found:
        error = found if stream is None or stream.error is None else stream.error  # what came first
        raise InputError(f"{path}: cannot be written ({getattr(error, 'strerror', None) or error})") from None


def _write(
    executor: ThreadPoolExecutor, file: h5py.File, stream: Hdf5Stream, path: str | Path, run: RecordedRun
) -> None:
    """Write a chunk while the next one is made."""
    labels = trace_text(run.header, run.potential_neurons.nodes)
    digest = RunDigest(labels, run)

    def append(chunk: Chunk) -> None:
        append_chunk(file, chunk, 1000 * (run.header.tick_seconds or 0))
        digest.add(chunk)

    ahead = executor.submit(start_file, file, run, labels)
    for chunk in run.chunks:
        with _named(path, stream):
            ahead.result()
            stream.check()
        ahead = executor.submit(append, chunk)
    with _named(path, stream):
        ahead.result()
        if run.counts is not None:
            executor.submit(file.create_dataset, "counts", data=run.counts).result()
        executor.submit(file.attrs.__setitem__, "checksum", digest.result(run.counts)).result()
        stream.check()

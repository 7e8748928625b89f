"""The machine of a bench: how it is described, and the streams that measure its memory."""

from dataclasses import replace

import numpy as np

from neuromap.bench.bench_report import Machine, Stream, this_machine

MACHINE = Machine("a CPU", 2, 2**34, 2**25, 0.0, "Linux", "3.11", "2.3", "0.68")


def test_this_machine_is_described():
    machine = this_machine()
    assert machine.cpu
    assert machine.cpus >= 1
    assert machine.python.startswith("3.")
    assert machine.numpy == np.__version__


def test_streams_are_larger_than_the_cache_but_leave_memory():
    assert Stream(replace(MACHINE, cache_bytes=2**27)).n_bytes == 2**29
    assert Stream(replace(MACHINE, cache_bytes=None)).n_bytes == 2**28
    small = Stream(replace(MACHINE, memory_bytes=2**26))
    assert small.n_bytes == 2**23
    for threads in (1, 3):
        found = small.measure(threads)
        assert found.best == max(found.read, found.update) > 0

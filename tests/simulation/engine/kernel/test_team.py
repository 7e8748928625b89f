"""Threads come together and go: interrupts, threads that cannot start, ranges of cores."""

import signal
import subprocess
import sys

import numpy as np
import pytest

from neuromap.simulation.engine.kernel.memory_layout import make_image
from neuromap.simulation.engine.kernel.team import make_team

# 200 busy cores of one group of lanes; 100 ticks of them are enough for threads.
COMMON = """
import threading
from dataclasses import replace
import numpy as np
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.bench.characterisation import characterisation_program
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.numpy_engine import NumpyEngine

chip = replace(load_chip("truenorth"), axons=32, neurons=32)
program = characterisation_program(200, chip=chip, synapses=16, rate_hz=100)
nothing = np.zeros((200, 32), bool)

def check(engine):
    oracle = NumpyEngine(program)
    engine.reset()
    engine.run(HostEvents.none(100), nothing)
    oracle.run(HostEvents.none(100))
    assert (engine.potentials == oracle.potentials).all()
    assert engine.totals == oracle.totals
"""
LONG = (
    COMMON
    + """
engine = FastEngine(program, threads=2)
engine.run(HostEvents.none(100), nothing)
try:
    print("running", flush=True)
    engine.run(HostEvents.none(10**8), nothing)
except KeyboardInterrupt:
    print("threads left:", threading.active_count() - 1)
check(engine)  # after a reset it is as good as new
print("same as ever")
"""
)


def test_an_interrupt_ends_a_run_and_its_threads():
    process = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "running\n", process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=100)  # 10**8 ticks take hours
    finally:
        process.kill()
    assert (out, err, process.returncode) == ("threads left: 0\nsame as ever\n", "", 0)


# Room for one more stack, not for two: of three threads the second cannot start.
NO_ROOM = (
    COMMON
    + """
import resource
stack = 1 << 30
engine = FastEngine(program, threads=3)
engine.run(HostEvents.none(100), nothing)
taken = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
threading.stack_size(stack)
resource.setrlimit(resource.RLIMIT_AS, (taken + stack * 3 // 2, resource.RLIM_INFINITY))
one = threading.Thread(target=print, args=("one can",))
one.start()
one.join()
try:
    engine.run(HostEvents.none(1000), nothing)
except RuntimeError as error:
    print(error)
print("threads left:", threading.active_count() - 1)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
threading.stack_size(0)
check(engine)
print("same as ever")
"""
)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs Linux's limit of the address space")
def test_a_thread_that_cannot_start_leaves_no_other_one_waiting():
    run = subprocess.run([sys.executable, "-c", NO_ROOM], capture_output=True, text=True, timeout=100)
    assert (run.stdout, run.stderr) == ("one can\ncan't start new thread\nthreads left: 0\nsame as ever\n", "")


@pytest.mark.parametrize("n_cores", [1, 64, 65, 200, 64 * 300])
@pytest.mark.parametrize("threads", [1, 2, 3, 7, 1000])
def test_every_core_has_one_thread_and_no_block_two(make_chip, make_program, n_cores, threads):
    program = make_program(make_chip(cores=(256, 256)), np.zeros((n_cores, 1, 1)))
    team = make_team(make_image(program), threads)
    blocks = -(-n_cores // 64)
    assert min(threads, blocks, 64) <= team.n_threads <= min(threads, blocks)
    assert (team.first[0], team.first[-1]) == (0, n_cores)
    assert (np.diff(team.first) > 0).all()
    assert (team.first[:-1] % 64 == 0).all()
    block_of = np.repeat(np.arange(team.n_threads), np.diff(team.first))[::64]
    assert team.owner.tolist() == block_of.tolist()

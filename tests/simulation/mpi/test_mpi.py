"""Real processes of MPI: equal traces, one line where something fails, nobody left behind."""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

import neuromap as nm

MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
pytestmark = pytest.mark.skipif(
    MPIEXEC is None or find_spec("mpi4py") is None,
    reason="needs mpi4py and mpiexec: pip install neuromap-rollouts[mpi]",
)
NEUROMAP = (sys.executable, "-m", "neuromap")


def mpiexec(n_ranks, *words, **given):
    return subprocess.Popen(
        [MPIEXEC, "-n", str(n_ranks), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True, **given,
    )  # fmt: skip


@pytest.fixture
def program(tmp_path, make_chip):
    """A network, and its program on a few small cores, which is in the file program.nmp too."""
    rng = np.random.default_rng(3)

    def sparse(rows, columns):
        return rng.integers(-1, 2, (rows, columns)) * (rng.random((rows, columns)) < 0.3)

    net = nm.build_network(
        {"I": (10, None), "H": (24, 1), "G": (24, 1), "O": (20, 1)},
        {("I", "H"): sparse(24, 10), ("H", "G"): sparse(24, 24), ("G", "O"): sparse(20, 24)},
    )
    mapped = nm.map_rollout(nm.Rollout(net, "streaming"), chip=make_chip(axons=64, neurons=32))
    mapped.save(tmp_path / "program.nmp")
    return net, mapped


def test_ranks_go_on_from_one_machine_and_tell_once(tmp_path, program, assert_same_trace):
    net, loaded = program
    frames = nm.random_frames(net, n_frames=30, seed=1)
    save_file({name: np.array(rows, np.uint8) for name, rows in frames.items()}, tmp_path / "frames")
    record, trace, checkpoint = nm.Recording("all", "core:0"), tmp_path / "trace", tmp_path / "checkpoint"
    whole = nm.simulate(loaded, frames, record=record, checkpoints=nm.simulation.Checkpoints(checkpoint, 20))
    words = ["--stimulus", tmp_path / "frames", "--record", "all", "--record-potentials", "core:0", "-o", trace]
    words += ["--engine", "mpi", "--resume", checkpoint, "--checkpoint", checkpoint, "--every", 8]
    ranks = mpiexec(2, *NEUROMAP, "simulate", tmp_path / "program.nmp", *words)
    out, err = ranks.communicate(timeout=120)
    assert (ranks.returncode, err) == (0, "")
    assert out.count("\nO: ") == 1  # rank 0 tells, the other one is silent
    assert_same_trace(nm.load_trace(trace), whole)
    later = nm.simulate(loaded, frames, record=record, checkpoints=nm.simulation.Checkpoints(resume=checkpoint))
    assert_same_trace(later, whole)


@pytest.mark.parametrize("who", [pytest.param("all", marks=pytest.mark.thorough), "one"])
@pytest.mark.usefixtures("program")
def test_what_fails_is_told_once_and_ends_all_ranks(tmp_path, who):
    """Rank 1 of the second run finds no file of its name, while rank 0 runs and waits for it."""
    shutil.copy(tmp_path / "program.nmp", tmp_path / "rank0")
    name = tmp_path / "nothing" if who == "all" else f"{tmp_path}/rank$PMI_RANK"
    command = f"{sys.executable} -m neuromap simulate {name} --engine mpi --frames 1000000"
    done = mpiexec(2, "sh", "-c", f"exec {command}")
    out, err = done.communicate(timeout=120)
    told = [line for line in err.splitlines() if line.startswith("neuromap simulate: ")]
    assert len(told) == 1
    assert "does not exist" in told[0]
    assert told[0].startswith("neuromap simulate: rank 1: ") == (who == "one")
    assert (done.returncode, out) == (2, "")
    assert "Traceback" not in err


def started(tmp_path, *words):
    """A run of two ranks that lasts, once they run: what was started, and the processes of the ranks."""
    checkpoint = tmp_path / "checkpoint"
    run = subprocess.Popen(
        [*NEUROMAP, "simulate", tmp_path / "program.nmp", "--ranks", "2", "--frames", "200000", "--seed", "4",
         "--checkpoint", checkpoint, "--every", "500", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not checkpoint.exists():
        assert run.poll() is None
        time.sleep(0.02)
    below = [run.pid]
    for process in below:
        below += map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
    return run, below[-2:]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the ranks in Linux's /proc")
def test_a_rank_that_is_killed_ends_the_others_and_the_run_goes_on(tmp_path, program, assert_same_trace):
    net, loaded = program
    run, victims = started(tmp_path)
    os.kill(victims[1], signal.SIGKILL)
    began = time.monotonic()
    out, err = run.communicate(timeout=60)
    assert (run.returncode, out) == (1, "")
    assert err.splitlines() == [line for line in err.splitlines() if "a rank was killed (signal 9)" in line]
    assert len(err.splitlines()) == 1
    assert time.monotonic() - began < 30
    assert not [pid for pid in victims if Path(f"/proc/{pid}").exists()]
    frames = nm.random_frames(net, n_frames=200000, seed=4)
    found = nm.simulate(loaded, frames, checkpoints=nm.simulation.Checkpoints(resume=tmp_path / "checkpoint"))
    assert_same_trace(found, nm.simulate(loaded, frames))


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="finds the ranks in Linux's /proc")
@pytest.mark.usefixtures("program")
def test_ranks_hear_an_interrupt_while_they_wait_for_one_that_stands_still(tmp_path):
    run, (_, stopped) = started(tmp_path)
    os.kill(stopped, signal.SIGSTOP)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=30)
    assert (run.returncode, out, err) == (130, "", "neuromap: interrupted\n")

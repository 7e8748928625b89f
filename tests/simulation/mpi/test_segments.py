"""Shared memory of runs that were killed is removed by the next run; what is used, or another's, stays."""

import mmap
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from neuromap.files.whole_file import unfinished_name
from neuromap.simulation.mpi import start_ranks
from neuromap.simulation.mpi.start_ranks import note_segments, sweep_segments

pytestmark = pytest.mark.skipif(
    not start_ranks.SHARED.is_dir() or not sys.platform.startswith("linux"), reason="no such memory here"
)
MPIEXEC = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """A place for segments that no other process looks at, on the disk of shared memory all the same."""
    folder = Path(f"/dev/shm/test-{os.getpid()}")
    folder.mkdir()
    monkeypatch.setattr(start_ranks, "SHARED", folder)
    yield folder
    shutil.rmtree(folder)


def noted(folder, *names):
    """A note of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    note = folder / unfinished_name().replace(f"-{os.getpid()}-", f"-{process.pid}-")
    note.write_text("".join(f"{(folder / name).stat().st_ino} {name}\n" for name in names))
    return note


def test_what_a_note_of_a_dead_process_names_is_removed(shared):
    for name in ("mpich_shm_1a_0", "mpich_shm_1a_1", "mpich_shm_2b_0", "mine"):
        (shared / name).write_bytes(b"1")
    noted(shared, "mpich_shm_1a_0", "mpich_shm_1a_1", "mine")
    sweep_segments()
    assert {path.name for path in shared.iterdir()} == {"mpich_shm_2b_0", "mine"}


def test_what_a_process_has_mapped_stays_and_is_removed_later(shared):
    path = shared / "mpich_shm_1a_0"
    path.write_bytes(bytes(4096))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        dead = noted(shared, path.name)
        note_segments()
        (own,) = {p for p in shared.iterdir() if p.name.startswith(".neuromap-")} - {dead}
        assert own.read_text() == dead.read_text()
        sweep_segments()
        assert path.exists()
        assert dead.exists()
    sweep_segments()
    assert {p.name for p in shared.iterdir()} == {own.name}  # the note of a process that lives


def test_a_segment_that_has_taken_the_name_since_stays(shared):
    path = shared / "mpich_shm_1a_0"
    path.write_bytes(b"1")
    dead = noted(shared, path.name)
    (shared / "new").write_bytes(b"2")
    (shared / "new").rename(path)
    dead.write_text(dead.read_text() + "x y z\n7 ../../etc/mpich_x\n\n")
    sweep_segments()
    assert [p.name for p in shared.iterdir()] == [path.name]


RANK = """
import os, time
from neuromap.simulation.mpi.start_ranks import MpiExchange
exchange = MpiExchange()
print(os.getpid(), flush=True)
time.sleep({})
"""


@pytest.mark.skipif(MPIEXEC is None, reason="needs mpiexec: pip install neuromap-rollouts[mpi]")
def test_the_next_run_removes_what_a_killed_one_left():
    pytest.importorskip("mpi4py")
    run = subprocess.Popen([MPIEXEC, "-n", "1", sys.executable, "-c", RANK.format(60)], stdout=subprocess.PIPE)
    process = int(run.stdout.readline())
    (note,) = Path("/dev/shm").glob(f".neuromap-*-{process}-*")
    left = [note.with_name(line.split(" ")[1]) for line in note.read_text().splitlines()]
    assert left
    run.kill()
    run.wait()
    until = time.monotonic() + 20
    while Path(f"/proc/{process}").exists() and time.monotonic() < until:
        time.sleep(0.1)
    subprocess.run([MPIEXEC, "-n", "1", sys.executable, "-c", RANK.format(0)], stdout=subprocess.DEVNULL, check=True)
    assert not any(path.exists() for path in (note, *left))

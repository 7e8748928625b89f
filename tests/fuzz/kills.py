"""Kill every command that can be resumed, at any write; run it again: what it leaves is what a whole run leaves.

    python tests/fuzz/kills.py                     100 kills and 100 power cuts of every command
    python tests/fuzz/kills.py sweep --kills 20    of one
    python tests/fuzz/kills.py --json FILE         counts as JSON too

A run is a process, forked off this one, that counts its calls of functions that change files (written in C or by the
system: write, fsync, replace, commit and so on) and kills itself, and the processes it started, before the n-th. Half
of the kills come at these places, half at random moments. A power cut is a kill after which the folder is what a file
system may keep: of every file what was synced last, under the newest names or under those that were synced (`data`,
`names`). SQLite syncs by itself and is left as it is.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from safetensors import safe_open

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]
CHANGES = {"write", "writelines", "flush", "fsync", "replace", "rename", "unlink", "truncate", "mkdir", "rmdir"} | {
    "open", "close", "execute", "executemany", "executescript", "commit", "savez", "create_dataset",
}  # fmt: skip
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # where numbers of inodes are never used again


@dataclass(frozen=True)
class Command:
    """A command that can be resumed: its words, those that go on, and what it leaves."""

    words: str
    leaves: tuple[str, ...]
    whole: tuple[str, ...] = ()  # files that are there whole or not at all
    resume: str = ""  # further words of the next run, where this file is there: "FILE words"


SEARCHED = tuple(
    f"f/{name}.{end}" for name in ("streaming", "sequential", "class-3", "class-4") for end in ("toml", "safetensors")
)
"""Networks that a search may leave, one for each behaviour class."""
COMMANDS = {
    "map": Command("map net.toml -o p.nmp", ("p.nmp",), ("p.nmp",)),
    "simulate": Command(
        "simulate given.nmp --frames 300 --seed 3 --record all --checkpoint c --every 60 -o t",
        ("t",), ("t",), "c --resume c",
    ),
    "hdf5": Command(
        "simulate given.nmp --frames 300 --seed 3 --record all --checkpoint c --every 60 -o t.h5",
        ("t.h5",), ("t.h5",), "c --resume c",
    ),
    "train": Command(
        "train real.toml --epochs 3 --limit 40 --frames 3 --threads 1 --checkpoint c.safetensors --csv e.csv",
        ("c.safetensors",),
    ),
    "train for": Command(
        "train untrained.toml --for truenorth --epochs 3 --limit 40 --threads 1 --checkpoint c.safetensors -o n.toml",
        ("n.toml", "n.safetensors"), (),
    ),
    "experiment": Command(
        "experiment experiment.toml --epochs 2 --limit 40 --folder f --save r.json",
        ("r.json",), ("r.json",),
    ),
    "search": Command(
        "search skip.toml --data npz:bars.npz --epochs 4 --batch 16 --deadline 3ms -o f",
        ("f/search.json", "f/rows.sqlite", *SEARCHED),
        ("f/search.json",),
    ),
    "sweep": Command("sweep sweep.toml -o s.sqlite --processes 1", ("s.sqlite",)),
    "explore": Command("explore net.toml --store s.sqlite --json-file e.json", ("s.sqlite", "e.json"), ("e.json",)),
    "faults": Command(
        "faults net.toml --kind flipped-synapses,silent-neurons --rates 0,0.1 --seeds 2"
        " --results r --json-file f.json",
        ("f.json",), ("f.json",),
    ),
}  # fmt: skip


def prepare(folder: Path) -> None:
    """Write the files that the commands read."""
    draw = np.random.default_rng(1)
    sizes = {"I": 8, "H": 6, "O": 3}
    edges = {
        (a, b): draw.integers(-2, 4, (sizes[b], sizes[a])) for a, b in (("I", "H"), ("H", "O"), ("I", "O"), ("H", "H"))
    }
    nodes = {name: ((1, 1, size), None if name == "I" else 2) for name, size in sizes.items()}
    net = nm.build_network(nodes, edges, name="killed", outputs=["O"])
    net.save(folder / "net.toml")
    nm.map_rollout(nm.Rollout(net, "streaming")).save(folder / "given.nmp")
    (folder / "sweep.toml").write_text(
        'format = 1\ntitle = "killed"\nnetworks = ["net.toml"]\npatterns = ["streaming", "sequential"]\n'
        'executions = ["windowed", "pipelined"]\n[stimulus]\nframes = 4\n'
    )
    real = ROOT / "examples" / "digits" / "real"
    shutil.copy(real / "sr.toml", folder / "real.toml")
    shutil.copy(ROOT / "examples" / "digits" / "for_chip" / "untrained.toml", folder)
    labels = draw.integers(3, size=90)
    bars = draw.integers(0, 110, (90, 4, 4, 1)).astype(np.uint8)
    bars[np.arange(90), labels] += 100
    np.savez(folder / "bars.npz", images=bars, labels=labels)
    (folder / "skip.toml").write_text(
        'format = 1\nname = "skip"\n[nodes.I]\nshape = [4, 4, 1]\n[nodes.H]\nshape = [1, 1, 8]\n'
        "[nodes.G]\nshape = [1, 1, 6]\n[nodes.O]\nshape = [3, 1, 2]\n"
        + "".join(f'[edges."{e}"]\ntransform = "dense"\n' for e in ("I -> H", "H -> G", "G -> O", "H -> O"))
    )
    (folder / "experiment.toml").write_text(
        'format = 1\ntitle = "killed"\ndata = "digits"\nrepetitions = 2\n'
        "[training]\nepochs = 2\nbatch = 20\nframes = 3\n"
        '[[curves]]\nnetwork = "real.toml"\npattern = "streaming"\n'
        '[[curves]]\nnetwork = "real.toml"\npattern = "sequential"\n'
    )


def words_of(command: Command, folder: Path) -> list[str]:
    """Give the words of the next run in the folder."""
    file, _, further = command.resume.partition(" ")
    return (command.words + (f" {further}" if file and (folder / file).exists() else "")).split()


def run(
    words: list[str], folder: Path, *, at: int | None = None, after: float | None = None, synced: Path | None = None
):
    """Run a command in a process of its own; give its exit code, or None where it was killed, and its changes.

    It is killed before change number ``at``, or ``after`` so many seconds. What it syncs is copied to ``synced``.
    """
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(read)
            _be(words, folder, at, synced, write)
        finally:
            os._exit(70)
    os.close(write)
    timer = threading.Timer(after, os.killpg, (child, signal.SIGKILL)) if after is not None else None
    while True:  # until the child has a group of its own
        try:
            if os.getpgid(child) == child:
                break
        except ProcessLookupError:
            break
        time.sleep(0.0005)
    if timer:
        timer.start()
    with os.fdopen(read, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if timer:
        timer.cancel()
    changes = int(told.split()[-1]) if told else 0
    return (None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)), changes


def _be(words: list[str], folder: Path, at: int | None, synced: Path | None, write: int) -> None:
    os.setpgid(0, 0)
    os.chdir(folder)
    nothing = os.open(os.devnull, os.O_RDWR)
    errors = os.open("errors.log", os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    for stream, target in ((0, nothing), (1, nothing), (2, errors)):
        os.dup2(target, stream)
    if synced is not None:
        _copy_what_is_synced(synced)
    count = 0

    def hook(frame, event, called):
        nonlocal count
        if event == "c_call" and called.__name__ in CHANGES:
            count += 1
            if count == at:
                os.killpg(0, signal.SIGKILL)

    from neuromap.cli.main import main

    sys.argv = ["neuromap", *words]
    threading.setprofile(hook)
    sys.setprofile(hook)
    try:
        code = main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(bool(ended.code))
    sys.setprofile(None)
    os.write(write, f" {count}".encode())
    os._exit(code or 0)


def _copy_what_is_synced(synced: Path) -> None:
    """Keep, after every fsync, what it wrote: bytes of a file by its inode, names of a folder with their inodes."""
    really = os.fsync

    def fsync(handle):
        number = handle if isinstance(handle, int) else handle.fileno()
        really(number)
        path = Path(f"/proc/self/fd/{number}").readlink()
        if path.is_dir():
            names = {p.name: p.stat().st_ino for p in path.iterdir() if p.is_file()}
            _put(synced / f"names {path.stat().st_ino}", json.dumps(names).encode())
        elif path.is_file():
            _put(synced / f"data {os.fstat(number).st_ino}", path.read_bytes())

    os.fsync = fsync


def _put(path: Path, data: bytes) -> None:
    temporary = path.with_suffix(".new")
    temporary.write_bytes(data)
    temporary.replace(path)


def snapshot(folder: Path, synced: Path) -> None:
    """Take all that is there as synced."""
    for place in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        files = [p for p in place.iterdir() if p.is_file()]
        _put(synced / f"names {place.stat().st_ino}", json.dumps({p.name: p.stat().st_ino for p in files}).encode())
        for path in files:
            _put(synced / f"data {path.stat().st_ino}", path.read_bytes())


def cut_power(folder: Path, synced: Path, keeps: str) -> None:
    """Leave what a file system may keep: of files what was synced, under the newest names or under those synced."""
    for place in (folder, *(p for p in folder.rglob("*") if p.is_dir())):
        names = {p.name: p.stat().st_ino for p in place.iterdir() if p.is_file()}
        known = synced / f"names {place.stat().st_ino}"
        kept = names
        if keeps == "names":
            kept = json.loads(known.read_text()) if known.exists() else {}
            kept |= {name: inode for name, inode in names.items() if ".sqlite" in name}
        content = {}
        for name, inode in kept.items():
            data = synced / f"data {inode}"
            if ".sqlite" in name:
                content[name] = (place / name).read_bytes() if name in names else None
            else:
                content[name] = data.read_bytes() if data.exists() else b""
        for name in names:
            if ".sqlite" not in name:
                (place / name).unlink()
        for name, data in content.items():
            if ".sqlite" not in name:
                (place / name).write_bytes(data)


def content(path: Path) -> object:
    """Give what a file says: bytes, rows of a store, or a JSON document without the time it took."""
    if not path.exists():
        return None
    if path.suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as store:
            return store.execute("SELECT * FROM runs ORDER BY place").fetchall()
    if path.suffix == ".json":
        return without_times(json.loads(path.read_text()))
    if path.name == "c.safetensors":  # a checkpoint, which says how long its epochs took
        with safe_open(path, "numpy") as file:
            told = file.metadata()
            tensors = {name: file.get_tensor(name).tobytes() for name in file.keys()}  # noqa: SIM118
        return without_times(json.loads(told["about"])), tensors
    return path.read_bytes()


def without_times(value: object) -> object:
    """Leave out how long something took."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in {"cpu_seconds", "elapsed_seconds", "seconds"}}
    return [without_times(one) for one in value] if isinstance(value, list) else value


@dataclass
class Found:
    """What became of a command's kills."""

    command: str
    changes: int
    kills: int = 0
    cuts: int = 0
    faults: tuple[str, ...] = ()


def attack(name: str, kills: int, cuts: int, seed: int = 0, tell: Callable[[str], object] = print) -> Found:
    """Kill a command so many times, and cut its power so many times."""
    command = COMMANDS[name]
    draw = random.Random(f"{name} {seed}")
    with tempfile.TemporaryDirectory(dir=_IN_MEMORY) as base:
        given = Path(base) / "given"
        given.mkdir()
        prepare(given)
        place = Path(base) / "place"

        def fresh() -> Path:
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(given, place)
            return place

        began = time.monotonic()
        code, changes = run(words_of(command, fresh()), place)
        took = time.monotonic() - began
        if code:
            raise RuntimeError(f"{name}: exit code {code}: {(place / 'errors.log').read_text()}")
        expected = {file: content(place / file) for file in command.leaves}
        whole = {file: content(place / file) for file in command.whole}
        found = Found(name, changes)
        at_places = [1 + k * changes // max(kills // 2, 1) for k in range(kills // 2)]
        plans = [("kill", at, None) for at in at_places]
        plans += [("kill", None, draw.uniform(0, 1.1 * took)) for _ in range(kills - len(plans))]
        plans += [(draw.choice(["data", "names"]), draw.randint(1, changes), None) for _ in range(cuts)]
        for kind, at, after in plans:
            where = f"{kind} at {at if after is None else f'{after:.3f} s'}"
            folder, synced = fresh(), Path(base) / "synced"
            if kind != "kill":
                shutil.rmtree(synced, ignore_errors=True)
                synced.mkdir()
                snapshot(folder, synced)
            run(words_of(command, folder), folder, at=at, after=after, synced=None if kind == "kill" else synced)
            if kind != "kill":
                cut_power(folder, synced, kind)
            for file, right in whole.items():
                if content(folder / file) not in (None, right):
                    found.faults += (f"{where}: {file} is there and not whole",)
            code, _ = run(words_of(command, folder), folder)
            if code:
                found.faults += (f"{where}: exit code {code}: {(folder / 'errors.log').read_text().strip()[-300:]}",)
            else:
                for file, right in expected.items():
                    if content(folder / file) != right:
                        found.faults += (f"{where}: {file} differs",)
                left = [p.name for p in folder.iterdir() if p.name.startswith(".neuromap")]
                if left:
                    found.faults += (f"{where}: left {left}",)
            found.kills += kind == "kill"
            found.cuts += kind != "kill"
        tell(f"{name}: {changes} changes, {found.kills} kills, {found.cuts} power cuts, {len(found.faults)} faults")
        for fault in found.faults:
            tell(f"  {fault}")
    return found


@cache
def preload() -> None:
    """Import what the commands need, once, before anything is forked."""
    import h5py  # noqa: F401
    import torch

    import neuromap.cli.main  # noqa: F401

    torch.set_num_threads(1)


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python tests/fuzz/kills.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("commands", nargs="*", help=f"of {', '.join(COMMANDS)}; all where none is given")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--cuts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    preload()
    found = [attack(name, asked.kills, asked.cuts, asked.seed) for name in asked.commands or COMMANDS]
    if asked.json:
        asked.json.write_text(json.dumps([vars(one) for one in found], indent=1) + "\n")
    return int(any(one.faults for one in found))


if __name__ == "__main__":
    sys.exit(main())

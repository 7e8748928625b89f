"""Coverage-guided fuzzing: mutants that reach new code are kept and changed further (libFuzzer, by atheris).

    python tests/fuzz/guided.py READER... --seconds 60     names or their beginnings; all where none is given
    python tests/fuzz/guided.py --json FILE                adds up there what each has read since its last fault

Half of the mutations are libFuzzer's, half those of ``mutate.py``, which know the form of a file. What a reader may do
is as in ``harness.py``. A mutant that breaks it is put into the corpus and ends the run of its reader. Readers that
start processes are left out: what runs there is not followed.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parents[1] / "neuromap"
IN_CHILDREN = ("nir", "trace-hdf5", "trace-by-h5py", "shd-hdf5", "onnx", "onnx-by-its-reference")
_TAKES_SECONDS = 10
_MIB = 4096


def be(name, seconds, place):
    """Fuzz a reader in this process; never comes back."""
    import atheris

    compiled = [
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
        for path in PACKAGE.rglob("*.py")
        if "numba" in path.read_text(encoding="utf-8")  # what Numba compiles must not call anything
    ]
    with atheris.instrument_imports(include=["neuromap"], exclude=compiled):
        import harness
        import mutate
        from readers import READERS

        harness.preload(*READERS[name].needs, *READERS[name].loads)
    harness._hurry()
    from neuromap.errors import NeuromapError

    reader, folder = READERS[name], Path(place)
    harness._unpack_kit(name, folder)
    harness._make_seeds(name, folder)
    seeds = [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]
    for kept in harness._kept(name):
        (folder / "seeds" / f"kept-{kept.name}").write_bytes(kept.read_bytes())
    os.chdir(folder / "place")
    context = reader.context(folder / "place") if reader.context else None
    path = folder / "place" / reader.file
    path.write_bytes(seeds[0])
    reader.read(path, context)

    def one(data):
        path.write_bytes(data)
        try:
            reader.read(path, context)
        except NeuromapError as error:
            told = str(error)
            if not told or len(told.splitlines()) > 1 or not harness._can_be_printed(told):
                raise AssertionError(f"message: {told!r}") from None

    def mutated(data, most, seed):
        draw = Random(seed)
        if draw.random() < 0.5:
            return atheris.Mutate(data, most)
        try:
            made = mutate.mutant([data], name, seed, 1, form=reader.form, seal=reader.seal)
        except Exception:  # the libraries that take the form apart are not what is tested
            made = atheris.Mutate(data, most)
        return made[:most]

    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    flags = [
        f"-max_total_time={seconds}",
        f"-timeout={_TAKES_SECONDS}",
        f"-rss_limit_mb={_MIB}",
        "-print_final_stats=1",
    ]
    flags += ["-max_len=65536", f"-artifact_prefix={folder}/fault-", f"{folder}/seeds"]
    atheris.Setup([sys.argv[0], *flags], one, custom_mutator=mutated)
    atheris.Fuzz()


def fuzz(name, seconds):
    """Fuzz a reader in a process of its own; give what it read and found, and how much of the code it reached."""
    import harness

    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as place:
        words = [sys.executable, __file__, name, "--seconds", str(seconds), "--in", place]
        ended = subprocess.run(words, stderr=subprocess.PIPE, text=True, errors="replace", cwd=HERE.parents[1])
        count = re.findall(r"stat::number_of_executed_units: (\d+)", ended.stderr)
        covered = re.findall(r"cov: (\d+)", ended.stderr)
        faults = []
        for path in sorted(Path(place).glob("fault-*")):
            kept = HERE / "corpus" / name / sha256(path.read_bytes()).hexdigest()[:12]
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(path.read_bytes())
            faults.append(f"{path.name[6:].partition('-')[0]} -> {kept.relative_to(HERE)}")
        if ended.returncode and not faults:
            faults.append(f"exit code {ended.returncode}: {ended.stderr.strip()[-400:]}")
        told = ended.stderr.partition("=== Uncaught Python exception: ===")[2].strip()[:300]
    covered = f", {covered[-1]} places covered" if covered else ""
    outcome = harness.Outcome(name, int(count[-1]) if count else 0)
    outcome.faults = [f"{fault} {told}".strip() for fault in faults]
    return outcome, covered


def main():
    parser = argparse.ArgumentParser(prog="python tests/fuzz/guided.py", description=__doc__.partition("\n")[0])
    parser.add_argument("readers", nargs="*", help="names or their beginnings; all where none is given")
    parser.add_argument("--seconds", type=int, default=60, help="of each reader")
    parser.add_argument("--json", type=Path, help="add the counts to those in this file")
    parser.add_argument("--in", dest="place", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.place:
        return be(asked.readers[0], asked.seconds, asked.place)
    import harness
    from readers import READERS

    faults = 0
    for name in READERS:
        if name in IN_CHILDREN or (asked.readers and not name.startswith(tuple(asked.readers))):
            continue
        found, covered = fuzz(name, asked.seconds)
        print(f"{name}: {found.read} inputs{covered}", flush=True)
        for fault in found.faults:
            print(f"  {fault}", flush=True)
        faults += len(found.faults)
        if asked.json:
            harness.count_up(asked.json, found)
    print(f"{faults} faults")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())

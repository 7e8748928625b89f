"""Mutation fuzzing of all that reads files and messages.

A reader (``readers.py``) has seeds, which the package makes itself, and a function that reads a file. Mutants of the
seeds (``mutate.py``) are numbered: reader, seed and number give the same bytes everywhere. Of every mutant the reader
must either make something or raise an error of the tree of ``neuromap.errors`` in one line; the seeds must be taken.

Readers run in worker processes, forked off this one, which itself never reads a mutant and starts no thread. A worker
writes down what it begins before it begins it, so that whatever ends it is known by the mutant that did. It may take 1
GiB more than it has before the first mutant, and 10 s of processor time for each (of all its children, too) or 60 s in
all: a busy machine is no hang. Another worker goes on behind the mutant that ended one.

What is found is told by its kind and place; the first mutant of each is kept in ``corpus/READER/HASH``, or, where that
would be large, as a line ``SEED NUMBER`` in ``corpus/READER/numbers``. What is in the corpus is read first.
"""

import faulthandler
import importlib.util
import json
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from pathlib import Path

import mutate
from faulty import FAULTY
from one_reader import graded_program, limit_memory, list_program, program
from readers import PRELOADED, READERS

from neuromap.errors import NeuromapError
from neuromap.files.confined import confined
from neuromap.formats import nir
from neuromap.formats.pytorch import module_graph

CORPUS = Path(__file__).parent / "corpus"
SECONDS, WALL_SECONDS, PREPARING_SECONDS = 10.0, 60.0, 400.0
MOST_KEPT_BYTES = 2**16
_IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""Where mutants are written: stores wait for the disk after every one."""
EACH_WORKER = 2_000
"""Mutants of one worker: what it leaks does not add up for ever."""
CHILDREN_COST = 10
"""A reader that starts processes gets so many times fewer mutants."""

NIR_SECONDS = 1.0
"""What reading a NIR file may take, 5 s elsewhere: HDF5 goes round for ever in one mutant of 250."""
TORCH_SECONDS = 5.0
"""What reading a PyTorch program may take, 60 s elsewhere, which is what a large one needs."""


@dataclass(frozen=True)
class Fault:
    """What must not happen, and the mutant that made it happen: a name in the corpus, or a seed and number."""

    reader: str
    case: str
    kind: str
    where: str = ""
    told: str = ""

    def __str__(self):
        return f"{self.reader} {self.case}: {self.kind} {self.where} {self.told}".rstrip()


@dataclass
class Outcome:
    """What became of a run over one reader."""

    reader: str
    read: int = 0
    taken: int = 0
    unmade: int = 0
    starts_children: bool = False
    seconds: float = 0.0
    processor_seconds: float = 0.0
    slowest: float = 0.0
    faults: list[Fault] = field(default_factory=list)


def _reader(name):
    return FAULTY[name] if name in FAULTY else READERS[name]


def missing(name):
    """Say which library that a reader needs is not installed; empty where none is."""
    return next((m for m in _reader(name).needs if importlib.util.find_spec(m) is None), "")


def fuzz(name, count, *, seed=0, start=0, seconds=None, corpus=True, most_faults=25, hang=SECONDS):
    """Read the corpus and then mutants of one reader.

    ``count`` mutants from number ``start`` on, a tenth of them where the reader starts processes, or as many as
    ``seconds`` last; ``hang`` is the processor time of each.
    """
    if name not in FAULTY:
        preload(*_reader(name).needs, *_reader(name).loads)
    outcome, began, used = Outcome(name), time.monotonic(), _children_seconds()
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_IN_MEMORY) as place:
        folder = Path(place)
        _unpack_kit(name, folder)
        ended = _forked(lambda _: _make_seeds(name, folder), lambda line: None)
        if ended:
            outcome.faults.append(Fault(name, "seeds", f"cannot be made: {ended}"))
            return outcome
        seeds = [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]
        cases = [(f"corpus/{path.name}", path) for path in _kept(name)] if corpus else []
        cases += [(f"{s}/{n}", (s, n)) for s, n in _kept_numbers(name)] if corpus else []
        cases += [(f"{seed}/{n}", (seed, n)) for n in range(len(seeds))]
        later = iter(range(max(start, len(seeds)), start + count))
        many = EACH_WORKER if seconds is None else 50
        cases += [(f"{seed}/{n}", (seed, n)) for _, n in zip(range(many), later, strict=False)]
        seen = set()
        while cases and len(outcome.faults) < most_faults:
            done = _run_worker(name, seeds, folder, cases, outcome, seen, hang)
            cases = cases[done:]
            if not cases and (seconds is None or time.monotonic() - began < seconds):
                limit = start + count // (CHILDREN_COST if outcome.starts_children else 1)
                cases = [(f"{seed}/{n}", (seed, n)) for _, n in zip(range(many), later, strict=False) if n < limit]
    outcome.seconds, outcome.processor_seconds = time.monotonic() - began, _children_seconds() - used
    return outcome


def count_up(path, outcome):
    """Add what a reader read to the counts of a file: its inputs since a fault was found in it last."""
    every = json.loads(path.read_text()) if path.exists() else {}
    before = every.get(outcome.reader, 0)
    every[outcome.reader] = 0 if outcome.faults else before + outcome.read
    path.write_text(json.dumps(dict(sorted(every.items())), indent=1) + "\n")


def _children_seconds():
    times = os.times()
    return times.children_user + times.children_system


def preload(*more):
    """Import once what workers need; what an extra brings may be missing."""
    for module in (*PRELOADED, *more):
        with suppress(ImportError):
            importlib.import_module(module)
    _load_kernels()


@cache
def _load_kernels():
    """Map what most seeds are made of, and load its kernels: every worker would do it again."""
    from neuromap.simulation.engine.engine import HostEvents, make_engine
    from neuromap.simulation.engine.engine_choice import EngineChoice

    for made in (program(), list_program(), graded_program()):
        make_engine(made, EngineChoice("fast", 1)).run(HostEvents.none(1))


@cache
def _kit(make):
    """Files that several readers have beside their mutant, made once."""
    kit = tempfile.TemporaryDirectory(prefix="fuzz-kit-", dir=_IN_MEMORY)
    _forked(lambda _: make(Path(kit.name)), lambda line: None)
    return kit


def _unpack_kit(name, folder):
    if (make := _reader(name).kit) is not None:
        shutil.copytree(_kit(make).name, folder / "place")


def _kept(name):
    folder = CORPUS / name
    return sorted(p for p in folder.iterdir() if p.name != "numbers") if folder.is_dir() else []


def _kept_numbers(name):
    path = CORPUS / name / "numbers"
    lines = path.read_text().splitlines() if path.exists() else []
    return [tuple(map(int, line.split()[:2])) for line in lines if line.strip()]


# -------------------------------------------------------------------------------------------------------------- workers


def _make_seeds(name, folder):
    """Make the seeds of a reader and what lies beside them; the same bytes in every process."""
    (folder / "seeds").mkdir()
    reader = _reader(name)
    if reader.kit is None:
        (folder / "place").mkdir()
    random.seed(0)
    for k, data in enumerate(reader.make(folder / "place")):
        (folder / "seeds" / f"{k:03}").write_bytes(data)


def _run_worker(name, seeds, folder, cases, outcome, seen, hang):
    """Run a worker over cases; give how many are done, the one that ended it included."""
    at, phase, since = -1, "", time.monotonic()

    def told(line):
        nonlocal at, phase, since
        phase, _, rest = line.partition(" ")
        now = time.monotonic()
        if phase == "make":
            at, since = at + 1, now
        elif phase == "read":
            outcome.read += 1
            since = now
        elif phase == "unmade":
            outcome.unmade += 1
        elif phase == "taken":
            outcome.taken += 1
        elif phase == "children":
            outcome.starts_children = True
        elif phase == "fault":
            report(Fault(name, cases[at][0], **json.loads(rest)))
        if phase in ("taken", "refused"):
            outcome.slowest = max(outcome.slowest, now - since)

    def report(fault):
        key = (fault.kind, fault.where)
        if key in seen:
            return
        seen.add(key)
        outcome.faults.append(fault)

    ended = _forked(lambda pipe: _work(name, seeds, folder, cases, pipe), told, hang)
    if not ended:
        return len(cases)
    if at < 0:
        report(Fault(name, "worker", f"does not begin: {ended}"))
        return len(cases)
    if phase == "make":  # the library that makes mutants fell, not the reader
        outcome.unmade += 1
    else:
        report(Fault(name, cases[at][0], ended))
    return at + 1


def _forked(work, told, hang=SECONDS):
    """Do work in a forked process; give how it ended, empty where well. ``told`` hears every line that it writes.

    It is watched from its first line on: before, it may have to compile and import.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setsid()
            faulthandler.disable()
            os.close(reading)
            quiet = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2) if not os.environ.get("FUZZ_LOUD") else (0,):
                os.dup2(quiet, stream)
            work(writing)
            code = 0
        except BaseException:
            told_of = traceback.format_exc().strip().splitlines()
            os.write(writing, f"\nerror {' | '.join(told_of[-3:])[:800]}\n".encode())
        finally:
            os._exit(code)
    os.close(writing)
    rest, error, last, killed = b"", "", time.monotonic(), ""
    burnt, watched = None, False
    while True:
        ready, _, _ = select.select([reading], [], [], 0.5)
        if ready:
            part = os.read(reading, 2**16)
            if not part:
                break
            *lines, rest = (rest + part).split(b"\n")
            for line in filter(None, lines):
                text = line.decode(errors="replace")
                error = text[6:] if text.startswith("error ") else error
                told(text)
            last, burnt, watched = time.monotonic(), None, True
            continue
        idle = time.monotonic() - last
        spent = _processor_seconds(pid)
        burnt = spent if burnt is None else burnt
        if idle > PREPARING_SECONDS or (watched and (spent - burnt > hang or idle > WALL_SECONDS)):
            killed = "hang"
            break
    os.close(reading)
    _end(pid)
    status = os.waitpid(pid, 0)[1]
    if killed:
        return killed
    if os.WIFSIGNALED(status):
        return f"crash (signal {os.WTERMSIG(status)})"
    return error or ("" if os.WEXITSTATUS(status) == 0 else f"exit {os.WEXITSTATUS(status)}")


def _end(pid):
    """End a worker that is still there, and what it has started; it leads a session of its own."""
    for end in (os.killpg, os.kill):
        with suppress(ProcessLookupError, PermissionError):
            end(pid, signal.SIGKILL)


def _processor_seconds(session):
    """Processor time of all processes of a session."""
    ticks = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _hurry():
    """Keep the child that reads foreign files for a worker, or most of its time would go into starting Python and HDF5.

    What is set here is set in the worker alone: tests of other things run in the process that it is forked off.
    """
    confined.__kwdefaults__["keep"] = True
    sys.modules[confined.__module__]._MOST_ANSWERS = EACH_WORKER
    nir._SECONDS = NIR_SECONDS
    module_graph._SECONDS = TORCH_SECONDS


def _work(name, seeds, folder, cases, pipe):
    """Be a worker."""
    _hurry()
    reader = _reader(name)
    say = lambda line: os.write(pipe, (line + "\n").encode())  # noqa: E731
    place = folder / "place"
    os.chdir(place)
    context = reader.context(place) if reader.context else None
    path = place / reader.file
    started = []
    sys.addaudithook(lambda event, _: started.append(event) if event in _STARTS else None)
    read = lambda: reader.read(path, context)  # noqa: E731
    is_seed = lambda case: not isinstance(case, Path) and case[1] < len(seeds)  # noqa: E731
    path.write_bytes(seeds[0])
    with suppress(Exception):  # which is told when it is read again
        read()  # what is imported and compiled for it does not count
    limit_memory()
    for label, case in cases:
        say("make")
        try:
            data = (
                case.read_bytes()
                if isinstance(case, Path)
                else mutate.mutant(seeds, name, *case, form=reader.form, seal=reader.seal)
            )
        except Exception:
            say("unmade")
            continue
        path.write_bytes(data)
        started.clear()
        say(f"read {label}")
        try:
            read()
            say("taken")
        except NeuromapError as error:
            say("refused")
            told = str(error)
            if is_seed(case):
                say("fault " + json.dumps({"kind": "seed refused", "told": told}))
            elif not told or len(told.splitlines()) > 1 or not _can_be_printed(told):
                say("fault " + json.dumps({"kind": "message", "where": _where(error), "told": repr(told)[:200]}))
        except BaseException as error:
            say(
                "fault "
                + json.dumps({"kind": type(error).__name__, "where": _where(error), "told": repr(str(error))[:200]})
            )
        if started:
            say("children")


_STARTS = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.forkpty")


def _can_be_printed(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return len(text) <= 2_000


def _where(error):
    """The innermost function of the package on the way to an exception: where it should have been met."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if f"{os.sep}neuromap{os.sep}" in frame.filename]
    if not own:
        return ""
    name = own[-1].filename.rpartition(f"{os.sep}neuromap{os.sep}")[2]
    return f"{name}:{own[-1].name}"


# --------------------------------------------------------------------------------------------------------------- corpus


def keep(fault):
    """Keep the mutant of a fault in the corpus; give its place."""
    if fault.case.startswith("corpus/") or "/" not in fault.case:
        return None
    seed, number = map(int, fault.case.split("/"))
    folder = CORPUS / fault.reader
    folder.mkdir(parents=True, exist_ok=True)
    data = mutant_of(fault.reader, seed, number)
    if data is not None and len(data) <= MOST_KEPT_BYTES:
        path = folder / sha256(data).hexdigest()[:12]
        path.write_bytes(data)
        return path
    path = folder / "numbers"
    line = f"{seed} {number}\n"
    known = path.read_text() if path.exists() else ""
    if line not in known:
        path.write_text(known + line)
    return path


def mutant_of(name, seed, number):
    """Make a mutant again, in a process of its own; ``None`` where that fails."""
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_IN_MEMORY) as place:
        folder = Path(place)
        _unpack_kit(name, folder)

        def work(_):
            _make_seeds(name, folder)
            seeds = [path.read_bytes() for path in sorted((folder / "seeds").iterdir())]
            reader = _reader(name)
            (folder / "mutant").write_bytes(
                mutate.mutant(seeds, name, seed, number, form=reader.form, seal=reader.seal)
            )

        ended = _forked(work, lambda line: None)
        return None if ended else (folder / "mutant").read_bytes()


def serve():
    """Answer requests of tests: a line of JSON each way."""
    for line in sys.stdin:
        outcome = fuzz(**json.loads(line))
        print(json.dumps(asdict(outcome)), flush=True)

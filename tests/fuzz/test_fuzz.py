"""No mutant of a file or message brings a reader to anything but a value or one line; see ``harness.py``.

By default every reader gets its corpus and some mutants, the same in every run; ``--examples thorough`` gives each
20,000 (2,000 where it starts processes). ``make fuzz`` draws others, for as long as it is told to.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

if not hasattr(os, "fork"):
    pytest.skip("workers are forked", allow_module_level=True)


import harness
import mutate
from readers import READERS

SEED = 0
DEFAULT, THOROUGH = 40, 20_000


@pytest.fixture(scope="session")
def fuzz():
    """A process that has no threads, from which workers can be forked."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    command = [sys.executable, str(Path(__file__).parent), "--serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as server:

        def asked(name, count, **more):
            server.stdin.write(json.dumps({"name": name, "count": count, "seed": SEED, **more}) + "\n")
            server.stdin.flush()
            return json.loads(server.stdout.readline())

        yield asked
        server.stdin.close()


# Those that need PyTorch come last: with it loaded, every fork costs more.
@pytest.mark.parametrize("name", sorted(READERS, key=lambda name: "torch" in READERS[name].needs))
def test_mutants_are_read_or_refused_in_one_line(name, fuzz, request):
    if library := harness.missing(name):
        pytest.skip(f"no {library}")
    count = THOROUGH if request.config.getoption("--examples") == "thorough" else DEFAULT
    found = fuzz(name, count)
    assert [str(harness.Fault(**fault)) for fault in found["faults"]] == []
    assert found["taken"]


# --------------------------------------------------------------------------------------------- the harness itself


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("faulty-crash", "crash (signal 11)"),
        ("faulty-hang", "hang"),
        ("faulty-memory", "MemoryError"),
        ("faulty-foreign", "KeyError"),
    ],
)
def test_what_must_not_happen_is_found_with_the_mutant_that_did_it(name, told, fuzz):
    found = fuzz(name, 12 if told == "hang" else 60, hang=0.3)
    assert [fault["kind"] for fault in found["faults"]] == [told]
    number = int(found["faults"][0]["case"].rpartition("/")[2])
    assert mutate.mutant([b"abc"], name, 0, number)[:1] != b"a"
    assert found["taken"] > 1


def test_a_reader_that_refuses_in_one_line_has_no_fault(fuzz):
    found = fuzz("faulty-refused", 60)
    assert (found["faults"], found["read"] > found["taken"]) == ([], True)


def test_mutants_are_the_same_everywhere():
    seeds = [b"format = 1\n[a]\nx = [1, 2]\n", b'{"a": {"b": [1, 2]}}']
    digests = [hash_of(mutate.mutant(seeds, "n", 3, number)) for number in range(60)]
    code = (
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import mutate, hashlib; s = {seeds!r}; "
        + ("print([hashlib.sha256(mutate.mutant(s, 'n', 3, k)).hexdigest()[:8] for k in range(60)])")
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == repr(digests)
    assert len(set(digests)) > 50


def hash_of(data):
    from hashlib import sha256

    return sha256(data).hexdigest()[:8]

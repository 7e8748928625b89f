"""One source for AVX-512, AVX2 and NEON: what the compiler makes of it, and that the results are the same."""

import os
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.compiled import compiled

TESTS = Path(__file__).resolve().parent
X86 = llvm.get_default_triple().startswith("x86_64")
AVX2 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")
FEATURES = llvm.get_host_cpu_features()

HAS_AVX2 = all(FEATURES.get(name, False) for name in AVX2)

needs_avx2 = pytest.mark.skipif(not HAS_AVX2, reason="this processor has no AVX2")
needs_avx512 = pytest.mark.skipif(not FEATURES.get("avx512bw", False), reason="this processor has no AVX-512 (BW)")
needs_x86 = pytest.mark.skipif(not X86, reason="starts from the code that is made on x86-64")


# One small program; one group of lanes is the least to compile. What comes from a cache has no code to show.
EMIT = """
import sys
from dataclasses import replace
from pathlib import Path
from neuromap.bench.characterisation import characterisation_program
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.simulation.engine.engine import HostEvents
from neuromap.simulation.engine.fast_engine import FastEngine
from neuromap.simulation.engine.kernel.compiled import compiled

chip = replace(load_chip("truenorth"), axons=32, neurons=32)
FastEngine(characterisation_program(1, chip=chip, synapses=0)).run(HostEvents.none(3))
run = compiled().run
[signature] = run.signatures
Path(sys.argv[1], "kernel.s").write_text(run.inspect_asm(signature))
Path(sys.argv[1], "kernel.ll").write_text(run.inspect_llvm(signature))
"""


def environment(folder):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    names = AVX2 if HAS_AVX2 else ()
    processor = {
        "NUMBA_CPU_NAME": "haswell" if HAS_AVX2 else "x86-64",
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in names),
    }
    return clean | processor | {"NUMBA_CACHE_DIR": str(folder / "cache"), "OPENBLAS_NUM_THREADS": "1"}


@pytest.fixture(scope="session")
def without_avx512(tmp_path_factory):
    """Folder of the kernel's code for x86-64 with AVX2 and no more (with less, where this processor has none)."""
    folder = tmp_path_factory.mktemp("without_avx512")
    subprocess.run([sys.executable, "-c", EMIT, str(folder)], env=environment(folder), check=True)
    return folder


def count(pattern, text):
    return len(re.findall(pattern, text))


@needs_avx512
def test_avx_512_adds_under_a_mask(make_chip, make_program):
    native = {name: os.environ[name] for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if name in os.environ}
    if native:
        pytest.skip(f"compiled for another processor: {native}")
    FastEngine(make_program(make_chip(), np.zeros((1, 32, 32)))).run(HostEvents.none(3))
    library = next(iter(compiled().run.overloads.values())).library
    # What Numba shows is only what was compiled here, so this asks for the module that is kept in its cache as well.
    assembly = library.codegen._tm.emit_assembly(library._get_module_for_linking())
    assert count(r"\bvpaddw\s.*%zmm\d+.*\{%k\d\}", assembly) >= 3  # weights in their three forms


@pytest.mark.slow
@needs_avx2
def test_avx2_uses_its_vectors_and_gives_the_same_results(without_avx512):
    assembly = (without_avx512 / "kernel.s").read_text()
    assert count(r"%zmm|\{%k\d\}", assembly) == 0
    assert count(r"\bvpaddw\s.*%ymm", assembly) >= 6

    chosen = [
        "../test_engines.py::test_every_program_runs_as_on_numpy[one group of lanes-fast]",
        "test_lanes.py::test_operations[1-int16]",
        "test_lanes.py::test_operations[8-int16]",
        "test_lanes.py::test_listing_the_set_bits",
    ]
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command = [*pytest_here, *(str(TESTS / name) for name in chosen)]
    run = subprocess.run(command, env=environment(without_avx512), cwd=TESTS.parents[3], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.slow
@needs_x86
def test_neon_uses_its_vectors(without_avx512):
    # Code for x86-64 names one instruction of its own, the pause of the barrier, which is only made there.
    code = (without_avx512 / "kernel.ll").read_text()
    code = re.sub(r".*@llvm\.x86\.sse2\.pause\(.*\n", "", code)
    code = re.sub(r"target (triple|datalayout) = .*\n", "", code)
    assert "x86" not in code

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    triple = "aarch64-unknown-linux-gnu"
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu="generic", opt=3)
    module = llvm.parse_assembly(code)
    module.triple, module.data_layout = triple, str(machine.target_data)
    assembly = machine.emit_assembly(module)
    assert count(r"\badd\s+v\d+\.8h", assembly) >= 12  # integrate: 8 lanes of 16 bits
    assert count(r"\bcmg[et]\s+v\d+\.8h", assembly) >= 4  # fire
    assert count(r"\badd\s+v\d+\.4s", assembly) >= 8  # the wide path
    assert count(r"%[re]?[abcd]x\b|%[xyz]mm", assembly) == 0

"""One source for AVX-512, AVX2 and NEON: what the compiler makes of it, and that the results are the same."""

import os
import re
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

TESTS = Path(__file__).resolve().parent
X86 = llvm.get_default_triple().startswith("x86_64")
AVX2 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")
FEATURES = llvm.get_host_cpu_features()

needs_avx2 = pytest.mark.skipif(
    not all(FEATURES.get(name, False) for name in AVX2), reason="this processor has no AVX2"
)
needs_avx512 = pytest.mark.skipif(not FEATURES.get("avx512bw", False), reason="this processor has no AVX-512 (BW)")
needs_x86 = pytest.mark.skipif(not X86, reason="starts from the code that is made on x86-64")


def environment(folder, **processor):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    return clean | processor | {"NUMBA_CACHE_DIR": str(folder / "cache"), "OPENBLAS_NUM_THREADS": "1"}


def emitted(code, folder, **processor):
    """Assembly and intermediate code of the kernel, compiled for a processor."""
    # What comes from a cache is not shown, so this has one of its own.
    subprocess.run([sys.executable, "-c", code, str(folder)], env=environment(folder, **processor), check=True)
    return (folder / "kernel.s").read_text(), (folder / "kernel.ll").read_text()


def for_avx2():
    return {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in AVX2)}


def count(pattern, text):
    return len(re.findall(pattern, text))


@pytest.mark.slow
@needs_avx512
def test_avx_512_adds_under_a_mask(once_compiled):
    native = {name: os.environ[name] for name in ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES") if name in os.environ}
    if native:
        pytest.skip(f"compiled for another processor: {native}")
    assert count(r"\bvpaddw\s.*%zmm\d+.*\{%k\d\}", once_compiled.assembly) >= 3  # weights in their three forms


@pytest.mark.slow
@needs_avx2
def test_avx2_uses_its_vectors_and_gives_the_same_results(tmp_path, three_ticks):
    assembly, _ = emitted(three_ticks, tmp_path, **for_avx2())
    assert count(r"%zmm|\{%k\d\}", assembly) == 0
    assert count(r"\bvpaddw\s.*%ymm", assembly) >= 6

    chosen = [
        "../test_engines.py::test_every_program_runs_as_on_numpy[one group of lanes-fast]",
        "vectors/test_lanes.py::test_operations[1-int16]",
        "vectors/test_lanes.py::test_operations[8-int16]",
        "vectors/test_lanes.py::test_listing_the_set_bits",
    ]
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider"]
    command = [*pytest_here, *(str(TESTS / name) for name in chosen)]
    run = subprocess.run(
        command, env=environment(tmp_path, **for_avx2()), cwd=TESTS.parents[3], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout[-3000:]


@pytest.mark.slow
@needs_x86
def test_neon_uses_its_vectors(tmp_path, three_ticks):
    # Code for a plain x86-64 names one instruction of its own, the pause of the barrier, which is only made there.
    _, code = emitted(three_ticks, tmp_path, NUMBA_CPU_NAME="x86-64", NUMBA_CPU_FEATURES="")
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

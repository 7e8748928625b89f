"""What ``make test`` leaves out: other Pythons, versions and users of the types, a release, the tests of Nengo.

    nox -s pythons                 smoke tests of the wheel on every Python from 3.11 to 3.14 that is there
    nox -s pythons -- tests --ignore=tests/house    all tests on them but those of the checkout itself
    nox -s bounds                  the same with the lowest and with the newest versions that pyproject.toml allows
    nox -s consumer                mypy --strict on code that uses the installed package
    nox -s release                 sdist and wheel, built twice and compared, checked; a bill of materials
    nox -s nengo_suite             Nengo's own tests on neuromap's back end

Each needs an environment of its own, and minutes.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import nox

nox.options.sessions = []
nox.options.default_venv_backend = "venv"
HERE = Path(__file__).parent
DIST = HERE / "dist"


def wheel(session: nox.Session) -> str:
    """Build the wheel of this checkout, and give its path."""
    folder = Path(session.create_tmp()) / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    session.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(folder), str(HERE))
    return str(next(folder.glob("*.whl")))


def smoke(session: nox.Session) -> None:
    """Run the tests of the checkout, by default the smoke tests, against the package that is installed."""
    away = Path(session.create_tmp()).resolve() / "away"  # where nothing of the checkout can be imported
    shutil.rmtree(away, ignore_errors=True)
    away.mkdir()
    shutil.copytree(
        HERE / "hardware_models", away / "hardware_models", ignore=shutil.ignore_patterns("*.py", "__pycache__")
    )
    for name in ("tests", "examples", "docs"):
        shutil.copytree(HERE / name, away / name, ignore=shutil.ignore_patterns("__pycache__", "_build"))
    for path in (*HERE.glob("*.md"), *(HERE / n for n in ("CITATION.cff", "LICENSE", "Makefile", "pyproject.toml"))):
        shutil.copy(path, away)
    session.chdir(away)
    asked = session.posargs or ["-m", "smoke", "-n", "0"]
    session.run("python", "-m", "pytest", "-q", *asked)


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """Install the wheel and test it."""
    session.install(f"{wheel(session)}[test]")
    smoke(session)


@nox.session
@nox.parametrize("resolution", ["lowest-direct", "highest"])
def bounds(session: nox.Session, resolution: str) -> None:
    """Install the lowest or the newest versions that the bounds allow, and test them."""
    session.install("uv")
    session.run("uv", "pip", "install", "--quiet", f"--resolution={resolution}", f"{wheel(session)}[test]")
    session.run("uv", "pip", "list", "--quiet")
    smoke(session)


@nox.session
def consumer(session: nox.Session) -> None:
    """Check that code with types of its own passes mypy --strict with what the package says of its types."""
    session.install(wheel(session), "mypy")
    session.chdir(session.create_tmp())
    session.run("mypy", "--strict", "--ignore-missing-imports", str(HERE / "tests" / "house" / "consumer.py"))
    session.run("python", str(HERE / "tests" / "house" / "consumer.py"))


@nox.session
def release(session: nox.Session) -> None:
    """Build twice and compare byte for byte, check the metadata, list what an installation brings."""
    if session.run("git", "status", "--porcelain", external=True, silent=True):
        session.error("the checkout has changes; commit them, so that the release is a commit")
    session.install("build", "twine", "cyclonedx-bom", "pip-audit")
    time = str(session.run("git", "log", "-1", "--format=%ct", external=True, silent=True)).strip()
    built = []
    for turn in ("first", "second"):
        clone = Path(session.create_tmp()).resolve() / turn  # another folder: no path may get into a file
        shutil.rmtree(clone, ignore_errors=True)
        session.run("git", "clone", "--quiet", str(HERE), str(clone), external=True)
        session.run("python", "-m", "build", str(clone), "-o", str(clone / "dist"), env={"SOURCE_DATE_EPOCH": time})
        built.append({p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in (clone / "dist").iterdir()})
    if built[0] != built[1]:
        session.error(f"two builds of one commit differ: {built[0]}, {built[1]}")
    DIST.mkdir(exist_ok=True)
    for path in (clone / "dist").iterdir():
        shutil.copy(path, DIST)
    files = [str(DIST / name) for name in sorted(built[0])]
    session.run("twine", "check", "--strict", *files)
    place = Path(session.create_tmp()) / "installed"
    shutil.rmtree(place, ignore_errors=True)
    session.run("python", "-m", "venv", str(place))
    python = str(place / "bin" / "python")
    session.run(python, "-m", "pip", "install", "--quiet", next(f for f in files if f.endswith(".whl")), external=True)
    session.run(python, "-m", "pip", "uninstall", "--quiet", "-y", "pip", "setuptools", external=True)
    bill = DIST / "bill-of-materials.cdx.json"
    session.run("cyclonedx-py", "environment", python, "--output-reproducible", "-o", str(bill))
    versions = session.run(
        "python", "-m", "pip", "--python", python, "freeze", "--exclude", "neuromap-rollouts", silent=True
    )
    (DIST / "constraints.txt").write_text(str(versions))
    # a data base on the net says what is known; without a net there is no answer, and none is made up
    session.run("pip-audit", "-r", str(DIST / "constraints.txt"), "--no-deps", "--disable-pip", success_codes=[0, 1])
    for name, digest in sorted(built[0].items()):
        session.log(f"{digest}  {name}")


@nox.session
def nengo_suite(session: nox.Session) -> None:
    """Run Nengo's own tests, those that use a simulator, on neuromap's back end (``docs/nengo.md``)."""
    session.install(
        "-e",
        ".[nengo]",
        "pytest<9.1",
        "pytest-rng",
        "pytest-allclose",
        "pytest-plt",
        "matplotlib",
        "setuptools<80",  # its tests import pkg_resources
    )
    folder = HERE / "benchmarks" / "nengo"
    find = "import nengo, pathlib; print(pathlib.Path(nengo.__file__).parent)"
    nengo = Path(str(session.run("python", "-c", find, silent=True)).strip())
    session.run(
        "python",
        "-m",
        "pytest",
        "-p",
        "suite_plugin",
        "-c",
        str(folder / "suite.ini"),
        "--rootdir",
        str(nengo.parent),
        "--chip-json",
        str(HERE / "benchmarks" / "results" / "nengo_suite.json"),
        str(nengo),
        *session.posargs,
        env={"PYTHONPATH": str(folder), "MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1"},
    )

"""Sessions that are no part of ``make test``: ``nox -s nengo_suite``.

They need an environment of their own and take many minutes.
"""

from __future__ import annotations

from pathlib import Path

import nox

nox.options.sessions = []
HERE = Path(__file__).parent


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

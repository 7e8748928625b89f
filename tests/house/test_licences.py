"""Every dependency has its licence on the page of dependencies, as the installed package says it."""

import importlib.metadata
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PERMISSIVE = re.compile(r"(MIT|BSD-2-Clause|BSD-3-Clause|Apache-2\.0)( AND (MIT|Apache-2\.0))*")
COPYLEFT = {
    "GPL": "GPL",
    "GNU General Public": "GPL",
    "LGPL": "LGPL",
    "CeCILL": "CeCILL",
    "MPL": "MPL",
    "Mozilla": "MPL",
}


def packages(requirements):
    return {re.match(r"[A-Za-z0-9_-]+", requirement)[0].lower() for requirement in requirements}


BASE = packages(PROJECT["project"]["dependencies"])
ALL = PROJECT["project"]["optional-dependencies"].pop("all")
EXTRAS = packages(one for some in PROJECT["project"]["optional-dependencies"].values() for one in some)
BUILD = packages(PROJECT["build-system"]["requires"])


@pytest.fixture(scope="module")
def licences():
    table = (ROOT / "docs" / "dependencies.md").read_text().partition("| licensed package | licence |")[2]
    rows = [re.fullmatch(r"\| (\S+) \| (.+) \|", line) for line in table.splitlines()[2:] if line.startswith("|")]
    return {row[1]: row[2] for row in rows}


def test_every_dependency_has_a_row_and_no_row_is_left_over(licences):
    assert set(licences) == BASE | EXTRAS | BUILD


def test_the_extra_all_holds_every_extra_but_those_of_development():
    of_development = {"benchmarks", "docs", "e2e", "fuzz", "lint", "paper", "test"}
    extras = set(PROJECT["project"]["optional-dependencies"]) - of_development
    assert [f"{PROJECT['project']['name']}[{','.join(sorted(extras))}]"] == ALL


def test_every_installation_is_permissive(licences):
    assert [name for name in BASE if not PERMISSIVE.fullmatch(licences[name])] == []


@pytest.mark.parametrize("name", sorted(BASE | EXTRAS))
def test_copyleft_is_told_as_the_installed_package_says_it(licences, name):
    try:
        found = importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{name} is not installed")
    kinds = [c for c in found.get_all("Classifier", []) if c.startswith("License ::")]
    said = " ".join([found.get("License-Expression") or "", (found.get("License") or "")[:80], *kinds])
    wanted = {family for word, family in COPYLEFT.items() if re.search(rf"\b{word}", said)}
    told = {family for word, family in COPYLEFT.items() if re.search(rf"\b{word}", licences[name])}
    assert told == wanted

"""What the pages say is so: their Python runs, their consoles are real, their links and commands exist."""

import doctest
import pkgutil
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import neuromap
from neuromap.cli.main import app

ROOT = Path(__file__).resolve().parents[2]
CLI_COMMANDS = {command.name for command in app.registered_commands}


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def playground(root, tmp_path, monkeypatch):
    """A folder in which the examples lie and to which pages may write."""
    (tmp_path / "examples").symlink_to(root / "examples")
    (tmp_path / "build").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def page_names():
    patterns = ("*.md", "docs/*.md", "docs/theorems/*.md")
    return sorted(str(page.relative_to(ROOT)) for pattern in patterns for page in ROOT.glob(pattern))


def test_the_quickstart_has_code(root):
    assert len(blocks((root / "docs" / "quickstart.md").read_text(), "python")) >= 5


@pytest.mark.parametrize("page", page_names())
def test_python_of_the_page_runs(page, root, playground):
    namespace = {"__name__": "page"}
    for number, block in enumerate(blocks((root / page).read_text(encoding="utf-8"), "python"), start=1):
        where = f"{page} block {number}"
        if ">>> " in block:
            examples = doctest.DocTestParser().get_doctest(block, namespace, where, page, 0)
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            runner.run(examples, clear_globs=False)
            assert runner.failures == 0, where
            namespace.update(examples.globs)
        else:
            exec(compile(block, where, "exec"), namespace)


@pytest.fixture(scope="session")
def consoles(root):
    return runpy.run_path(str(root / "docs" / "refresh_consoles.py"))


def pages_with_consoles():
    return [page for page in page_names() if blocks((ROOT / page).read_text(encoding="utf-8"), "console")]


@pytest.mark.parametrize("page", pages_with_consoles())
def test_consoles_show_what_the_commands_print(page, root, consoles):
    stale = consoles["difference"](root / page, consoles["refreshed"](root / page))
    assert not stale, "run make readme:\n" + stale


def test_readme_and_docs_have_consoles():
    assert {"README.md", "docs/cli.md", "docs/quickstart.md"} <= set(pages_with_consoles())


def test_the_picture_is_what_its_script_draws(root):
    drawn = runpy.run_path(str(root / "docs" / "img" / "rollouts.py"))["draw"]()
    assert (root / "docs" / "img" / "rollouts.svg").read_text(encoding="utf-8") == drawn


def test_make_commands_of_the_pages_exist(root, pages):
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (root / "Makefile").read_text(), re.MULTILINE))
    for path, text in pages.items():
        for target in re.findall(r"(?:`|^    )make ([a-z][a-z0-9-]*)", text, re.MULTILINE):
            assert target in targets, f"{path.name}: make {target}"


def test_neuromap_commands_of_the_pages_exist(pages):
    for path, text in pages.items():
        for command in re.findall(r"(?:^\$ |^    )neuromap ([a-z]+)", text, re.MULTILINE):
            assert command in CLI_COMMANDS, f"{path.name}: neuromap {command}"


def test_relative_links_lead_somewhere(pages):
    for path, text in pages.items():
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
            if not re.match(r"[a-z]+:", link):
                assert (path.parent / link).exists(), f"{path.name}: {link}"


def test_python_names_that_pages_link_to_exist_and_are_in_the_reference(pages):
    reference = (ROOT / "docs" / "api-reference.md").read_text(encoding="utf-8")
    linked = {
        name for text in pages.values() for name in re.findall(r"\{py:\w+\}`(?:[^`<]*<|~)?(neuromap[\w.]*)>?`", text)
    }
    assert len(linked) > 40
    for name in sorted(linked):
        assert pkgutil.resolve_name(name) is not None
        assert name in reference or name.startswith("neuromap.errors."), f"{name} is not on the reference page"


def in_tables_of_contents(page):
    """Names of the pages that a page's tables of contents list, in their order."""
    return [
        line.strip()
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
        for line in block.splitlines()
        if line.strip() and not line.startswith(":")
    ]


def test_every_page_is_once_in_a_table_of_contents_that_the_front_page_leads_to(root):
    listed, found = ["index"], []
    for name in listed:
        found.append(name)
        page = root / "docs" / f"{name}.md"
        listed += [(Path(name).parent / inner).as_posix() for inner in in_tables_of_contents(page) if "*" not in inner]
    pages = (root / "docs").glob("[!_]*.md"), (root / "docs" / "theorems").glob("*.md")
    assert sorted(found) == sorted(
        page.relative_to(root / "docs").with_suffix("").as_posix() for group in pages for page in group
    )


def test_no_page_has_the_name_of_one_that_sphinx_writes(root):
    """It would be written over: ``search`` is the page that looks for words."""
    taken = {"search", "genindex", "py-modindex", "modindex"}
    assert not taken & {page.stem for page in (root / "docs").glob("*.md")}


def test_the_side_bar_has_at_most_25_pages(root):
    assert 20 <= len(in_tables_of_contents(root / "docs" / "index.md")) <= 25


def test_dependencies_page_lists_every_dependency_with_its_bound(root):
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    text = (root / "docs" / "dependencies.md").read_text()
    wanted = [*project["dependencies"], *(d for e in project["optional-dependencies"].values() for d in e)]
    for requirement in wanted:
        name, bound = re.fullmatch(r"([A-Za-z0-9-]+)(.*)", requirement).groups()
        lines = [line for line in text.splitlines() if name in line]
        assert lines, f"{name} is not on the page"
        assert any(bound in line or "as above" in line for line in lines), f"{name}: {bound} is not on the page"


def test_the_version_is_the_same_everywhere(root):
    version = neuromap.__version__
    assert tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"] == version
    assert f"\nversion: {version}\n" in (root / "CITATION.cff").read_text()
    assert f"## {version}" in (root / "CHANGELOG.md").read_text()


def test_words_of_the_errors_page_match_the_exit_codes(root):
    text = (root / "docs" / "cli.md").read_text()
    for code in (0, 2, 3, 4, 5, 130):
        assert f"| {code} |" in text

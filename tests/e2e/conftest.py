"""Pages in a real browser: headless Chromium of the system, driven by Playwright, and axe-core on what it shows.

Nothing here is collected unless NEUROMAP_E2E is set: ``make e2e`` sets it and installs what is needed. Screenshots go
to build/e2e, and those of ``for_docs`` to docs/img as well where NEUROMAP_E2E is ``docs``.
"""

import os
import shutil
import time
from pathlib import Path

import pytest

collect_ignore_glob = [] if os.environ.get("NEUROMAP_E2E") else ["test_*.py"]

ROOT = Path(__file__).parents[2]
SHOTS = ROOT / "build" / "e2e"
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
WIDTHS = (1440, 390)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="session")
def browser():
    """The browser; a new context of it knows nothing of others."""
    from playwright.sync_api import sync_playwright

    assert CHROMIUM, "no Chromium; apt-get install chromium, or name it in CHROMIUM"
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Open an address or a file in a page of its own: ``open_page(url, scheme="dark", width=390)``.

    At the end of the test no page may have an error in its console, but those whose text holds a word of
    ``page.allowed``, a list.
    """
    contexts, faults = [], []

    def open_(url, *, scheme="light", width=1440, height=900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        contexts.append(context)
        page = context.new_page()
        page.allowed = []
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append((page, str(error))))
        page.on("console", lambda said: faults.append((page, said.text)) if said.type == "error" else None)
        page.goto(url.as_uri() if isinstance(url, Path) else url)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert not [text for page, text in faults if not any(word in text for word in page.allowed)]


@pytest.fixture(scope="session")
def until():
    """Wait until JavaScript is true of a page; asked from outside, as pages may forbid that text is run inside."""

    def wait(page, expression, seconds=20):
        deadline = time.monotonic() + seconds
        while not page.evaluate(expression):
            assert time.monotonic() < deadline, f"never came true: {expression}"
            page.wait_for_timeout(30)

    return wait


@pytest.fixture(scope="session")
def assert_accessible():
    """axe-core finds no serious or critical fault on a page; ``without`` names rules that are left out."""

    def check(page, without=()):
        from axe_playwright_python.sync_playwright import Axe

        rules = {"rules": {name: {"enabled": False} for name in without}}
        found = Axe().run(page, options=rules).response["violations"]
        grave = [
            f"{fault['id']}: {fault['help']}: " + "; ".join(node["html"][:120] for node in fault["nodes"][:3])
            for fault in found
            if fault["impact"] in ("serious", "critical")
        ]
        assert not grave, "\n".join(grave)

    return check


@pytest.fixture(scope="session")
def shoot():
    """Write what a page shows as PNG: ``shoot(page, "name")``; with ``for_docs`` where docs find it too."""
    SHOTS.mkdir(parents=True, exist_ok=True)

    def write(page, name, *, for_docs=False, full_page=True):
        path = SHOTS / f"{name}.png"
        page.screenshot(path=path, full_page=full_page)
        if for_docs and os.environ.get("NEUROMAP_E2E") == "docs":
            from PIL import Image

            few = Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE)
            few.save(ROOT / "docs" / "img" / f"{name}.png", optimize=True)
        return path

    return write


@pytest.fixture(scope="session")
def assert_fits():
    """No part of a page is wider than its window, and no two texts of an axis are alike where ``axes`` names them."""

    def check(page):
        width, window = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
        assert width <= window, f"the page is {width} pixels wide in a window of {window}"

    return check


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    """A studio with two patterns side by side."""
    from studio_server import Server

    found = Server(tmp_path_factory.mktemp("sessions"), "--pattern", "streaming", "--pattern", "sequential")
    yield found
    if found.process.poll() is None:
        found.end()

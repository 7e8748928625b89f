"""``neuromap studio`` as a process of its own, and what its page shows; for tests in a browser."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from neuromap.studio.scene.player import Stage
from neuromap.studio.scene.scene_file import read_scene

ROOT = Path(__file__).parents[2]
READY = "#play:not([disabled])"
TICK = "Number(document.getElementById('clock').dataset.tick)"
PAUSED = "document.getElementById('play').textContent === 'Play'"


def text(name):
    """JavaScript for the text of an element."""
    return f"document.getElementById('{name}').textContent"


class Server:
    """``neuromap studio`` as a process of its own."""

    def __init__(self, folder, *words, **environment):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.environment = folder, environment
        self.words = words if "--plays" in words else ("--paused", *words)  # what is tested begins at tick 0
        self.words = tuple(word for word in self.words if word != "--plays")
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "neuromap", "studio", "--port", str(self.port), "--sessions", self.folder]
            + list(self.words),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), **self.environment},
        )  # fmt: skip
        for line in self.process.stdout:
            if "http://" in line:
                self.url = re.search(r"http://\S+", line)[0]
                break
        assert self.process.poll() is None
        self.base = f"http://127.0.0.1:{self.port}"
        for _ in range(100):
            try:
                urllib.request.urlopen(f"{self.base}/static/studio.js", timeout=2).close()
            except urllib.error.HTTPError:
                return
            except OSError:
                time.sleep(0.1)
            else:
                return

    def end(self, how=signal.SIGTERM):
        self.process.send_signal(how)
        self.process.wait(15)

    def n_open(self):
        """Sessions whose runs are held."""
        with urllib.request.urlopen(f"{self.base}/open.json", timeout=5) as answer:
            return json.load(answer)["sessions"]


def ready(page):
    page.wait_for_selector(READY, timeout=180_000)  # the engine may have to be compiled
    return page


def tick(page):
    return int(page.get_attribute("#clock", "data-tick"))


def wait_tick(page, n):
    page.wait_for_selector(f"#clock[data-tick='{n}']")


def scene_of(page, server):
    """The scene that the page's session has now, as its file is downloaded."""
    with page.expect_download() as found:
        page.click("#download")
    return read_scene(Path(found.value.path()).read_bytes())


def figure(page, run, key):
    return page.inner_text(f"#figures-{run} [data-figure='{key}']")


def played(scene):
    """The same, played by the library up to the same tick."""
    stage = Stage(scene)
    stage.map()
    while not stage.catch_up(100):
        pass
    return stage

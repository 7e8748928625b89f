"""The studio in a browser: what is shown is what the library says, and what is done is done to one session alone."""

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

import numpy as np
import pytest

import neuromap as nm
from neuromap.studio.scene.scene_file import read_scene
from neuromap.studio.stage.offer import example_network
from neuromap.studio.stage.stage import Stage

ROOT = Path(__file__).parents[2]
READY = "#play:not([disabled])"
TICK = "Number(document.getElementById('clock').dataset.tick)"
PAUSED = "document.getElementById('play').textContent === 'Play'"


def text(name):
    """JavaScript for the text of an element."""
    return f"document.getElementById('{name}').textContent"


class Server:
    """``neuromap studio`` as a process of its own."""

    def __init__(self, folder, *words):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.folder, self.words = folder, words
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "neuromap", "studio", "--port", str(self.port), "--sessions", self.folder]
            + list(self.words),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("sessions"), "--pattern", "streaming", "--pattern", "sequential")
    yield found
    if found.process.poll() is None:
        found.end()


def leave(server):
    """Wait until the sessions of closed tabs are freed."""
    deadline = time.monotonic() + 15
    while server.n_open():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def ready(page):
    page.wait_for_selector(READY, timeout=180_000)  # the engine may have to be compiled
    return page


def tick(page):
    return int(page.get_attribute("#clock", "data-tick"))


def wait_tick(page, n):
    page.wait_for_selector(f"#clock[data-tick='{n}']")


def figure(page, run, key):
    return page.inner_text(f"#figures-{run} [data-figure='{key}']")


def scene_of(page, server):
    """The scene that the page's session has now, as its file is downloaded."""
    with page.expect_download() as found:
        page.click("#download")
    return read_scene(Path(found.value.path()).read_bytes())


def played(scene):
    """The same, played by the library up to the same tick."""
    stage = Stage(scene)
    stage.map()
    while not stage.catch_up(100):
        pass
    return stage


def test_figures_are_those_of_the_library_and_change_with_every_edge(server, open_page, until):
    page = ready(open_page(server.url))
    network = example_network()
    chip = nm.load_chip("truenorth")
    patterns = [nm.RolloutPattern.named(network, name) for name in ("streaming", "sequential")]

    def check(k, pattern):
        for execution in ("windowed", "pipelined"):
            rollout = nm.Rollout(network, pattern, execution)
            until(
                page,
                f"!document.querySelector('#figures-{k} [data-figure=cores-{execution}]').textContent.includes('map')",
            )
            assert figure(page, k, f"cores-{execution}") == str(nm.map_rollout(rollout, chip).n_cores)
            assert figure(page, k, f"period-{execution}") == str(rollout.frame_period)
            assert figure(page, k, f"first-{execution}") == str(rollout.first_response("O"))
            assert figure(page, k, f"full-{execution}") == str(rollout.full_response("O"))
            assert figure(page, k, f"factor-{execution}") == str(pattern.inference_factor)
            assert figure(page, k, f"first_ticks-{execution}").startswith(f"{rollout.first_response('O')} (")

    for k, pattern in enumerate(patterns):
        check(k, pattern)
    values = dict(patterns[1].items())
    for edge in (("H1", "O"), ("H2", "O")):
        page.focus(f"#network-1 g[data-source='{edge[0]}'][data-target='{edge[1]}']")
        page.keyboard.press("Enter")
        values[edge] = 1
        pattern = nm.RolloutPattern.from_values(network, values)
        until(
            page,
            f"{text('validity-1')}.startsWith('valid: {len(pattern.streaming_edges)} of 5')",
        )
        check(1, pattern)
    assert page.input_value("#pattern-name-1") == "hybrid"  # toggled into the pattern that the file names
    page.dispatch_event("#network-1 g[data-source='H1'][data-target='H1']", "click")
    page.wait_for_selector("#validity-1.no")
    assert "H1 -> H1 form a cycle" in page.inner_text("#validity-1")
    page.wait_for_selector("#play[disabled]")
    page.select_option("#pattern-name-1", "streaming")
    ready(page)


def test_what_runs_is_what_the_library_runs(server, open_page, assert_accessible, shoot, assert_fits, until):
    page = ready(open_page(server.url))
    page.fill("#image", "7")
    page.keyboard.press("Tab")  # out of the field, where letters are letters
    until(page, f"{text('shown-label')}.includes('image 7')")
    for _ in range(5):
        now = tick(page)
        page.keyboard.press("t")
        wait_tick(page, now + 1)
    page.click("text=One frame")
    wait_tick(page, 6)
    page.select_option("#speed", "100")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Space")
    until(page, f"{TICK} > 60")
    page.evaluate("document.getElementById('noise').value = 0.1")
    page.dispatch_event("#noise", "change")
    until(page, f"{TICK} > 90")
    page.keyboard.press("Space")
    until(page, PAUSED)
    page.wait_for_timeout(300)
    scene = scene_of(page, server)
    assert scene.ticks == tick(page)
    assert [change.shown.noise for change in scene.changes if change.shown][-1] == 0.1
    stage = played(scene)
    assert stage.verdict is True
    for k, run in enumerate(stage.runs):
        out = run.live.outputs[-1]
        votes = out.spikes.reshape(10, 4).sum(axis=1)
        named = f"class {votes.argmax()} ({votes.max()} of {votes.sum()} spikes)" if votes.any() else "0 spikes"
        assert page.inner_text(f"#answer-{k}") == f"O, frame {out.frame}, tick {out.tick}: {named}"
        page.locator(f"#run-{k} summary", has_text="The same as numbers").click()
        rows = page.locator(f"#numbers-{k} tr").all_inner_texts()[1:4]
        last = [line.split("\t")[:2] for line in rows]
        counts = run.labels.by_node(run.live.history[-1:])[1:]
        assert last == [[name, str(n)] for name, n in zip(("H1", "H2", "O"), counts, strict=True)]
    assert np.count_nonzero(stage.runs[0].live.input_frame["I"]) == int(
        re.search(r"(\d+) of 64", page.get_attribute("#sampled", "aria-label"))[1]
    )
    assert_accessible(page)
    assert_fits(page)


def test_faults_are_injected_while_it_runs_and_a_recording_comes_back(server, open_page, until):
    page = ready(open_page(server.url))
    page.click("text=Next image")
    page.select_option("#speed", "100")
    page.click("#play")
    until(page, f"{TICK} > 20")
    page.fill("#forms-0 form[data-edit=threshold] input[name=by]", "3")
    page.click("#forms-0 form[data-edit=threshold] button")
    page.wait_for_selector("#edits-0 li:has-text('threshold of node H1 +3')")
    until(page, f"{TICK} > 50")
    page.click("#forms-0 form[data-edit=silent-core] button")
    page.wait_for_selector("#edits-0 li:has-text('core 0 is silent')")
    page.click("#forms-1 form[data-edit=dead-link] button")
    page.wait_for_selector("#edits-1 li:has-text('is dead')")
    page.fill("#forms-1 form[data-edit=weight] input[name=weight]", "200")
    page.click("#forms-1 form[data-edit=weight] button")
    page.wait_for_selector("#line:has-text('can add up to')")
    page.click("#play")
    until(page, PAUSED)
    page.wait_for_timeout(300)
    end = tick(page)
    scene = scene_of(page, server)
    stage = played(scene)
    assert stage.verdict is True
    assert [len(run.edits) for run in stage.runs] == [2, 1]
    assert not any((sent.cores == 0).any() for sent in stage.runs[0].live.history[-5:])
    page.click("text=Replay")
    until(page, f"{text('status')}.includes('every spike as recorded')")
    assert tick(page) == end
    page.click("#edits-0 li:has-text('core 0') button")
    until(page, "document.querySelectorAll('#edits-0 li').length === 1")


def test_a_scene_travels_as_a_file_and_bad_files_are_one_line(server, open_page, tmp_path, until):
    page = ready(open_page(server.url))
    page.click("text=Next image")
    for _ in range(4):
        page.keyboard.press("f")
    until(page, f"{TICK} >= 4")
    page.wait_for_timeout(300)
    with page.expect_download() as found:
        page.click("#download")
    scene = Path(found.value.path()).read_bytes()
    page.click("text=Start again")
    other = ready(open_page(server.url))
    other.allowed.append("400")
    other.set_input_files("#scene-file", {"name": "scene.json", "mimeType": "application/json", "buffer": scene})
    until(other, f"{TICK} === {json.loads(scene)['ticks']}")
    until(other, f"{text('shown-label')}.includes('image 0')")
    wrong = json.loads(scene)
    wrong["ticks"] = 10**9
    other.set_input_files(
        "#scene-file", {"name": "x.json", "mimeType": "application/json", "buffer": json.dumps(wrong).encode()}
    )
    other.wait_for_selector("#line:has-text('scene: ticks = 1000000000: must be 0 to')")
    other.click("summary:has-text('Load files')")
    toml = ROOT / "examples" / "digits" / "ff.toml"
    other.set_input_files("#network-files", [toml])
    other.wait_for_selector("#line:has-text('choose that file too')")
    other.set_input_files("#network-files", [toml, toml.with_suffix(".safetensors")])
    until(other, f"{text('title')}.startsWith('digits FF')")
    ready(other)
    assert page.inner_text("#title").startswith("digits SR")  # the first tab is another session


def test_drawing_reaches_the_chip_by_mouse_and_by_keys(server, open_page, until):
    page = ready(open_page(server.url))
    page.click("text=Clear")
    box = page.locator("#drawing").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 16, box["y"] + box["height"] / 16)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 5 / 16, box["y"] + box["height"] / 16, steps=8)
    page.mouse.up()
    until(page, f"{text('shown-label')}.includes('drawn by hand')")
    page.focus("#drawing")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_timeout(400)
    page.click("text=One tick")
    until(page, "document.getElementById('sampled').getAttribute('aria-label').includes('4 of 64')")
    picture = scene_of(page, server).shown_at(9).pictures["I"][..., 0]
    assert sorted(zip(*(axis.tolist() for axis in np.nonzero(picture)), strict=True)) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (2, 0),
    ]


def test_two_sessions_do_not_disturb_each_other_and_a_closed_tab_frees_its_run(server, open_page, until):
    leave(server)
    first, second = ready(open_page(server.url)), ready(open_page(server.url))
    first.select_option("#pattern-name-0", "sequential")
    until(first, f"{text('validity-0')}.startsWith('valid: 1')")
    ready(first)
    first.keyboard.press("t")
    wait_tick(first, 1)
    assert tick(second) == 0
    assert second.input_value("#pattern-name-0") == "streaming"
    assert server.n_open() == 2
    first.context.close()
    second.context.close()
    leave(server)


def test_a_server_that_was_killed_goes_on_with_what_was_saved(tmp_path, open_page, until):
    server = Server(tmp_path)
    try:
        page = ready(open_page(server.url))
        page.allowed.extend(["WebSocket", "ERR_CONNECTION_REFUSED"])
        page.click("text=Next image")
        for _ in range(6):
            page.keyboard.press("t")
        wait_tick(page, 6)
        page.fill("#forms-0 form[data-edit=threshold] input[name=by]", "2")
        page.click("#forms-0 form[data-edit=threshold] button")
        page.wait_for_selector("#edits-0 li")
        answer = page.inner_text("#answer-0")
        page.wait_for_timeout(2500)  # saved once a second
        server.end(signal.SIGKILL)
        until(page, "document.body.dataset.connected === 'no'")
        server.start()
        until(page, "document.body.dataset.connected === 'yes'", 30)
        ready(page)
        wait_tick(page, 6)
        page.wait_for_selector("#edits-0 li:has-text('threshold of node H1 +2')")
        until(page, f"{text('answer-0')} === {json.dumps(answer)}")
        assert "image 0" in page.inner_text("#shown-label")
    finally:
        server.end()


def test_foreign_origins_wrong_tokens_and_absurd_sizes_are_refused(tmp_path, open_page, server):
    def status(url, data=None, **headers):
        request = urllib.request.Request(url, data, {k.replace("_", "-"): v for k, v in headers.items()})
        try:
            with urllib.request.build_opener(NoRedirect).open(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    base = server.base
    session = "a" * 24
    assert status(f"{base}/s/{session}") == 200
    assert status(f"{base}/s/{session}", Origin="http://evil.example") == 403
    assert status(f"{base}/s/{session}", Host="evil.example") == 403
    assert status(f"{base}/s/{session}/scene", b"{}", Origin="http://evil.example") == 403
    assert status(f"{base}/s/{session}/scene", b"{}", Content_Length=str(10**10)) == 413
    assert status(f"{base}/s/../../etc/passwd") == 404
    foreign = open_page("about:blank")
    foreign.allowed.append("WebSocket")
    opened = """url => new Promise(done => { const s = new WebSocket(url);
        s.onopen = () => done(true); s.onerror = () => done(false); })"""
    socket_of = f"ws://127.0.0.1:{server.port}/s/{session}/live"
    assert foreign.evaluate(opened, socket_of) is False
    own = ready(open_page(server.url))
    assert own.evaluate(opened, socket_of) is True

    locked = Server(tmp_path, "--token", "s3cret-s3cret-s3cret")
    try:
        page = open_page(f"{locked.base}/")
        page.allowed.append("401")
        assert "token: missing or wrong" in page.inner_text("body")
        assert status(f"{locked.base}/?token=wrong") == 401
        page.goto(locked.url)
        ready(page)
        assert "token" not in page.url
        other = open_page("about:blank")
        other.allowed.append("WebSocket")
        assert other.evaluate(opened, f"ws://127.0.0.1:{locked.port}/s/{session}/live") is False
    finally:
        locked.end()


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are answers."""

    def redirect_request(self, *_):
        return None


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390])
def test_it_is_accessible_and_nothing_is_cut(
    server, open_page, assert_accessible, assert_fits, shoot, scheme, width, until
):
    page = ready(open_page(server.url, scheme=scheme, width=width))
    page.click("text=Next image")
    page.click("#forms-0 form[data-edit=silent-core] button")
    page.wait_for_selector("#edits-0 li")
    for summary in page.locator("summary").all():
        summary.click()
    page.select_option("#speed", "100")
    page.click("#play")
    until(page, f"{TICK} > 160")
    page.click("#play")
    until(page, PAUSED)
    page.wait_for_timeout(400)
    page.evaluate("window.scrollTo(0, 0)")
    assert_accessible(page)
    assert_fits(page)
    shoot(page, f"studio-{scheme}-{width}")


def test_pictures_for_the_docs(server, open_page, shoot, until):
    page = ready(open_page(server.url, height=1180))
    page.fill("#image", "3")
    page.dispatch_event("#image", "change")
    page.select_option("#speed", "50")
    page.click("#play")
    until(page, f"{TICK} > 100")
    page.click("#play")
    until(page, PAUSED)
    page.wait_for_timeout(300)
    page.evaluate("window.scrollTo(0, 0)")
    shoot(page, "studio", for_docs=True, full_page=False)

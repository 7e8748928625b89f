"""The studio's server, asked by browsers: sessions apart, kept and freed, files that travel, strangers refused."""

import json
import signal
import time
import urllib.error
import urllib.request
from pathlib import Path

from studio_server import ROOT, TICK, Server, ready, text, tick, wait_tick


def leave(server):
    """Wait until the sessions of closed tabs are freed."""
    deadline = time.monotonic() + 15
    while server.n_open():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_it_begins_with_an_image_that_plays_and_its_output_beside(open_page, until, tmp_path):
    server = Server(tmp_path, "--plays")
    try:
        page = open_page(server.url)
        page.allowed.append("WebSocket")  # the server ends before its pages
        until(page, f"{TICK} > 3")
        assert page.locator("#play").inner_text() == "Pause"
        assert page.locator("#shown-label").inner_text().startswith("input: digits test image 0, label ")
        drawn, output = (page.locator(name).bounding_box() for name in ("#drawing", "#votes-0"))
        assert output["x"] > drawn["x"] + drawn["width"]
        assert output["y"] + output["height"] < 500  # beside its controls, in sight without scrolling
        narrow = open_page(server.url, width=390)
        narrow.allowed.append("WebSocket")
        until(narrow, f"{TICK} > 3")
        above = narrow.locator("#h-share").bounding_box()["y"]
        assert narrow.locator("#drawing").bounding_box()["y"] < narrow.locator("#votes-0").bounding_box()["y"] < above
    finally:
        server.end()


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
    page.click("text=Restart")
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


def test_two_sessions_do_not_disturb_each_other_and_a_closed_tab_frees_its_run(server, open_page, until):
    leave(server)
    first, second = ready(open_page(server.url)), ready(open_page(server.url))
    first.select_option("#pattern-name-0", "sequential")
    until(first, f"{text('validity-0')}.startsWith('valid: 1') && !{text('figures-0')}.includes('mapping')")
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
        until(page, f"{text('shown-label')}.includes('image 0')")
    finally:
        server.end()


def test_foreign_origins_wrong_tokens_and_absurd_sizes_are_refused(tmp_path, open_page, server):
    def status(url, data=None, **headers):
        request = urllib.request.Request(url, data, {k.replace("_", "-"): v for k, v in headers.items()})
        try:
            with urllib.request.build_opener(_NoRedirect).open(request, timeout=10) as answer:
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

    locked = Server(tmp_path, NEUROMAP_STUDIO_TOKEN="s3cret-s3cret-s3cret")
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


def test_a_network_that_cannot_be_shown_gives_a_page_that_says_why(
    tmp_path, open_page, shoot, assert_accessible, until
):
    net = tmp_path / "shapeless.toml"
    net.write_text('format = 1\nname = "shapeless"\n[nodes]\nI = {}\nO = {}\n[edges]\n"I -> O" = {}\n')
    server = Server(tmp_path / "kept", str(net))
    try:
        page = open_page(server.url)
        page.wait_for_selector("#line:has-text('network shapeless: cannot be shown: node I: has no shape')")
        until(page, f"{text('status')}.startsWith('the studio refused to open this session')")
        page.wait_for_timeout(1500)  # it asks again meanwhile, and is refused again
        assert "add shape = [rows, columns, features]" in page.inner_text("#line")
        assert "refused" in page.inner_text("#status")
        assert_accessible(page)
        shoot(page, "studio-refused")
        page.close()  # it would ask once more while the server ends
    finally:
        server.end()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Redirects are answers."""

    def redirect_request(self, *_):
        return None

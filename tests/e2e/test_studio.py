"""The studio in a browser: what its page shows is what the library says, and what is done there reaches the chip."""

import re

import numpy as np
import pytest
from studio_server import PAUSED, TICK, figure, played, ready, scene_of, text, tick, wait_tick

import neuromap as nm
from neuromap.studio.scene.commands import example_network


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
    page.click("text=Next frame")
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
        page.locator(f"#run-{k} summary", has_text="Spikes as a table").click()
        rows = page.locator(f"#numbers-{k} tr").all_inner_texts()[1:4]
        last = [line.split("\t")[:2] for line in rows]
        counts = run.labels.by_node(run.live.history[-1:])[1:]
        assert last == [[name, str(n)] for name, n in zip(("H1", "H2", "O"), counts, strict=True)]
    assert np.count_nonzero(stage.runs[0].live.input_frame["I"]) == int(
        re.search(r"(\d+) of 64", page.get_attribute("#sampled", "aria-label"))[1]
    )
    assert_accessible(page)
    assert_fits(page)


def test_a_click_on_the_map_of_cores_finds_the_core_that_is_there_and_north_is_up(server, open_page):
    page = ready(open_page(server.url))
    rollout = nm.Rollout(example_network(), nm.RolloutPattern.named(example_network(), "sequential"))
    program = nm.map_rollout(rollout, nm.load_chip("truenorth"))
    places = program.coordinates.tolist()
    x0, y1 = min(x for x, _ in places), max(y for _, y in places)
    assert y1 > min(y for _, y in places)
    for core, (x, y) in enumerate(places):
        page.click("#chip-1", position={"x": 36 + 44 * (x - x0) + 20, "y": 6 + 44 * (y1 - y) + 20})
        assert page.inner_text("#core-1").startswith(f"core {core} at ({x}, {y})")


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
    page.click("text=Next tick")
    until(page, "document.getElementById('sampled').getAttribute('aria-label').includes('4 of 64')")
    picture = scene_of(page, server).shown_at(9).pictures["I"][..., 0]
    assert sorted(zip(*(axis.tolist() for axis in np.nonzero(picture)), strict=True)) == [
        (0, 0),
        (0, 1),
        (0, 2),
        (2, 0),
    ]


def test_a_network_of_long_names_fits_a_telephone(server, open_page, assert_fits, until):
    long = "a-very-long-name." * 5 + "of-100-letters."
    nodes = {"I": "", "One": "threshold = 1", long: "threshold = 1"}
    text_of = ['format = 1\nname = "</script><img src=x onerror=alert(1)>"']
    text_of += [f'[nodes."{name}"]\nshape = [1, 1, {2 + len(name)}]\n{more}' for name, more in nodes.items()]
    for edge in (f"I -> {long}", f"{long} -> One"):
        text_of.append(f'[edges."{edge}"]\ntransform = "dense"\nweights = {{ seed = 1, values = [1] }}')
    page = ready(open_page(server.url, width=390))
    page.click("summary:has-text('Load files')")
    toml = {"name": "long.toml", "mimeType": "text/plain", "buffer": "\n".join(text_of).encode()}
    page.set_input_files("#network-files", [toml])
    until(page, f"{text('title')}.startsWith('</script>') && !{text('figures-0')}.includes('mapping')")
    ready(page)
    for summary in page.locator("summary").all():
        summary.click()
    for _ in range(3):
        page.keyboard.press("t")
    assert_fits(page)


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

"""Chip map and link load: every core and link once, with its node and its load; large boards stay small files."""

import re
from collections import Counter
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_networks import network_of_any_names

from neuromap.errors import InputError
from neuromap.files.messages import counted
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.mapping.map_rollout import map_rollout, map_with_stages
from neuromap.network.build import build_network
from neuromap.render.svg import standalone
from neuromap.report import latency_report
from neuromap.report import page as page_module
from neuromap.report.drawings.draw_chip import (
    LOAD_CLASSES,
    MOST_SQUARES,
    board_grid,
    draw_chip,
    draw_links,
    load_bounds,
    node_class,
)
from neuromap.report.figure_files import check_no_figure, figure_files, figure_folder, save_figures
from neuromap.report.figures.row import CoreMap
from neuromap.report.measure_row import core_map
from neuromap.report.text import distinct_rows
from neuromap.rollout.schedule.execution import EXECUTIONS
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.noc.measure_traffic import measure_traffic
from neuromap.simulation.stimulus import random_frames

SVG = "{http://www.w3.org/2000/svg}"
LINK = re.compile(r"\((\d+), (\d+)\) (east|west|north|south): (\d+) spikes? per tick, most in one tick")
DIRECTIONS = ("east", "west", "north", "south")


def titles(svg, pattern):
    found = [element.text for element in ElementTree.fromstring(svg).iter("title")]
    return [match for text in found if (match := re.fullmatch(pattern, text))]


def cores_at(coordinates, board=(64, 64), chips=(1, 1), n_nodes=3, dead=()):
    """A map by hand: node k % n_nodes in core k."""
    count = len(coordinates)
    zero, main = np.zeros(count, np.int64), np.arange(count) % n_nodes
    return CoreMap(
        names=tuple(f"N{k}" for k in range(n_nodes)),
        cores=(board[0] // chips[0], board[1] // chips[1]),
        chips=chips,
        tile=(1, 1),
        places=256,
        dead=dead,
        coordinates=np.array(coordinates, np.int32),
        neurons=zero + 5,
        main=main,
        second=zero - 1,
        main_neurons=zero + 5,
        second_neurons=zero,
        n_nodes=zero + 1,
        relays=zero,
        splitters=zero,
        parts=zero,
        copied=zero,
        cores_of_node=np.bincount(main, minlength=n_nodes),
    )


@given(st.data())
@settings(deadline=None, max_examples=25)
def test_every_core_has_the_colour_of_the_node_with_most_neurons(networks, patterns, chip, data):
    network = data.draw(networks())
    rollout = Rollout(network, data.draw(patterns(network)), data.draw(st.sampled_from(EXECUTIONS)))
    program = map_rollout(rollout, chip(axons=32, neurons=24, delay=(1, 15)))
    found = titles(draw_chip(core_map(program)), r"core \((\d+), (\d+)\): ([IJN]\d*) \((\d+) neurons?\).*")
    assert sorted((int(m[1]), int(m[2])) for m in found) == sorted(map(tuple, program.coordinates.tolist()))
    for match in found:
        core = next(
            k for k, place in enumerate(program.coordinates.tolist()) if place == [int(match[1]), int(match[2])]
        )
        held = Counter(program.nodes[node].name for node in program.neuron_node[core].tolist() if node >= 0)
        assert held[match[3]] == int(match[4]) == max(held.values())
        relays = int(program.is_relay[core].sum())
        assert ("of them" in match[0]) == bool(relays)
        others = len(held) - 1
        assert len(re.findall(r"neurons?\)", match[0])) == min(2, others + 1)


@given(st.data())
@settings(deadline=None, max_examples=25)
def test_every_loaded_link_is_drawn_with_its_peak(networks, patterns, chip, data):
    network = data.draw(networks())
    rollout = Rollout(network, data.draw(patterns(network)), "windowed")
    program = map_rollout(rollout, chip(axons=16, neurons=12, delay=(1, 15)))
    traffic = measure_traffic(program, random_frames(network, 5, seed=1))
    svg = draw_links(core_map(program), traffic.peak_loads)
    drawn = {(DIRECTIONS.index(m[3]), int(m[2]), int(m[1])): int(m[4]) for m in titles(svg, LINK)}
    loaded = {tuple(k): int(traffic.peak_loads[tuple(k)]) for k in np.argwhere(traffic.peak_loads[:4]).tolist()}
    assert drawn == loaded
    busiest = traffic.busiest_link
    if busiest is None:
        assert "no spike crosses a link" in svg
    else:
        name = f"({busiest.link.x}, {busiest.link.y}) {busiest.link.direction}"
        assert f"busiest: {name}" in svg
        assert f"{counted(busiest.spikes, 'spike')} in one tick" in svg


def test_links_are_drawn_between_routers_that_cores_share():
    rng, chip = np.random.default_rng(0), load_chip("loihi1", {"core.neurons": 6})
    edges = {("I", "H"): rng.integers(-1, 3, (60, 6)), ("H", "O"): rng.integers(0, 2, (20, 60))}
    network = build_network({"I": (6, None), "H": (60, 2), "O": (20, 2)}, edges)
    program = map_rollout(Rollout(network, "streaming"), chip)
    peaks = measure_traffic(program, random_frames(network, 5, seed=1)).peak_loads
    svg = draw_links(core_map(program), peaks)
    drawn = {(DIRECTIONS.index(m[3]), int(m[2]), int(m[1])): int(m[4]) for m in titles(svg, LINK)}
    assert drawn == {tuple(k): int(peaks[tuple(k)]) for k in np.argwhere(peaks[:4]).tolist()}
    routers = titles(svg, r"router \((\d+), (\d+)\): from its cores (\d+), into its cores (\d+) .*")
    found = {(int(m[1]), int(m[2])): (int(m[3]), int(m[4])) for m in routers}
    assert found == {(x, y): tuple(peaks[4:, y, x]) for x, y in map(tuple, np.unique(program.coordinates // 2, axis=0))}


@given(st.integers(0, 5000))
@settings(deadline=None)
def test_classes_of_loads_cover_all_of_them(most):
    bounds = load_bounds(most)
    assert len(bounds) == min(LOAD_CLASSES, most)
    assert bounds == sorted(set(bounds))
    if bounds:
        assert bounds[-1] == most
        widths = np.diff([0, *bounds])
        assert widths.max() - widths.min() <= 1


@given(
    st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 300), st.integers(1, 300)),
    st.sampled_from([(16, 16), (64, 64), (350, 350)]),
)
@settings(deadline=None)
def test_a_picture_has_few_squares_and_every_core_one(region, chip):
    grid = board_grid(region, (350, 350), chip)
    assert grid.columns * grid.rows <= MOST_SQUARES
    assert (grid.columns - 1) * grid.block < region[2] <= grid.columns * grid.block
    assert (grid.rows - 1) * grid.block < region[3] <= grid.rows * grid.block
    assert (grid.block == 1) == (region[2] * region[3] <= MOST_SQUARES)
    frame = "".join(grid.frame())
    assert any(f">{x}<" in frame for x in range(region[0], region[0] + region[2]))
    ElementTree.fromstring(f"<svg>{frame}</svg>")


def test_north_is_up():
    grid = board_grid((3, 5, 4, 4), (64, 64), (64, 64))
    assert grid.centre(0, 1)[1] < grid.centre(0, 0)[1]
    assert grid.centre(1, 0)[0] > grid.centre(0, 0)[0]
    assert grid.place(2, 3) == "(5, 8)"


@pytest.mark.parametrize(
    ("columns", "rows", "board", "chips"), [(64, 64, (64, 64), (1, 1)), (200, 256, (256, 256), (4, 4))]
)
def test_large_pictures_are_small_files(columns, rows, board, chips):
    places = [(x, y) for y in range(rows) for x in range(columns)]
    cores = cores_at(places, board, chips)
    peaks = np.random.default_rng(0).integers(0, 50, (6, board[1], board[0]))
    peaks[2, 7, 9] = 99
    chip, links = draw_chip(cores), draw_links(cores, peaks)
    assert len(chip) < 250_000
    assert len(links) < 400_000
    assert ("a square: up to 4 × 4 cores" in links) == (columns * rows > MOST_SQUARES)
    assert "busiest: (9, 7) north" in links
    for svg in (chip, links):
        assert len(list(ElementTree.fromstring(svg).iter())) < 300


def test_squares_of_several_cores_show_the_most_of_their_links():
    places = [(x, y) for y in range(100) for x in range(100)]
    peaks = np.zeros((6, 128, 128), np.int64)
    peaks[0, 5, 5], peaks[0, 4, 4] = 7, 3  # in the same square of 2 x 2 cores
    drawn = titles(
        draw_links(cores_at(places, (128, 128)), peaks), r"\((\d+), (\d+)\) to \((\d+), (\d+)\) (\w+): (\d+) .*"
    )
    assert [m.groups() for m in drawn] == [("4", "4", "5", "5", "east", "7")]


def test_chip_boundaries_dead_cores_and_marks_are_shown():
    places = [(x, y) for y in range(2, 6) for x in range(2, 6)]
    cores = replace(
        cores_at(places, (8, 8), (2, 2), dead=((3, 3), (7, 7))),
        relays=np.arange(16) % 2,
        splitters=np.arange(16) % 3,
        second=np.where(np.arange(16) == 5, 1, -1),
    )
    svg = draw_chip(cores)
    for part in (
        "chip-boundary",
        "dead-mark",
        "relay-mark",
        "splitter-mark",
        "4 chips",
        "shared by nodes",
        "N0: 6 cores",
    ):
        assert part in svg
    plain = draw_chip(cores_at(places, (64, 64)))
    for part in ("chip-boundary", "dead-mark", "relay-mark", "splitter-mark", "shared by nodes"):
        assert part not in plain


def test_colours_of_nodes_differ_for_the_first_24():
    assert len({node_class(node) for node in range(-1, 24)}) == 25
    assert node_class(24) == node_class(0)


def test_one_core_without_labels(by_hand):
    nodes = [("O", 1, "output", 0)]
    program = by_hand(nodes, {(0, 0): (0, 0, False, None), (0, 1): (-1, 0, False, (0, 0, 1))}, 2, [], [])
    bare = replace(program, neuron_node=np.full_like(program.neuron_node, -1))
    assert "without labels: 1 core" in draw_chip(core_map(bare))
    assert "no spike crosses a link" in draw_links(core_map(bare), np.zeros((6, 8, 8), int))


HOSTILE = "<script>\"&'</script>"


@pytest.fixture(scope="module")
def report():
    one = np.ones((1, 1), dtype=int)
    network = network_of_any_names(
        {"I": (1, None), HOSTILE: (1, 1), "O": (1, 1)},
        {("I", HOSTILE): one, (HOSTILE, "O"): one},
        patterns={"a/b": [("I", HOSTILE)], "a?b": [(HOSTILE, "O")], "../..": []},
        name=HOSTILE,
    )
    return latency_report(
        network, patterns=["a/b", "a?b", "../..", "streaming"], executions=["windowed", "pipelined:2"]
    )


def test_files_are_whole_svg_documents_with_safe_names(report):
    files = figure_files(report)
    assert len(files) == 8 * 7 + 4 * 2 + 1  # rows, patterns, the overview
    assert set(files) >= {"a-b-windowed-chip.svg", "streaming-pipelined-2-links.svg", "pattern-windowed-chip.svg"}
    for name, text in files.items():
        assert re.fullmatch(r"[\w-]+\.svg", name)
        root = ElementTree.fromstring(text)
        assert root.tag == f"{SVG}svg"
        style = root.find(f"{SVG}style").text
        assert "prefers-color-scheme: dark" in style
        used, defined = set(re.findall(r"var\((--[\w-]+)\)", text)), set(re.findall(r"(--[\w-]+):", style))
        assert used <= defined
        assert not [part for part in ("href", "url(", "@import", "<script") if part in text]
        assert not [element for element in root.iter() if element.get("id")]
        assert HOSTILE in "".join(root.itertext())


def test_pictures_are_written_all_or_none(report, tmp_path):
    written = save_figures(report, tmp_path / "new")
    assert sorted(written) == sorted((tmp_path / "new").iterdir())
    assert {path.suffix for path in written} >= {".svg"}
    assert len([path for path in written if path.suffix == ".svg"]) == 8 * 7 + 4 * 2 + 1
    (tmp_path / "blocked").mkdir()
    (tmp_path / "blocked" / "streaming-windowed-links.svg").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        report.save_figures(tmp_path / "blocked")
    assert len(list((tmp_path / "blocked").iterdir())) == 1
    with pytest.raises(InputError, match="create it first"):
        report.save_figures(tmp_path / "missing" / "new")
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="is a file"):
        report.save_figures(tmp_path / "file")


def test_the_page_has_every_picture_of_every_row(report):
    page = report.to_html()
    for heading in ("Chip map: cores", "Load of links", "Cores in use by spikes per tick", "Spikes of "):
        assert page.count(f'aria-label="{heading}') == 2 * len(distinct_rows(report))  # one of them for telephones


def test_a_page_leaves_pictures_to_files_where_they_are_too_large(report, monkeypatch):
    monkeypatch.setattr(page_module, "MOST_PICTURES", 50_000)
    page = report.to_html()
    shown = page.count('aria-label="Load of links') / 2  # one of them for telephones
    left = page.count("report --figures FOLDER writes them")
    assert shown + left == len(distinct_rows(report))
    assert shown
    assert left


def test_a_standalone_drawing_keeps_its_content():
    network = build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): np.ones((1, 1), int)})
    drawing = draw_chip(core_map(map_with_stages(Rollout(network, "streaming")).program), "head & tail")
    before, after = (
        [e.tag.removeprefix(SVG) for e in ElementTree.fromstring(t).iter()] for t in (drawing, standalone(drawing))
    )
    assert after == [before[0], "style", "rect", *before[1:]]
    assert "head &amp; tail: " not in drawing
    assert "head &amp; tail" in standalone(drawing)


def test_names_of_pictures_are_free_in_any_case(report):
    row = report.rows[0]
    names = ("a b", "a/b", "A.b", "a-b-windowed-3", "a?b", "A-B")
    rows = [replace(row, pattern=name, execution="windowed") for name in (*names, "a-b-windowed-6", "a*b")]
    files = figure_files(replace(report, rows=tuple(rows)))
    assert len(files) == len({name.casefold() for name in files}) == 9 * len(rows) + 1
    rows = [replace(row, pattern="x-windowed-2", execution="3"), replace(row, pattern="x", execution="windowed-2-3")]
    rows += [replace(row, pattern="x", execution="windowed-2-3")] * 3
    assert len(figure_files(replace(report, rows=tuple(rows)))) == 7 * len(rows) + 2 * 2 + 1


def test_a_new_folder_goes_again_and_the_error_that_counts_is_told(report, tmp_path):
    place = tmp_path / "new"
    files = figure_files(report)

    def write_and_fail():
        with figure_folder(place, files):
            for name, text in files.items():
                (place / name).write_text(text)
            raise InputError("no space left")

    with pytest.raises(InputError, match="no space left"):
        write_and_fail()
    assert not place.exists()
    place.mkdir()
    (place / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="no space left"):
        write_and_fail()
    assert (place / "mine.txt").read_text() == "mine"


def test_a_path_with_a_null_character_is_no_folder(report):
    with pytest.raises(InputError, match="null character"):
        report.save_figures("pic\0tures")


def test_names_that_pictures_may_have_are_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "pics")
    for wrong in (
        "pics/streaming-windowed-chip.svg",
        "link/x-LINKS.svg",
        "pics/../pics/-chip.svg",
        "pics/Overview.pdf",
    ):
        with pytest.raises(InputError, match="may be the name of a figure"):
            check_no_figure(tmp_path / wrong, tmp_path / "pics")
    for right in ("pics/x.html", "pics/chip.svg", "x-chip.svg", "pics/more/x-chip.svg", "nu\0ll"):
        check_no_figure(tmp_path / right, tmp_path / "pics")


def test_files_of_drawings_name_colours_by_number():
    """Inkscape, librsvg and LaTeX know no variables of CSS; dark screens still get their own colours."""
    text = standalone('<svg viewBox="0 0 1 1"></svg>')
    assert "var(" not in text
    assert "--" not in text
    light, dark = text.split("@media (prefers-color-scheme: dark)")
    assert "text { fill: #1c2430;" in light
    assert "text { fill: #e6e9ee;" in dark

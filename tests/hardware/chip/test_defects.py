"""Defects of a board: as values, in files, and which routes they block; a slow walker is the oracle."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import neuromap as nm
from neuromap.errors import ChipError
from neuromap.hardware.checker import Place, check_program
from neuromap.hardware.chip.chip_document import chip_document, chip_from_document, load_defects
from neuromap.hardware.chip.chip_spec import Defects, defect_map, route_blocked, unusable
from neuromap.hardware.program.chip_program import xy_route
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.hardware.program_file import program_from_bytes

PLAIN = settings(deadline=None, max_examples=60)


@st.composite
def boards(draw):
    """Columns, rows, and defects on them."""
    columns, rows = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    places = st.tuples(st.integers(0, columns - 1), st.integers(0, rows - 1))
    links = [((x, y), (x + 1, y)) for x in range(columns - 1) for y in range(rows)]
    links += [((x, y), (x, y + 1)) for x in range(columns) for y in range(rows - 1)]
    turned = st.booleans()
    dead = [
        link[::-1] if draw(turned) else link
        for link in (draw(st.lists(st.sampled_from(links), max_size=8)) if links else [])
    ]
    return columns, rows, Defects(draw(st.lists(places, max_size=5)), draw(st.lists(places, max_size=5)), dead)


def board(columns, rows, defects=None):
    chip = dataclasses.replace(nm.load_chip("truenorth"), cores=(columns, rows), reach=None)
    return chip if defects is None else chip.with_defects(defects)


def walker_is_stopped(defects, start, end):
    """Walk with unit steps and ask the plain lists at every one."""
    at = list(start)
    if tuple(at) in defects.routers:
        return True
    for axis in (0, 1):
        while at[axis] != end[axis]:
            before = tuple(at)
            at[axis] += int(np.sign(end[axis] - at[axis]))
            after = tuple(at)
            if after in defects.routers or (before, after) in defects.links or (after, before) in defects.links:
                return True
    return False


def all_pairs(columns, rows):
    places = np.array([(x, y) for x in range(columns) for y in range(rows)])
    k = len(places)
    return np.repeat(places, k, axis=0), np.tile(places, (k, 1))


@given(case=boards())
@PLAIN
def test_routes_are_blocked_where_a_walker_is_stopped(case):
    columns, rows, defects = case
    start, end = all_pairs(columns, rows)
    expected = [walker_is_stopped(defects, s, e) for s, e in zip(start.tolist(), end.tolist(), strict=True)]
    chip = board(columns, rows, defects)
    assert route_blocked(chip, start, end).tolist() == expected
    assert defect_map(chip).blocked(start.astype(np.int32), end.astype(np.int32)).tolist() == expected


@given(case=boards())
@PLAIN
def test_unusable_cores_are_the_dead_and_those_of_dead_routers(case):
    columns, rows, defects = case
    chip = board(columns, rows, defects)
    mask = unusable(chip)
    assert mask.shape == (rows, columns)
    assert {(int(x), int(y)) for y, x in np.argwhere(mask)} == {*defects.cores, *defects.routers}
    assert chip.n_usable_cores == columns * rows - int(mask.sum())
    assert chip.n_cores == columns * rows
    assert chip.with_defects(Defects()) == board(columns, rows)


@given(case=boards(), data=st.data())
@PLAIN
def test_order_repetition_and_direction_do_not_matter(case, data):
    _, _, defects = case
    shuffled = Defects(
        *(data.draw(st.permutations(2 * getattr(defects, key))) for key in ("cores", "routers")),
        [link[::-1] for link in data.draw(st.permutations(2 * defects.links))],
    )
    assert shuffled == defects
    assert hash(shuffled) == hash(defects)
    assert all(one < other for one, other in defects.links)
    assert bool(defects) == any(vars(defects).values())


def test_dead_cores_forward_and_dead_routers_do_not():
    start, end = np.array([[0, 0]]), np.array([[2, 2]])
    corner = ((2, 0),)
    assert not route_blocked(board(3, 3, Defects(cores=corner)), start, end)[0]
    assert route_blocked(board(3, 3, Defects(routers=corner)), start, end)[0]
    # y first would go around the corner
    assert not route_blocked(board(3, 3, Defects(routers=((0, 2),))), start, end)[0]
    both = Defects(links=(((1, 0), (0, 0)),))
    assert route_blocked(board(3, 3, both), start, end)[0]
    assert route_blocked(board(3, 3, both), np.array([[1, 0]]), np.array([[0, 2]]))[0]
    assert not route_blocked(board(3, 3, both), start, np.array([[0, 2]]))[0]


@given(start=st.tuples(st.integers(0, 9), st.integers(0, 9)), end=st.tuples(st.integers(0, 9), st.integers(0, 9)))
@PLAIN
def test_a_route_turns_once(start, end):
    route = list(xy_route(start, end))
    assert (route[0], route[-1]) == (start, end)
    assert len(route) == len(set(route)) == 1 + abs(start[0] - end[0]) + abs(start[1] - end[1])
    steps = [(x2 - x, y2 - y) for (x, y), (x2, y2) in itertools.pairwise(route)]
    assert all(abs(dx) + abs(dy) == 1 for dx, dy in steps)
    assert [dy != 0 for _, dy in steps] == sorted(dy != 0 for _, dy in steps)


def test_routes_beyond_the_board_are_refused():
    chip = board(4, 4, Defects(routers=((1, 1),)))
    for places in ([[0, 4]], [[-1, 0]], [[4, 0]]):
        with pytest.raises(ChipError, match="outside of the board of 4 x 4 cores"):
            route_blocked(chip, np.array(places), np.array([[0, 0]]))
    with pytest.raises(ChipError, match=r"shape \(3,\); needs \(k, 2\)"):
        route_blocked(chip, np.array([0, 1, 2]), np.array([[0, 0]]))
    assert route_blocked(chip, np.zeros((0, 2), int), np.zeros((0, 2), int)).tolist() == []


def test_a_full_board_of_routes():
    """Millions of routes at once, on a board whose middle column is cut but for one row."""
    columns = rows = 256
    cut = [((127, y), (128, y)) for y in range(rows) if y != 77]
    chip = board(columns, rows, Defects(links=cut))
    rng = np.random.default_rng(0)
    start, end = (rng.integers(0, columns, (1_000_000, 2)) for _ in range(2))
    expected = ((start[:, 0] < 128) != (end[:, 0] < 128)) & (start[:, 1] != 77)
    assert np.array_equal(route_blocked(chip, start, end), expected)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"cores": 3}, "defects.cores: found 3; allowed is a list"),
        ({"cores": "ab"}, "defects.cores: found 'ab'; allowed is a list"),
        ({"cores": ["ab"]}, "defects.cores: found 'ab'; allowed are coordinates"),
        ({"cores": [(1,)]}, "defects.cores: found (1,); allowed are coordinates [x, y]"),
        ({"cores": [(True, 0)]}, "defects.cores: found (True, 0)"),
        ({"cores": [(0.0, 1)]}, "defects.cores: found (0.0, 1)"),
        ({"routers": [(0, -1)]}, "defects.routers: found (0, -1)"),
        ({"routers": [None]}, "defects.routers: found None"),
        ({"links": [(0, 1)]}, "defects.links: found (0, 1); allowed are two cores side by side"),
        ({"links": [((0, 1),)]}, "defects.links: found ((0, 1),); allowed are two cores side by side"),
        ({"links": [((0, 0), (0, 0))]}, "defects.links: found ((0, 0), (0, 0)); allowed are two cores side by side"),
        ({"links": [((1, 1), (0, 0))]}, "defects.links: found ((0, 0), (1, 1)); allowed are two cores side by side"),
        ({"cores": None}, "defects.cores: found None; allowed is a list"),
        ({"cores": b"ab"}, "defects.cores: found b'ab'"),
        ({"cores": [b"ab"]}, "defects.cores: found b'ab'"),
        ({"cores": np.array(3)}, "defects.cores: found array(3); allowed is a list"),
        ({"cores": [np.array(3)]}, "defects.cores: found array(3); allowed are coordinates"),
        ({"cores": [np.array([True, False])]}, "defects.cores: found array([ True, False])"),
        ({"cores": np.array([[0.5, 1]])}, "defects.cores: found [0.5, 1.0]"),
        ({"links": range(10**9)}, "defects.links: found 0"),
    ],
)
def test_malformed_defects(values, words):
    with pytest.raises(ChipError) as caught:
        Defects(**values)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("defects", "words"),
    [
        (Defects(cores=((8, 0),)), "defects.cores: found (8, 0); allowed are x from 0 to 7 and y from 0 to 3"),
        (Defects(routers=((0, 4),)), "defects.routers: found (0, 4)"),
        (Defects(links=(((7, 3), (8, 3)),)), "defects.links: found ((7, 3), (8, 3))"),
        (Defects(links=(((7, 3), (7, 4)),)), "defects.links: found ((7, 3), (7, 4))"),
        (Defects(cores=((10**30, 0),)), "defects.cores: found (1000"),
    ],
)
def test_defects_beyond_the_board(defects, words):
    with pytest.raises(ChipError) as caught:
        board(8, 4, defects)
    assert words in str(caught.value)
    with pytest.raises(ChipError, match=r"chip truenorth: defects: found \[\]; needs Defects"):
        board(8, 4, [])
    with pytest.raises(ChipError, match="over the whole board"):
        dataclasses.replace(board(8, 8, Defects(cores=((0, 7),))), cores=(8, 4))


def test_numpy_coordinates_become_plain_ones():
    defects = Defects(cores=np.array([[1, 2], [0, 3]]), links=np.array([[[1, 0], [0, 0]]]))
    assert defects == Defects(cores=((0, 3), (1, 2)), links=(((0, 0), (1, 0)),))
    assert type(defects.cores[0][0]) is int


@given(case=boards(), figure=st.none() | st.floats(0, 100))
@PLAIN
def test_round_trip_of_chip_files_with_defects(case, figure):
    chip = board(*case)
    if figure is not None:
        chip = dataclasses.replace(chip, router={**chip.router, "boundary_hops": figure})
    document = chip_document(chip)
    assert ("defects" in document) == bool(chip.defects)
    assert chip_from_document(document, "test") == chip
    assert nm.load_chip(chip) is chip


@given(case=boards())
@PLAIN
def test_a_defects_file_holds_the_table_of_a_chip_file(case, tmp_path_factory):
    columns, rows, defects = case
    table = chip_document(board(columns, rows, defects)).get("defects", {})
    path = tmp_path_factory.mktemp("defects") / "dead.toml"
    path.write_text("format = 1\n" + "".join(f"{key} = {entries}\n" for key, entries in table.items()))
    assert load_defects(path) == load_defects(str(path)) == defects


def test_a_program_carries_the_defects_of_its_chip(random_program):
    program = random_program(2)
    assert "defects" not in chip_document(program.chip)
    x, y = (int(v) for v in program.coordinates[0])
    defects = Defects(cores=((x, y),))
    broken = dataclasses.replace(program, chip=program.chip.with_defects(defects))
    with pytest.raises(nm.errors.ProgramError, match="rule dead-core"):
        program_from_bytes(program_bytes(broken), "test")
    assert program_from_bytes(program_bytes(broken), "test", check=False).chip.defects == defects


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["format: missing; allowed is 1"]),
        ("format = 2", ["format: found 2"]),
        ("format = 1\ncore = []", ["core: unknown key", "did you mean 'cores'?"]),
        ("format = 1\ncores = 3", ["cores: found 3; allowed is a list of [x, y]"]),
        ("format = 1\ncores = {}", ["cores: found {}"]),
        ("format = 1\ncores = [[0, 0], 3]", ["cores[1]: found 3; allowed is [x, y], integers from 0"]),
        ("format = 1\ncores = [[0, 0, 0]]", ["cores[0]: found [0, 0, 0]"]),
        ("format = 1\nrouters = [[0, -1]]", ["routers[0]: found [0, -1]"]),
        ("format = 1\nrouters = [[true, 0]]", ["routers[0]: found [True, 0]"]),
        ("format = 1\nrouters = [[0.0, 0]]", ["routers[0]: found [0.0, 0]"]),
        ("format = 1\nrouters = [['0', 0]]", ["routers[0]: found ['0', 0]"]),
        ("format = 1\nlinks = [[0, 0, 0]]", ["links[0]: found [0, 0, 0]; allowed is [x, y, x2, y2]"]),
        ("format = 1\nlinks = [[[0, 0], [0, 1]]]", ["links[0]: found [[0, 0], [0, 1]]"]),
        ("format = 1\nlinks = [[0, 0, 0, 1], [0, 0, 1, 1]]", ["links[1]: found [0, 0, 1, 1]", "side by side"]),
        ("format = 1\nlinks = [[0, 0, 0, 0]]", ["links[0]: found [0, 0, 0, 0]", "side by side"]),
        ("format = 1\ncores = [[", ["is not TOML"]),
        ("format = 1\ncores = [[" + "9" * 5000 + ", 0]]", ["too many digits"]),
        ("format = 1\ncores = " + "[" * 100_000, ["nested too deep"]),
        ("#" * (2**24 + 1), ["is larger than 16 MiB; expected a defects file"]),
        ("format = 1\n[defects]\ncores = []", ["defects: unknown key; allowed are format, cores, routers, links"]),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_malformed_files_name_key_value_and_bound(tmp_path, text, words):
    path = tmp_path / "dead.toml"
    path.write_text(text)
    with pytest.raises(ChipError) as caught:
        load_defects(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert len(message) < 400 + len(str(path))
    for word in words:
        assert word in message


def test_missing_files_and_folders(tmp_path):
    for path, words in ((tmp_path / "no.toml", "does not exist"), (tmp_path, "is a folder"), ("a\0b", "is not a path")):
        with pytest.raises(ChipError, match=words):
            load_defects(path)


@given(data=st.binary(max_size=200), format_first=st.booleans())
@settings(deadline=None, max_examples=100)
def test_damaged_files_are_one_line(tmp_path_factory, data, format_first):
    path = tmp_path_factory.mktemp("damaged") / "dead.toml"
    path.write_bytes(b"format = 1\ncores = [[1, 2]]\nlinks = " * format_first + data)
    try:
        defects = load_defects(path)
    except ChipError as error:
        assert "\n" not in str(error)  # noqa: PT017  most of them are refused
    else:
        assert isinstance(defects, Defects)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (3, "defects: found 3; allowed is a table"),
        ({"core": []}, "defects.core: unknown key"),
        ({"cores": [[99, 0]]}, "defects.cores: found (99, 0); allowed are x from 0 to 63"),
        ({"links": [[0, 0, 2, 0]]}, "defects.links[0]: found [0, 0, 2, 0]"),
        ({"routers": [[0, False]]}, "defects.routers[0]: found [0, False]"),
    ],
)
def test_the_table_of_a_chip_file(table, words):
    document = chip_document(nm.load_chip("truenorth")) | {"defects": table}
    with pytest.raises(ChipError) as caught:
        chip_from_document(document, "mine.toml")
    assert f"mine.toml: {words}" in str(caught.value)


# the checker


def spread(random_program, seed):
    """A legal program on a board of 9 x 9 cores, its cores anywhere on it."""
    program = random_program(seed)
    rng = np.random.default_rng(seed)
    places = rng.permutation(81)[: program.n_cores]
    chip = dataclasses.replace(program.chip, cores=(9, 9), chips=(1, 1), reach=None)
    return dataclasses.replace(program, chip=chip, coordinates=np.stack(np.divmod(places, 9), axis=1).astype(np.int32))


@given(seed=st.integers(0, 2**32), data=st.data())
@PLAIN
def test_the_checker_finds_what_the_walker_finds(random_program, seed, data):
    program = spread(random_program, seed)
    assert check_program(program) == []
    coordinate = st.integers(0, 8)
    defects = Defects(
        data.draw(st.lists(st.tuples(coordinate, coordinate), max_size=10)),
        data.draw(st.lists(st.tuples(coordinate, coordinate), max_size=4)),
        [((x, y), (x + 1, y)) for x, y in data.draw(st.lists(st.tuples(st.integers(0, 7), coordinate), max_size=4))]
        + [((x, y), (x, y + 1)) for x, y in data.draw(st.lists(st.tuples(coordinate, st.integers(0, 7)), max_size=4))],
    )
    found = check_program(dataclasses.replace(program, chip=program.chip.with_defects(defects)))
    xy = [tuple(place) for place in program.coordinates.tolist()]
    cores = [Place(core=c) for c, place in enumerate(xy) if place in {*defects.cores, *defects.routers}]
    routes = [
        Place(core=int(c), neuron=int(n))
        for c, n in np.argwhere(program.target_core >= 0)
        if walker_is_stopped(defects, xy[c], xy[program.target_core[c, n]])
    ]
    assert [v.place for v in found if v.rule == "dead-core"] == cores
    assert [v.place for v in found if v.rule == "dead-route"] == routes
    assert {v.rule for v in found} <= {"dead-core", "dead-route"}


@pytest.mark.parametrize(
    ("defects", "rule", "words"),
    [
        (Defects(cores=((1, 2),)), "dead-core", "core 0: coordinate is (1, 2); needs a core that works"),
        (Defects(routers=((6, 5),)), "dead-core", "core 1: coordinate is (6, 5)"),
        (Defects(routers=((6, 2),)), "dead-route", "route (x, y to x, y) is (1, 2, 6, 5); needs a way, x first, "
         "without the dead router (6, 2)"),
        (Defects(routers=((6, 3), (6, 4))), "dead-route", "without the dead router (6, 3)"),
        (Defects(links=(((4, 2), (3, 2)),)), "dead-route", "without the dead link (3, 2) - (4, 2)"),
        (Defects(links=(((6, 4), (6, 5)),)), "dead-route", "without the dead link (6, 4) - (6, 5)"),
        (Defects(cores=((6, 2),), routers=((1, 5),), links=(((6, 5), (7, 5)),)), "", ""),
    ],
)  # fmt: skip
def test_one_wire_meets_one_defect(random_program, edited, defects, rule, words):
    program = next(p for p in (spread(random_program, s) for s in range(99)) if p.n_cores == 2)
    program = edited(program, "coordinates", lambda a: np.array([[1, 2], [6, 5]], np.int32))
    program = edited(program, "target_core", lambda a: a * 0 - 1)
    program = edited(program, "target_core", lambda a: a.__setitem__((0, 0), 1))
    program = edited(program, "target_axon", lambda a: a * 0)
    program = edited(program, "delay", lambda a: a * 0)
    program = edited(program, "delay", lambda a: a.__setitem__((0, 0), program.chip.delay[0]))
    outputs = dataclasses.replace(program.outputs, **{k: v[:0] for k, v in vars(program.outputs).items()})
    program = dataclasses.replace(program, outputs=outputs)
    assert check_program(program) == []
    found = check_program(dataclasses.replace(program, chip=program.chip.with_defects(defects)))
    assert [v.rule for v in found if v.rule == rule] == [rule] * bool(rule)
    assert rule or not found
    assert all(words in v.message for v in found if v.rule == rule)


def test_targets_that_are_no_cores_are_left_to_their_own_rule(random_program, edited):
    """The last core sends to one behind it, which no route leads to."""
    programs = (spread(random_program, seed) for seed in range(99))
    program = next(p for p in programs if p.n_cores > 1 and (p.target_core[-1] >= 0).any())
    chip = program.chip.with_defects(Defects(routers=((0, 0),), links=(((3, 3), (4, 3)),)))
    program = dataclasses.replace(program, chip=chip)
    sender = program.n_cores - 1, int(np.flatnonzero(program.target_core[-1] >= 0)[0])
    known = {v.rule for v in check_program(program)}
    for far in (-2, program.n_cores, 2**31 - 1):
        moved = edited(program, "target_core", lambda a, far=far: a.__setitem__(sender, far))
        assert {v.rule for v in check_program(moved)} <= known | {"target-exists"}


def test_places_off_the_board_are_left_to_their_own_rule(random_program, edited):
    program = spread(random_program, 3)
    chip = program.chip.with_defects(Defects(routers=((0, 0),), links=(((3, 3), (4, 3)),)))
    program = dataclasses.replace(program, chip=chip)
    for far in (-(2**31), -1, 9, 2**31 - 1):
        moved = edited(program, "coordinates", lambda a, far=far: a * 0 + far)
        assert {v.rule for v in check_program(moved)} <= {"coordinate-on-grid", "coordinate-unique"}

"""Placement: one contract for every strategy; what the exchanges claim beyond it; refusals whose remedies map."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from neuromap.errors import DoesNotFitError, InputError
from neuromap.hardware.chip.chip_spec import Defects, route_blocked
from neuromap.mapping.options.options import PLACERS
from neuromap.mapping.place import board, exchange_kernel
from neuromap.mapping.place import board as few_cores
from neuromap.mapping.place.board import best_reached, board_for
from neuromap.mapping.place.place import hilbert_curve, place

REFINED = ("auto", "exchange")


def wires(n: int, seed: int, per_core: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    source = rng.integers(0, n, per_core * n)
    return source, (source + rng.integers(0, 3, len(source))) % n


def crossing(hops: float) -> dict[str, float]:
    """Router figures of a chip whose boundary costs so many hops."""
    return {"boundary_hops": hops} if hops else {}


def sum_of_ways(where: np.ndarray, links: tuple[np.ndarray, np.ndarray]) -> int:
    """Count the links that all wires cross."""
    return int(np.abs(where[links[0]] - where[links[1]]).sum())


def check(where: np.ndarray, n: int, links: tuple[np.ndarray, np.ndarray], spec, regions=None) -> None:
    """The contract, without code of the placers."""
    assert where.shape == (n, 2)
    assert where.dtype == np.int64
    assert len({(x, y) for x, y in where.tolist()}) == n
    assert ((where >= 0) & (where < (spec.columns, spec.rows))).all()
    dead = {*spec.defects.cores, *spec.defects.routers}
    assert not dead & {(x, y) for x, y in where.tolist()}
    start, end = where[links[0]], where[links[1]]
    if spec.reach is not None:
        assert (np.abs(start - end) <= spec.reach).all()
    assert not route_blocked(spec, start, end).any()
    for (x, y), region in zip(where.tolist(), regions or [None] * n, strict=True):
        if region is not None:
            assert region[0] <= x <= region[2]
            assert region[1] <= y <= region[3]


def test_the_compiled_code_knows_the_directions_of_the_wiring():
    assert (exchange_kernel.FORWARD, exchange_kernel.BACKWARD) == (few_cores.FORWARD, few_cores.BACKWARD)


@pytest.mark.parametrize("placer", PLACERS)
@pytest.mark.parametrize(
    ("n", "grid", "chips"),
    [
        (0, (4, 4), (1, 1)),
        (1, (1, 1), (1, 1)),
        (2, (1, 2), (1, 1)),
        (5, (5, 1), (1, 1)),
        (6, (2, 3), (1, 1)),
        (37, (64, 64), (1, 1)),
        (64, (8, 8), (1, 1)),
        (30, (4, 9), (1, 1)),
        (90, (4, 4), (3, 2)),
        (96, (4, 4), (3, 2)),
    ],
)
def test_every_core_has_its_own_place_on_the_board(chip, placer, n, grid, chips):
    spec = chip(cores=grid, chips=chips, router={"boundary_hops": 2.0})
    links = wires(max(n, 1), 0) if n else (np.zeros(0, int),) * 2
    where = place(n, links, spec, placer)
    check(where, n, links, spec)
    np.testing.assert_array_equal(where, place(n, links, spec, placer))  # deterministic


@pytest.mark.parametrize("placer", PLACERS)
@pytest.mark.parametrize("n", [9, 80])
def test_parts_that_no_wire_joins_are_placed(chip, placer, n):
    rng = np.random.default_rng(n)
    source = rng.integers(0, n // 3, 40)
    links = (np.concatenate([source, source + n // 3]), np.concatenate([source[::-1], source[::-1] + n // 3]))
    check(place(n, links, chip(), placer), n, links, chip())
    nothing = np.zeros(0, np.int64)
    check(place(n, (nothing, nothing), chip(), placer), n, (nothing, nothing), chip())


@st.composite
def cases(draw):
    """A board with defects, reach and regions, and a graph that leaves room on it."""
    columns, rows = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    places = [(x, y) for x in range(columns) for y in range(rows)]
    some = st.lists(st.sampled_from(places), max_size=4)
    links = [(p, q) for p in places for q in ((p[0] + 1, p[1]), (p[0], p[1] + 1)) if q in places]
    dead = st.lists(st.sampled_from(links), max_size=4) if links else st.just([])
    defects = Defects(draw(some), draw(st.lists(st.sampled_from(places), max_size=2)), draw(dead))
    usable = sorted(set(places) - {*defects.cores, *defects.routers})
    assume(usable)
    n = draw(st.integers(1, min(len(usable), 16)))
    ends = st.lists(st.integers(0, n - 1), min_size=2 * n, max_size=2 * n)
    pairs = np.array(draw(ends)).reshape(2, n)
    reach = draw(st.none() | st.tuples(st.integers(1, 7), st.integers(1, 7)))
    half = (0, 0, columns - 1, (rows - 1) // 2)
    regions = draw(st.none() | st.lists(st.sampled_from([None, half]), min_size=n, max_size=n))
    return columns, rows, defects, n, (pairs[0], pairs[1]), reach, regions


@pytest.mark.parametrize("placer", PLACERS)
@given(case=cases())
@settings(max_examples=40, deadline=None)
def test_a_layout_is_legal_or_refused(chip, placer, case):
    columns, rows, defects, n, links, reach, regions = case
    spec = chip(cores=(columns, rows), reach=reach, defects=defects)
    try:
        where = place(n, links, spec, placer, regions=regions)
    except DoesNotFitError as refusal:
        found = refusal.infeasibility
        assert found.limit in ("cores", "reach", "routes")
        assert found.gap > 0
        assert found.remedies
        for remedy in found.remedies:
            if remedy.lever == "chip.reach":
                wider = chip(cores=(columns, rows), reach=(remedy.value,) * 2, defects=defects)
                check(place(n, links, wider, placer, regions=regions), n, links, wider, regions)
    else:
        check(where, n, links, spec, regions)


@pytest.mark.parametrize("placer", REFINED)
@pytest.mark.parametrize("n", [40, 100])
@pytest.mark.parametrize("seed", range(3))
def test_exchanges_never_cost_hops(chip, placer, n, seed):
    links = wires(n, seed)
    reached = sum_of_ways(place(n, links, chip(), placer, seed=seed), links)
    for start in ("hilbert", "spectral"):
        assert reached <= sum_of_ways(place(n, links, chip(), start), links)


@pytest.mark.parametrize(("n", "annealed"), [(12, True), (70, True), (70, False)])
def test_no_exchange_and_no_move_saves(chip, monkeypatch, n, annealed):
    """Every exchange of two cores, and every move to a vacant place, tried one by one."""
    if not annealed:  # as where so many pairs are wired that there is no time for it
        monkeypatch.setattr(board, "_FEW_PROPOSALS", np.inf)
        monkeypatch.setattr(board, "_MOST_WIRED", 0.0)
    spec, links = chip(cores=(9, 9)), wires(n, 9)
    where = place(n, links, spec, "exchange")
    reached = sum_of_ways(where, links)
    vacant = sorted({(x, y) for x in range(9) for y in range(9)} - {(x, y) for x, y in where.tolist()})
    for a in range(n):
        for b in range(a):
            other = where.copy()
            other[[a, b]] = other[[b, a]]
            assert sum_of_ways(other, links) >= reached
        for to in vacant:
            other = where.copy()
            other[a] = to
            assert sum_of_ways(other, links) >= reached


@pytest.mark.parametrize("n_wires", [20, 300])
def test_wires_are_added_up(n_wires):
    """Fewer than there are pairs of cores, and more."""
    source, target = np.random.default_rng(n_wires).integers(0, 9, (2, n_wires))
    there = np.zeros((9, 9))
    np.add.at(there, (source, target), 1)
    np.fill_diagonal(there, 0)
    graph = few_cores.wiring(9, (source, target))
    np.testing.assert_array_equal(graph.matrix().toarray(), there + there.T)
    np.testing.assert_array_equal(np.transpose([graph.source, graph.target]), np.argwhere(there))
    ways = few_cores.FORWARD * (there > 0) + few_cores.BACKWARD * (there.T > 0)
    np.testing.assert_array_equal(graph.direction, ways[ways > 0])


@pytest.mark.parametrize("boundary", [0.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_table_of_all_pairs_leads_to_the_same_layout(chip, monkeypatch, boundary, seed):
    """On a board of two chips, with cores that may be in one half of it only."""
    spec, links = chip(cores=(6, 13), chips=(2, 1), router=crossing(boundary)), wires(90, seed)
    regions = [((0, 0, 5, 12), None, None)[core % 3] for core in range(90)]
    monkeypatch.setattr(board, "_DENSE", 0.0)
    dense = place(90, links, spec, regions=regions, seed=seed)
    monkeypatch.setattr(board, "_DENSE", 2.0)
    sparse = place(90, links, spec, regions=regions, seed=seed)
    np.testing.assert_array_equal(dense, sparse)


@pytest.mark.parametrize("n", range(2, 7))
@pytest.mark.parametrize("boundary", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("seed", range(4))
def test_few_cores_are_placed_as_well_as_can_be(chip, n, seed, boundary):
    """Against all layouts on a board of 2 x 3 places in two chips. It is not promised, but it is so in these cases."""
    spec = chip(cores=(1, 3), chips=(2, 1), router=crossing(boundary))
    rng = np.random.default_rng(seed)
    links = tuple(rng.integers(0, n, (2, 3 * n)))
    places = np.array([(x, y) for x in range(2) for y in range(3)])

    def price(where):
        return np.abs(where[links[0]] - where[links[1]]) @ (1 + boundary, 1)

    least = min(price(places[list(choice)]).sum() for choice in permutations(range(6), n))
    found = price(place(n, links, spec)).sum()
    assert found == pytest.approx(least)


@pytest.mark.parametrize("n", [16, 144])
def test_a_grid_is_found_again(chip, n):
    """A shuffled grid has a layout in which every way is one hop."""
    side = int(n**0.5)
    name = np.random.default_rng(n).permutation(n).reshape(side, side)
    links = (
        np.concatenate([name[:, 1:].ravel(), name[1:].ravel()]),
        np.concatenate([name[:, :-1].ravel(), name[:-1].ravel()]),
    )
    where = place(n, links, chip(cores=(side, side)))
    assert sum_of_ways(where, links) == len(links[0])


@pytest.mark.parametrize("n", [8, 72])
def test_a_boundary_that_costs_is_crossed_by_fewer_wires(chip, n):
    """Two groups that are wired within belong on two chips."""
    rng = np.random.default_rng(n)
    group = rng.permutation(n) % 2
    pairs = rng.integers(0, n, (2, 12 * n))
    pairs = pairs[:, group[pairs[0]] == group[pairs[1]]]
    side = int((n / 2) ** 0.5)
    spec = chip(cores=(side, side), chips=(2, 1), router=crossing(50.0))
    where = place(n, (pairs[0], pairs[1]), spec)
    on_second = where[:, 0] >= side
    assert (on_second[pairs[0]] == on_second[pairs[1]]).all()


@pytest.mark.parametrize("placer", PLACERS)
@pytest.mark.parametrize("n", [20, 90])
def test_regions_that_overlap_are_kept(chip, placer, n):
    spec, links = chip(cores=(12, 12)), wires(n, 1)
    left, top, corner = (0, 0, 5, 11), (0, 0, 11, 5), (0, 0, 5, 5)
    regions = [(left, top, corner, None)[core % 4] for core in range(n)]
    check(place(n, links, spec, placer, regions=regions), n, links, spec, regions)


def test_regions_are_shared_out_where_a_greedy_choice_fails(chip):
    """Row 0 and column 0 hold seven cores; each must leave the shared corner to the other or take it."""
    spec, links = chip(cores=(4, 4)), wires(7, 1)
    for of_row in (3, 4):
        regions = [(0, 0, 3, 0)] * of_row + [(0, 0, 0, 3)] * (7 - of_row)
        check(place(7, links, spec, regions=regions), 7, links, spec, regions)
    with pytest.raises(DoesNotFitError) as refusal:
        place(8, wires(8, 1), spec, regions=[(0, 0, 3, 0)] * 4 + [(0, 0, 0, 3)] * 4)
    assert (refusal.value.infeasibility.limit, refusal.value.infeasibility.gap) == ("cores", 1)


def test_more_cores_than_work_are_refused(chip):
    spec = chip(cores=(2, 2), defects=Defects(cores=[(1, 1)]))
    with pytest.raises(DoesNotFitError) as refusal:
        place(4, wires(4, 0), spec)
    found = refusal.value.infeasibility
    assert (found.limit, found.demand, found.bound) == ("cores", 4, 3)


@pytest.mark.parametrize("n", [30, 100])
def test_dead_links_are_gone_around(chip, n):
    """A wall with a gap: pairs on its two sides have to use the rows of the gap."""
    rng = np.random.default_rng(n)
    walls = [((4, y), (5, y)) for y in range(12) if y not in (3, 4)]
    spec = chip(cores=(12, 12), defects=Defects(links=walls, routers=[(2, 2), (8, 7)], cores=[(0, 0)]))
    source = rng.integers(0, n - 1, n)
    links = (source, source + 1)
    for placer in ("auto", "row-major", "spectral"):
        check(place(n, links, spec, placer), n, links, spec)


@pytest.mark.parametrize("placer", PLACERS)
def test_a_board_cut_in_two_is_refused_with_the_pairs(chip, placer):
    """Three cores on four places, of which no route leads to the other two."""
    spec = chip(cores=(4, 1), defects=Defects(links=[((1, 0), (2, 0))]))
    with pytest.raises(DoesNotFitError) as refusal:
        place(3, (np.array([0, 1]), np.array([1, 2])), spec, placer)
    found = refusal.value.infeasibility
    assert (found.limit, found.demand, found.bound) == ("routes", 1, 0)
    assert "1 pair of cores" in found.statement
    assert "1 of 3 cores cannot be reached" in found.statement
    assert "of 4 cores of the board that work, none reaches more than 2" in found.statement
    assert found.remedies


def test_as_many_places_are_reached_as_routes_lead_to(chip):
    """Counted place by place, with routes that are walked."""
    spec = chip(cores=(5, 4), defects=Defects(links=[((1, 0), (2, 0))], routers=[(2, 2), (3, 1)], cores=[(4, 3)]))
    board = board_for(1, spec, None)
    places = [(x, y) for y in range(4) for x in range(5) if board.usable[y, x]]
    reached = [sum(not route_blocked(spec, np.array([a]), np.array([b]))[0] for b in places) for a in places]
    assert best_reached(board).sum() == max(reached) < len(places)


def test_cores_that_fit_one_side_of_a_wall_are_placed_there(chip):
    """Too many for the narrow side of a wall without a gap, few enough for the wide one."""
    spec = chip(cores=(12, 12), defects=Defects(routers=[(4, y) for y in range(12)]))
    n = 80
    links = (np.arange(n - 1), np.arange(1, n))
    check(place(n, links, spec, "hilbert"), n, links, spec)


@pytest.mark.parametrize("placer", PLACERS)
def test_a_target_out_of_reach_is_refused_with_a_reach_that_maps(chip, placer):
    """A star of 10 cores does not fit into the 9 places that a reach of 1 allows."""
    links = (np.zeros(9, np.int64), np.arange(1, 10))
    with pytest.raises(DoesNotFitError) as refusal:
        place(10, links, chip(reach=(1, 1)), placer)
    found = refusal.value.infeasibility
    assert (found.limit, found.demand, found.bound) == ("reach", 2, 1)
    assert (found.remedies[0].lever, found.remedies[0].value) == ("chip.reach", 2)
    check(place(10, links, chip(reach=(2, 2)), placer), 10, links, chip(reach=(2, 2)))


@pytest.mark.parametrize("n", [12, 80])
def test_exchanges_bring_targets_into_reach(chip, n):
    """A chain in random order: only a layout that follows it keeps a reach of one core."""
    order = np.random.default_rng(n).permutation(n)
    links = (order[:-1], order[1:])
    spec = chip(cores=(10, 10), reach=(2, 2))
    with pytest.raises(AssertionError):  # the plain curve does not keep it
        check(place(n, links, chip(cores=(10, 10)), "hilbert"), n, links, spec)
    check(place(n, links, spec), n, links, spec)
    check(place(n, links, spec, "hilbert"), n, links, spec)


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_a_limit_in_seconds_still_gives_a_layout(chip, seconds):
    links = wires(200, 3)
    where = place(200, links, chip(), seconds=seconds)
    check(where, 200, links, chip())
    assert sum_of_ways(where, links) <= sum_of_ways(place(200, links, chip(), "hilbert"), links)


def test_progress_is_told(chip):
    told = []
    place(100, wires(100, 0), chip(), progress=lambda *parts: told.append(parts))
    assert told
    assert all(0 <= done <= total and text for done, total, text in told)


def test_wires_count_as_often_as_they_occur(chip):
    links = wires(90, 5)
    often = tuple(np.tile(ends, 3) for ends in links)
    np.testing.assert_array_equal(place(90, links, chip(), "spectral"), place(90, often, chip(), "spectral"))


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_the_hilbert_curve_visits_every_point_in_steps_of_one(order):
    curve = hilbert_curve(order)
    assert len(np.unique(curve, axis=0)) == 4**order
    assert (np.abs(np.diff(curve, axis=0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"placer": "magic"}, r"placer magic: is not known.*row-major, hilbert"),
        ({"seed": -1}, r"seed: found -1"),
        ({"seed": 2**63}, r"seed: found 9223372036854775808; allowed are integers from 0 to 9223372036854775807"),
        ({"seconds": -1.0}, r"seconds: found -1"),
        ({"regions": [None]}, r"regions: found 1 for 3 cores"),
        ({"regions": [None, None, (0, 0, 16, 3)]}, r"region of core 2: found \(0, 0, 16, 3\).*x1 <= 15"),
        ({"wires": (np.array([0]), np.array([3]))}, r"wires: found core 3; allowed are 0 to 2"),
    ],
)
def test_bad_input_is_named(chip, change, message):
    asked = {"wires": wires(3, 0), "chip": chip()} | change
    with pytest.raises(InputError, match=message):
        place(3, **asked)


def test_a_boundary_that_costs_no_number_is_refused(chip):
    with pytest.raises(InputError, match="boundary_hops: found nan"):
        place(3, wires(3, 0), chip(router={"boundary_hops": float("nan")}))


def test_assignment_names_its_limit(chip):
    with pytest.raises(InputError, match=r"'assignment': found 1501 cores; at most 1500.*take 'exchange'"):
        place(1501, wires(1501, 0, 1), chip(cores=(64, 64)), "assignment")

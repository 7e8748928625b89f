"""A mesh as a reader would write it: ways as lists of servers, and a simulation cycle by cycle."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import strategies as st

from neuromap.simulation.noc.traffic import DIRECTIONS, Mesh, RouterClock, Ways


def links_of(way):
    """The links of one way (x, y, end x, end y) as (direction, x, y), in order."""
    x, y, end_x, end_y = way
    links = [("in", x, y)]
    while (x, y) != (end_x, end_y):
        if x < end_x:
            links.append(("east", x, y))
            x += 1
        elif x > end_x:
            links.append(("west", x, y))
            x -= 1
        elif y < end_y:
            links.append(("north", x, y))
            y += 1
        else:
            links.append(("south", x, y))
            y -= 1
    return [*links, ("out", x, y)]


def servers_of(mesh, clock, way):
    """What serves a spike on its way, in order: (server, cycles that it is busy, cycles that it takes)."""
    servers = []
    for link in links_of(way):
        direction, x, y = link
        to_x = x + {"east": 1, "west": -1}.get(direction, 0)
        to_y = y + {"north": 1, "south": -1}.get(direction, 0)
        chip = (x // mesh.chip_columns, y // mesh.chip_rows)
        to_chip = (to_x // mesh.chip_columns, to_y // mesh.chip_rows)
        if direction in ("in", "out"):
            servers.append((link, 1, 1))
        elif chip == to_chip:
            servers.append((link, 1, clock.hop_cycles))
        else:
            crossing = clock.hop_cycles if clock.boundary_cycles is None else clock.boundary_cycles
            port = clock.port_cycles
            before = [] if port is None else [(("ports", *chip), port, port)]
            after = [] if port is None else [(("ports", *to_chip), port, port)]
            servers += [*before, (link, 1, crossing), *after]
    return servers


def cycle_by_cycle(routes, released, choose):
    """Arrival of every spike; ``choose(waiting)`` picks one of [(ready, spike, servers left)] for a free server."""
    position, ready = [0] * len(routes), list(released)
    arrival, free_at, cycle = [None] * len(routes), {}, 0
    while any(a is None for a in arrival):
        waiting = {}
        for spike, servers in enumerate(routes):
            if arrival[spike] is None and ready[spike] <= cycle:
                left = len(servers) - position[spike]
                waiting.setdefault(servers[position[spike]], []).append((ready[spike], spike, left))
        for (server, busy, takes), spikes in waiting.items():
            if free_at.get(server, 0) <= cycle:
                spike = choose(spikes)[1]
                free_at[server] = cycle + busy
                ready[spike] = cycle + takes
                position[spike] += 1
                if position[spike] == len(routes[spike]):
                    arrival[spike] = cycle + takes
        cycle += 1
    return np.array(arrival, np.int64)


@st.composite
def _meshes(draw, largest_chip=4, most_chips=3):
    columns, rows = draw(st.integers(1, largest_chip)), draw(st.integers(1, largest_chip))
    return Mesh(columns * draw(st.integers(1, most_chips)), rows * draw(st.integers(1, most_chips)), columns, rows)


@st.composite
def _ways(draw, mesh, most=30):
    """Ways of some spikes; often many of few cores, so that they meet."""
    n, n_cores = draw(st.integers(0, most)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    places = np.stack([rng.integers(mesh.columns, size=n_cores), rng.integers(mesh.rows, size=n_cores)])
    start, end = places[:, rng.integers(n_cores, size=n)], places[:, rng.integers(n_cores, size=n)]
    if draw(st.booleans()):
        end = np.stack([rng.integers(mesh.columns, size=n), rng.integers(mesh.rows, size=n)])
    return Ways(*start.astype(np.int64), *end.astype(np.int64))


@st.composite
def _clocks(draw):
    cycles = st.integers(1, 4)
    return RouterClock(
        None, draw(cycles), draw(st.none() | cycles), draw(st.none() | cycles)
    )  # fmt: skip


def _each(ways):
    return [tuple(int(v) for v in way) for way in zip(*ways, strict=True)]


def _number(mesh, link):
    return DIRECTIONS.index(link[0]), link[2], link[1]


def _spread(program, chip, seed):
    """The program on a board of other size, its cores anywhere."""
    rng = np.random.default_rng(seed)
    chip = replace(program.chip, cores=chip.cores, chips=chip.chips, router=chip.router)
    places = rng.permutation(chip.n_cores)[: program.n_cores]
    coordinates = np.stack([places % chip.columns, places // chip.columns], axis=1).astype(np.int32)
    return replace(program, chip=chip, coordinates=coordinates)


@st.composite
def _programs(draw, make_chip, random_program, delays=(1, 3)):
    """Random programs, anywhere on boards of one or more chips, with or without figures of the router."""
    router = {"link_spikes_per_second": 1e6, "hop_seconds": draw(st.sampled_from([1e-7, 1e-6, 3e-6]))}
    router |= {"boundary_spikes_per_second": draw(st.sampled_from([2e6, 5e5, 3e5]))} if draw(st.booleans()) else {}
    chip = make_chip(
        cores=(draw(st.integers(2, 4)), draw(st.integers(2, 4))),
        chips=(draw(st.integers(1, 3)), draw(st.integers(1, 2))),
        delay=delays,
        router=router if draw(st.booleans()) else {},
    )
    seed = draw(st.integers(0, 2**32))
    program = random_program(np.random.default_rng(seed), chip, draw(st.integers(1, min(8, chip.n_cores))))
    return _spread(program, chip, seed)


@pytest.fixture(scope="session")
def meshes():
    return _meshes


@pytest.fixture(scope="session")
def ways_on():
    return _ways


@pytest.fixture(scope="session")
def clocks():
    return _clocks


@pytest.fixture(scope="session")
def programs(make_chip, random_program):
    return lambda **more: _programs(make_chip, random_program, **more)


@pytest.fixture(scope="session")
def brute():
    """The functions of this file that answer by brute force."""

    class Brute:
        links_of = staticmethod(links_of)
        servers_of = staticmethod(servers_of)
        cycle_by_cycle = staticmethod(cycle_by_cycle)
        each = staticmethod(_each)
        number = staticmethod(_number)

    return Brute

"""Drawings of a network and its rollout window: which edges stream and which work within a frame."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate, pairwise

from neuromap.files.messages import counted
from neuromap.network.edge import EdgeKey
from neuromap.network.network import Network
from neuromap.render.svg import (
    Point,
    arrow,
    drawing,
    element,
    inline_image,
    label,
    names_width,
    number,
    shorten,
    standalone,
)
from neuromap.render.table import fact_table
from neuromap.rollout.pattern import RolloutPattern

# Networks with more edges are not drawn, as nobody could read them.
MOST_EDGES = 150
_WIDTH, _HEIGHT = 84.0, 40.0
_COLUMN = 150.0
_MARGIN = 14.0
# Height of a self-edge above its node.
_LOOP = 30.0


def edge_class(streaming: int) -> str:
    """Class of an edge in the style sheet."""
    return "edge streaming" if streaming else "edge sequential"


def edge_title(source: str, target: str, streaming: int) -> str:
    """Tooltip of an edge."""
    kind = "sequential" if streaming == 0 else "streaming" if streaming == 1 else f"bridges {streaming} frames"
    return f"{source} -> {target}: {kind} (R = {streaming})"


@dataclass(frozen=True)
class _Way:
    """Direction of a drawing: layers to the right, or down the page. Places are (along it, across it)."""

    down: bool = False

    @property
    def along(self) -> float:
        """Half the size of a node along the direction."""
        return (_HEIGHT if self.down else _WIDTH) / 2

    @property
    def across(self) -> float:
        """Half the size of a node across the direction."""
        return (_WIDTH if self.down else _HEIGHT) / 2

    def centre(self, layer: int, across: float, top: float) -> Point:
        """Return the centre of a node, or the bend of an edge."""
        step, room = (_HEIGHT + 40.0, 1.5) if self.down else (_COLUMN, 1.0)  # nodes are wider than high
        return _MARGIN + self.along + step * layer, top + room * across

    def point(self, place: Point) -> Point:
        """Convert a place to a point of the drawing."""
        return place[::-1] if self.down else place

    def path(self, start: Point, *pieces: str | Point) -> str:
        """Write an SVG path: commands followed by their places."""
        words = ["M", *(one if isinstance(one, str) else _pair(self.point(one)) for one in (start, *pieces))]
        return re.sub(" ?([A-Z]) ?", r"\1", " ".join(words))


def draw_network(network: Network, pattern: RolloutPattern | None, *, down: bool = False) -> str:
    """Draw a network with its streaming and sequential edges; ``down`` the page for phones."""
    # pattern: any pattern of it, valid or not; ``None`` draws the structure alone
    places, way = layout(network), _Way(down)
    loops = any(u == v for u, v in network.edges)
    top = _MARGIN + way.across + (_LOOP if loops else 0)
    centre = {name: way.centre(places.layer[name], places.y[name], top) for name in network.nodes}
    floor = way.centre(0, places.height, top)[1] + way.across
    edges = []
    n_back = 0
    for (u, v), r in dict.fromkeys(network.edges, 0).items() if pattern is None else pattern.items():
        if u == v:
            path, before, end = _loop(centre[u], way)
        elif (u, v) in places.back_edges:
            n_back += 1
            path, before, end = _back(centre[u], centre[v], floor + 26.0 * n_back, way)
        else:
            bends = [way.centre(places.layer[u] + k, y, top) for k, y in enumerate(places.bends[u, v], start=1)]
            path, before, end = _forward(centre[u], centre[v], bends, way)
        if network.is_spiking:
            least, greatest = network.edges[u, v].delays
            span = counted(greatest, "tick") if least == greatest else f"{least} to {greatest} ticks"
            title = f"{u} -> {v}: delay {span}"
        else:
            title = f"{u} -> {v}" if pattern is None else edge_title(u, v, r)
        ends = way.point(before), way.point(end)
        edges.append(arrow(path, *ends, edge_class(r), title, data_source=u, data_target=v))
    nodes = [_node(network, name, way.point(centre[name])) for name in network.nodes]
    length = way.centre(max(places.layer.values()), 0, top)[0] + way.along + _MARGIN
    said = "" if pattern is None else f" with the edges of pattern {pattern.name}"
    size = way.point((length, floor + _MARGIN + 26.0 * n_back))
    return drawing(*size, [*edges, *nodes], f"Network {network.name}{said}")


def _forward(start: Point, end: Point, bends: list[Point], way: _Way) -> tuple[str, Point, Point]:
    first, tip = (start[0] + way.along, start[1]), (end[0] - way.along, end[1])
    pieces: list[str | Point] = []
    here = first
    for x, y in bends:
        # level over the width of a node, so that the edge keeps clear of the nodes of this layer
        pieces += [*_curve(here, (x - way.along, y)), "L", (x + way.along, y)]
        here = (x + way.along, y)
    pieces += _curve(here, tip)
    return way.path(first, *pieces), (tip[0] - 10, tip[1]), tip


def _curve(start: Point, end: Point) -> list[str | Point]:
    middle = (start[0] + end[0]) / 2
    return ["C", (middle, start[1]), (middle, end[1]), end]


def _back(start: Point, end: Point, depth: float, way: _Way) -> tuple[str, Point, Point]:
    first, tip = (start[0] - 12, start[1] + way.across), (end[0] + 12, end[1] + way.across)
    return way.path(first, "C", (first[0], depth), (tip[0], depth), tip), (tip[0], tip[1] + 10), tip


def _loop(centre: Point, way: _Way) -> tuple[str, Point, Point]:
    x, y = centre[0], centre[1] - way.across
    first, tip = (x - 16, y), (x + 16, y)
    out = y - _LOOP - 6
    return way.path(first, "C", (x - 26, out), (x + 26, out), tip), (tip[0] + 4, tip[1] - 10), tip


def _node(network: Network, name: str, centre: Point) -> str:
    node = network.nodes[name]
    role = "input" if name in network.inputs else "output" if name in network.outputs else "hidden"
    size = "" if node.shape is None else "×".join(str(n) for n in node.shape)
    x, y = centre
    box = element("rect", x=x - _WIDTH / 2, y=y - _HEIGHT / 2, width=_WIDTH, height=_HEIGHT, rx=8.0, class_="box")
    texts = [label(x, y - 1 if size else y + 5, shorten(name, 9), "name")]
    if size:
        texts.append(label(x, y + 13, shorten(size, 13), "small"))
    title = f"{name}: {role} node" + (f", {size}" if size else "")
    return element("g", box, *texts, title=title, class_=f"node {role}")


# Layout of a drawing: layers by longest path, few crossings, smooth long edges.
#
# The usual steps for layered drawings (Sugiyama, Tagawa, Toda 1981): turn back edges, layer by longest path, give
# long edges a bend in every layer they cross, order by barycentres, then place.


_SWEEPS = 8
# Vertical room of a node, and of a bend of a long edge.
_GAP = {True: 66.0, False: 30.0}
# A node ``(name,)``, or a bend ``(source, target, layer)``.
_Item = tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """Places of nodes and bends."""

    layer: dict[str, int]  # layer of every node; inputs have 0
    y: dict[str, float]  # vertical place of every node, 0 at the top
    # vertical places of the bends of every forward edge, one per layer that it crosses
    bends: dict[EdgeKey, tuple[float, ...]]
    back_edges: frozenset[EdgeKey]  # edges that run against the layers, self-edges not included
    height: float  # greatest vertical place
    order: tuple[str, ...]  # nodes by layer, then from top to bottom


def layout(network: Network) -> Layout:
    """Lay out a network from left to right."""
    # network: any network; the layout does not depend on a pattern, so that patterns can be compared
    back = _back_edges(network)
    forward = [key for key in network.edges if key[0] != key[1] and key not in back]
    layer = _longest_paths(network, forward)
    chains: dict[EdgeKey, list[_Item]] = {
        (u, v): [(u,), *((u, v, str(k)) for k in range(layer[u] + 1, layer[v])), (v,)] for u, v in forward
    }
    columns: list[list[_Item]] = [[] for _ in range(max(layer.values()) + 1)]
    for name in network.nodes:
        columns[layer[name]].append((name,))
    left: dict[_Item, list[_Item]] = {}
    right: dict[_Item, list[_Item]] = {}
    for (u, _), chain in chains.items():
        for k, item in enumerate(chain[1:-1], start=1):
            columns[layer[u] + k].append(item)
        for a, b in pairwise(chain):
            right.setdefault(a, []).append(b)
            left.setdefault(b, []).append(a)
    place = _place(columns, left, right)
    return Layout(
        layer=layer,
        y={name: place[(name,)] for name in network.nodes},
        bends={key: tuple(place[item] for item in chain[1:-1]) for key, chain in chains.items()},
        back_edges=back,
        height=max(place.values()),
        order=tuple(sorted(network.nodes, key=lambda n: (layer[n], place[(n,)]))),
    )


def _back_edges(network: Network) -> frozenset[EdgeKey]:
    """Find the edges that close a cycle in a depth-first search from the inputs, then other nodes, in file order."""
    import networkx as nx  # slow to import

    root = ""  # no node is called that
    first = (*network.inputs, *network.nodes)  # a bias or a state may drive nodes that no input reaches
    graph: nx.DiGraph[str] = nx.DiGraph([*((root, name) for name in first), *network.edges])
    on_the_way, back = set[str](), set[EdgeKey]()
    for u, v, step in nx.dfs_labeled_edges(graph, root):
        if step == "forward":
            on_the_way.add(v)
        elif step == "reverse":
            on_the_way.remove(v)
        elif u != v and v in on_the_way:
            back.add((u, v))
    return frozenset(back)


def _longest_paths(network: Network, forward: list[EdgeKey]) -> dict[str, int]:
    import networkx as nx  # slow to import

    graph: nx.DiGraph[str] = nx.DiGraph(forward)
    graph.add_nodes_from(network.nodes)
    layer = {name: k for k, names in enumerate(nx.topological_generations(graph)) for name in names}
    # An input that feeds only deep layers is placed just before the first of them.
    for name in network.inputs:
        layer[name] = max(0, min((layer[v] for u, v in forward if u == name), default=1) - 1)
    return layer


def _place(
    columns: list[list[_Item]], left: dict[_Item, list[_Item]], right: dict[_Item, list[_Item]]
) -> dict[_Item, float]:
    place = {item: 40.0 * (k - (len(column) - 1) / 2) for column in columns for k, item in enumerate(column)}

    def wish(item: _Item, *sides: dict[_Item, list[_Item]]) -> float:
        """Return the mean place of the neighbours on some sides."""
        near = [place[other] for side in sides for other in side.get(item, ())]
        return sum(near) / len(near) if near else place[item]

    def move(column: list[_Item], wishes: dict[_Item, float]) -> None:
        heights = spread([wishes[item] for item in column], [_GAP[len(item) == 1] for item in column])
        place.update(zip(column, heights, strict=True))

    for sweep in range(_SWEEPS):
        side, in_turn = (left, columns) if sweep % 2 == 0 else (right, columns[::-1])
        for column in in_turn:
            wishes = {item: wish(item, side) for item in column}
            column.sort(key=wishes.__getitem__)
            move(column, wishes)
    for column in columns:  # last: between both sides
        move(column, {item: wish(item, left, right) for item in column})
    top = min(place.values())
    return {item: y - top for item, y in place.items()}


def spread(wish: list[float], room: list[float]) -> list[float]:
    """Find the places nearest to the desired ones (least squares) that keep order and room between neighbours."""
    offset = list(accumulate(((a + b) / 2 for a, b in pairwise(room)), initial=0.0))
    blocks: list[tuple[float, int]] = []  # mean and size: pool adjacent violators
    for w, o in zip(wish, offset, strict=False):
        blocks.append((w - o, 1))
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (b, m), (a, n) = blocks.pop(), blocks.pop()
            blocks.append(((a * n + b * m) / (n + m), n + m))
    flat = [mean for mean, size in blocks for _ in range(size)]
    return [f + o for f, o in zip(flat, offset, strict=False)]


# Size of the rollout window that reports draw.
WINDOW = 3
_RADIUS = 14.0
_FRAME, _ROW = 74.0, 52.0
_TOP = 40.0


def window_of(pattern: RolloutPattern) -> str | None:
    """Draw the rollout window of a pattern; ``None`` if the pattern is invalid, or its network is spiking."""
    is_shown = pattern.is_valid and not pattern.network.is_spiking
    return draw_window(pattern.network, pattern) if is_shown else None


def draw_window(network: Network, pattern: RolloutPattern, window: int = WINDOW) -> str:
    """Draw the rollout window of a valid pattern with its tableau."""
    # returns one ``<svg>`` element; the numbers are update steps. Nodes have ``data-at`` (frame and position in
    # ``network.nodes``, with a dot between) and ``data-step``, edges ``data-from`` and ``data-to``
    tableau = pattern.tableau(window)
    order = layout(network).order
    row = {name: k for k, name in enumerate(order)}
    left = names_width(order) + 4
    number_of = {name: k for k, name in enumerate(network.nodes)}

    def centre(frame: int, name: str) -> Point:
        return (left + _RADIUS + _FRAME * frame, _TOP + _RADIUS + _ROW * row[name])

    parts = [label(left + _RADIUS + _FRAME * frame, 18, f"frame {frame}", "heading") for frame in range(window + 1)]
    parts += [
        label(left - 22, centre(0, name)[1] + 4.5, shorten(name, 10), "name", anchor="end", title=name)
        for name in order
    ]
    for frame in range(window + 1):
        for (u, v), r in pattern.items():
            if frame + r > window:
                continue
            start, end = centre(frame, u), centre(frame + r, v)
            faint = " faint" if frame + r == 0 else ""
            path, before, tip = _line(start, end) if r else _inside(start, end, row[v] - row[u])
            ends = {"data_from": f"{frame}.{number_of[u]}", "data_to": f"{frame + r}.{number_of[v]}"}
            parts.append(arrow(path, before, tip, edge_class(r) + faint, edge_title(u, v, r), **ends))
    for (frame, name), step in tableau.items():
        x, y = centre(frame, name)
        role = "input" if name in network.inputs else "output" if name in network.outputs else "hidden"
        circle = element("circle", cx=x, cy=y, r=_RADIUS, class_="box")
        title = f"{name}, frame {frame}: known at update step {step}"
        shown = {"data_at": f"{frame}.{number_of[name]}", "data_step": str(step)}
        text = label(x, y + 4.5, str(step), "name")
        parts.append(element("g", circle, text, title=title, class_=f"node {role}", **shown))
    width = left + 2 * _RADIUS + _FRAME * window + 16 + 5 * len(order)
    height = _TOP + 2 * _RADIUS + _ROW * (len(order) - 1) + 14
    return drawing(width, height, parts, f"Rollout window of size {window} of pattern {pattern.name} with its tableau")


def _line(start: Point, end: Point) -> tuple[str, Point, Point]:
    first, tip = _towards(start, end), _towards(end, start)
    return f"M{_pair(first)}L{_pair(tip)}", start, tip


def _inside(start: Point, end: Point, rows: int) -> tuple[str, Point, Point]:
    """Draw an edge within a frame: straight to the next row, else around the rows between."""
    if abs(rows) == 1:
        return _line(start, end)
    middle = (start[0] + 20 + 9 * abs(rows), (start[1] + end[1]) / 2)
    first, tip = _towards(start, middle), _towards(end, middle)
    return f"M{_pair(first)}Q{_pair(middle)} {_pair(tip)}", middle, tip


def _towards(centre: Point, other: Point) -> Point:
    dx, dy = other[0] - centre[0], other[1] - centre[1]
    length = (dx * dx + dy * dy) ** 0.5 or 1.0
    return (centre[0] + dx / length * (_RADIUS + 1.5), centre[1] + dy / length * (_RADIUS + 1.5))


def _pair(point: Point) -> str:
    return f"{number(point[0])} {number(point[1])}"


def to_notebook(pattern: RolloutPattern) -> str:
    """Write picture and facts of a pattern as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    network = pattern.network
    table = fact_table(type(pattern).__name__, pattern._facts().items())
    if len(network.edges) > MOST_EDGES:
        return table
    return inline_image(standalone(window_of(pattern) or draw_network(network, pattern))) + table

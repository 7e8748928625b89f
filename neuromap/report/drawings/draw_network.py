"""The network as a drawing: which edges stream and which work inside a frame."""

from __future__ import annotations

from neuromap.files.messages import counted
from neuromap.forms.svg import Point, arrow, drawing, element, label, number, shorten
from neuromap.network.network import Network
from neuromap.report.drawings.layers import layout
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["draw_network", "edge_class", "edge_title"]

_WIDTH, _HEIGHT = 84.0, 40.0
_COLUMN = 150.0
_MARGIN = 14.0
_LOOP = 30.0
"""Height of a self-edge above its node."""


def edge_class(streaming: int) -> str:
    """Class of an edge in the style sheet."""
    return "edge streaming" if streaming else "edge sequential"


def edge_title(source: str, target: str, streaming: int) -> str:
    """Tooltip of an edge."""
    kind = "sequential" if streaming == 0 else "streaming" if streaming == 1 else f"bridges {streaming} frames"
    return f"{source} -> {target}: {kind} (R = {streaming})"


def _delay_title(network: Network, source: str, target: str) -> str:
    """Tooltip of an edge of a spiking network."""
    least, greatest = network.edges[source, target].delays
    span = counted(greatest, "tick") if least == greatest else f"{least} to {greatest} ticks"
    return f"{source} -> {target}: delay {span}"


def draw_network(network: Network, pattern: RolloutPattern | None) -> str:
    """Draw a network with its streaming and sequential edges."""
    # pattern: any pattern of it, valid or not; ``None`` draws the structure alone
    places = layout(network)
    loops = any(u == v for u, v in network.edges)
    top = _MARGIN + _HEIGHT / 2 + (_LOOP if loops else 0)
    floor = top + places.height + _HEIGHT / 2
    centre = {
        name: (_MARGIN + _WIDTH / 2 + _COLUMN * places.layer[name], top + places.y[name]) for name in network.nodes
    }
    edges = []
    n_back = 0
    for (u, v), r in dict.fromkeys(network.edges, 0).items() if pattern is None else pattern.items():
        if u == v:
            path, before, end = _loop(centre[u])
        elif (u, v) in places.back_edges:
            n_back += 1
            path, before, end = _back(centre[u], centre[v], floor + 26.0 * n_back)
        else:
            points = [(_bend_x(places.layer[u] + k), top + y) for k, y in enumerate(places.bends[u, v], start=1)]
            path, before, end = _forward(centre[u], centre[v], points)
        if network.is_spiking:
            title = _delay_title(network, u, v)
        else:
            title = f"{u} -> {v}" if pattern is None else edge_title(u, v, r)
        edges.append(arrow(path, before, end, edge_class(r), title, data_source=u, data_target=v))
    nodes = [_node(network, name, centre[name]) for name in network.nodes]
    width = 2 * _MARGIN + _WIDTH + _COLUMN * max(places.layer.values())
    height = floor + _MARGIN + 26.0 * n_back
    said = "" if pattern is None else f" with the edges of pattern {pattern.name}"
    return drawing(width, height, [*edges, *nodes], f"Network {network.name}{said}")


def _bend_x(layer: int) -> float:
    return _MARGIN + _WIDTH / 2 + _COLUMN * layer


def _forward(start: Point, end: Point, bends: list[Point]) -> tuple[str, Point, Point]:
    first = (start[0] + _WIDTH / 2, start[1])
    tip = (end[0] - _WIDTH / 2, end[1])
    path = f"M{number(first[0])} {number(first[1])}"
    before = first
    here = first
    for x, y in bends:
        # level over the width of a node, so that the edge keeps clear of the nodes of this layer
        path += _curve(here, (x - _WIDTH / 2, y)) + f"L{number(x + _WIDTH / 2)} {number(y)}"
        here = (x + _WIDTH / 2, y)
    path += _curve(here, tip)
    before = (tip[0] - 10, tip[1])
    return path, before, tip


def _curve(start: Point, end: Point) -> str:
    middle = (start[0] + end[0]) / 2
    return "C" + " ".join(number(c) for c in (middle, start[1], middle, end[1], *end))


def _back(start: Point, end: Point, depth: float) -> tuple[str, Point, Point]:
    first = (start[0] - 12, start[1] + _HEIGHT / 2)
    tip = (end[0] + 12, end[1] + _HEIGHT / 2)
    controls = (first[0], depth, tip[0], depth, *tip)
    path = f"M{number(first[0])} {number(first[1])}C" + " ".join(number(c) for c in controls)
    return path, (tip[0], tip[1] + 10), tip


def _loop(centre: Point) -> tuple[str, Point, Point]:
    x, y = centre[0], centre[1] - _HEIGHT / 2
    tip = (x + 16, y)
    path = f"M{number(x - 16)} {number(y)}C" + " ".join(
        number(c) for c in (x - 26, y - _LOOP - 6, x + 26, y - _LOOP - 6, *tip)
    )
    return path, (tip[0] + 4, tip[1] - 10), tip


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

"""An import as one self-contained HTML page, and as pictures and a table in a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from neuromap.exchange.imported import Imported, Note
from neuromap.exchange.of_imports import NOTES, error_text, note_text, to_dict
from neuromap.files.messages import counted
from neuromap.quantise.forms import error_percent, quantisation_tables
from neuromap.quantise.quantisation import Quantisation, TrainDistance
from neuromap.render.numbers import plain, seconds
from neuromap.render.page import data_block, page_script, render_page
from neuromap.render.svg import drawing, element, inline_image, label, number, shorten, standalone
from neuromap.render.table import Column, Table, csv_text, fact_table
from neuromap.report.drawings.draw_network import MOST_EDGES, draw_network

# Most notes written as sentences; further ones are counted.
_MOST_NOTES = 3


def is_exact(found: Imported) -> bool:
    """Whether nothing was approximated, quantised or left out."""
    return not found.approximated and not found.refused and found.quantisation is None


def findings(found: Imported) -> dict[str, tuple[str, ...]]:
    """Describe what became of an import, in sentences by heading."""
    said = {"Taken over": _sentences(_taken(found), *_work_said(found))}
    if found.quantisation is not None:
        said[f"In the integers of {found.quantisation.chip}"] = _sentences(*_price(found.quantisation))
    if found.approximated:
        said["Approximated"] = _told(found.approximated)
    if found.refused:
        said["Left out"] = _told(found.refused)
    return said


def _sentences(*texts: str) -> tuple[str, ...]:
    return tuple(f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}" for text in texts)


def _taken(found: Imported) -> str:
    network = found.network
    if network.is_spiking:
        kind = "a spiking network"
    elif network.is_graded and all(edge.transform is not None for edge in network.edges.values()):
        kind = "a graded network, with integer weights"
    elif all(edge.transform is not None for edge in network.edges.values()):
        kind = "a network in frame code, with weights and thresholds"
    elif any(node.shape is not None for node in network.nodes.values()):
        kind = "a structure with shapes, without weights: patterns and times hold, nothing of it can be mapped"
    else:
        kind = "a structure without shapes: patterns and times hold, nothing of it can be mapped"
    neurons = sum(node.size for node in network.nodes.values() if node.shape is not None)
    size = f" of {_many(neurons, 'neuron')}" if neurons else ""
    return f"{counted(len(network.nodes), 'node')}{size} and {counted(len(network.edges), 'edge')} became {kind}"


def _many(number: int, what: str) -> str:
    return counted(number, what).replace(str(number), f"{number:,}")


def _work_said(found: Imported) -> Iterator[str]:
    if total := sum(found.work.values()):
        most = max(found.work, key=lambda name: found.work[name])
        share = f"; {most} does most, {error_percent(found.work[most] / total)} of them" if len(found.work) > 1 else ""
        yield f"a frame takes {total:,} multiply-accumulates{share}"


def _price(price: Quantisation) -> Iterator[str]:
    errors = []
    if price.edges:
        worst = max(price.edges, key=lambda edge: edge.weight_error)
        most = error_percent(worst.weight_error)
        errors.append(f"weights are off by {most} at most ({worst.edge}, sums over the edge)")
    if price.nodes:
        for word, value in (("time constants", "tau_error"), ("thresholds", "threshold_error")):
            node = max(price.nodes, key=lambda row: float(getattr(row, value)))
            errors.append(f"{word} by {error_percent(getattr(node, value))} ({node.node})")
    if errors:
        yield ", ".join(errors)
    synapses, lost = sum(edge.synapses for edge in price.edges), sum(edge.lost for edge in price.edges)
    if synapses:
        which = f"{_many(lost, 'weight')} became 0" if lost else "no weight became 0"
        yield f"of {_many(synapses, 'synapse')} {which}"
    if heard := [row for row in price.distances if row.of_silence > 0]:
        yield _train(max(heard, key=lambda row: row.distance / row.of_silence))
    yield from price.notes


def _train(row: TrainDistance) -> str:
    if row.distance == 0:
        return "all spike trains that were compared are those of the float original"
    return (
        f"spike trains differ most in {row.node}: {row.spikes:,} spikes, {row.original_spikes:,} in the float "
        f"original; their distance is {plain(row.distance)} where silence has {plain(row.of_silence)} (van Rossum’s, "
        f"time constant {seconds(row.time_constant)} of the model)"
    )


def _told(notes: Sequence[Note]) -> tuple[str, ...]:
    """Write the first notes with their remedies, and count the others."""
    said = [f"{note_text(note)}." for note in notes[:_MOST_NOTES]]
    if len(notes) > _MOST_NOTES:
        said.append(f"And {len(notes) - _MOST_NOTES} more.")
    return tuple(said)


# Most nodes drawn: those with the greatest errors.
MOST_ROWS = 30

_LEFT, _ROW, _WIDTH, _EXACT = 150.0, 34.0, 520.0, 84.0
# Gap between the plot and the bars on its right, and length of the bar for the distance of silence.
_TRAINS, _BAR = 44.0, 130.0
_MOST_DECADES = 8


class _Kind(NamedTuple):
    """One kind of error: its name, the class of its mark, and the points of the mark, which is a circle without any."""

    name: str
    class_: str
    points: tuple[tuple[float, float], ...]


_KINDS = (
    _Kind("weights that it reads", "dot0", ()),
    _Kind("time constant", "dot1", ((-5, -5), (5, -5), (5, 5), (-5, 5))),
    _Kind("time constants of currents", "dot2", ((0, -6.5), (6.5, 0), (0, 6.5), (-6.5, 0))),
    _Kind("threshold", "dot3", ((0, -6), (6, 5), (-6, 5))),
)


def draw_errors(found: Quantisation) -> str:
    """Draw the errors of every node on a logarithmic axis, and the distance of its spike trains from the original's."""
    # found: of a network with one node at least
    rows = _rows(found)
    low, high = _decades([value for _, values in rows for value in values if value])
    trains = {distance.node: distance for distance in found.distances if distance.of_silence > 0}
    top = 62.0
    floor = top + _ROW * len(rows)
    scale = _WIDTH / (high - low)
    parts = [*_key(), *_axis(low, high, scale, top, floor)]
    at = _LEFT + _EXACT + _WIDTH + _TRAINS
    if trains:
        parts.append(label(at, 44, "spike trains: distance, of silence", "small", anchor="start"))
    for k, (node, values) in enumerate(rows):
        y = top + _ROW * (k + 0.5)
        parts.append(label(_LEFT - 12, y + 4.5, shorten(node, 14), "name", "end", node))
        for kind, value in zip(_KINDS, values, strict=True):
            if value is not None:
                place = math.log10(max(100 * value, 10.0**low)) - low
                x = _LEFT + 14 if value == 0 else _LEFT + _EXACT + scale * place
                parts.append(_mark(kind, x, y, f"{node}, {kind.name}: {error_percent(value)}"))
        if node in trains:
            row = trains[node]
            share = row.distance / row.of_silence
            tip = f"{node}: {row.spikes} spikes, {row.original_spikes} in the original"
            parts.append(element("rect", x=at, y=y - 6, width=_BAR, height=12, class_="band", title=tip))
            length = max(1.5, _BAR * min(1.0, share)) if share else 0
            parts.append(element("rect", x=at, y=y - 6, width=length, height=12, class_="bar", title=tip))
            text = f"{plain(row.distance)} of {plain(row.of_silence)}"
            parts.append(label(at + _BAR + 8, y + 4.5, text, "figure", anchor="start"))
    width = at + (_BAR + 150 if trains else -_TRAINS + 24)
    return drawing(width, floor + 12, parts, f"Errors of {len(rows)} nodes in the integers of {found.chip}")


def _rows(found: Quantisation) -> list[tuple[str, tuple[float | None, ...]]]:
    """Return the errors of every node in the order of kinds; ``None`` where a node has none of a kind."""
    worst: dict[str, float] = {}
    for edge in found.edges:
        target = edge.edge.rpartition(" -> ")[2]
        worst[target] = max(worst.get(target, 0.0), edge.weight_error)
    rows: list[tuple[str, tuple[float | None, ...]]] = []
    for node in found.nodes:
        currents = max(node.synapse_tau_errors, default=None)
        rows.append((node.node, (worst.get(node.node), node.tau_error, currents, node.threshold_error)))
    if len(rows) <= MOST_ROWS:
        return rows
    greatest = sorted(rows, key=lambda row: -max(value or 0.0 for value in row[1]))[:MOST_ROWS]
    return [row for row in rows if row in greatest]


def _decades(values: Sequence[float]) -> tuple[int, int]:
    """Choose whole decades of % around errors; smaller errors are drawn at the lower end."""
    if not values:
        return -3, 0
    high = math.ceil(math.log10(100 * max(values)) - 1e-9)
    low = math.floor(math.log10(100 * min(values)) + 1e-9)
    low = max(low, high - _MOST_DECADES)
    return min(low, high - 1), high


def _axis(low: int, high: int, scale: float, top: float, floor: float) -> Iterator[str]:
    yield label(_LEFT - 12, 44, "error", "small", anchor="end")
    yield label(_LEFT + 14, 44, "exact", "small")
    for decade in range(low, high + 1):
        x = _LEFT + _EXACT + scale * (decade - low)
        yield label(x, 44, f"{10.0**decade:.{max(0, -decade)}f} %", "small")
        yield element("path", d=f"M{number(x)} {number(top - 10)}V{number(floor)}", class_="grid")
    yield element("path", d=f"M{number(_LEFT + 14)} {number(top - 10)}V{number(floor)}", class_="grid")


def _key() -> Iterator[str]:
    x = _LEFT
    for kind in _KINDS:
        yield _mark(kind, x + 6, 12, "")
        yield label(x + 18, 16.5, kind.name, "small", anchor="start")
        x += 40 + 6.6 * len(kind.name)


def _mark(kind: _Kind, x: float, y: float, title: str) -> str:
    if not kind.points:
        return element("circle", cx=x, cy=y, r=5.5, class_=kind.class_, title=title)
    points = " ".join(f"{number(x + a)},{number(y + b)}" for a, b in kind.points)
    return element("polygon", points=points, class_=kind.class_, title=title)


def to_html(found: Imported) -> str:
    """Write an import as one HTML page that loads nothing and can be read without scripts."""
    told = [("Left out", found.refused), ("Approximated", found.approximated)]
    return render_page(
        "neuromap.exchange",
        "import.html.jinja",
        found=found,
        script=page_script("tables", "saves"),
        data=[
            data_block("import.json", "the data as JSON", to_dict(found)),
            data_block("nodes.csv", "all nodes as CSV", nodes_csv(found)),
            data_block("notes.csv", "all notes as CSV", notes_csv(found)),
        ],
        findings=findings(found),
        is_exact=is_exact(found),
        network=_network(found),
        narrow_network=_network(found, down=True),
        most_edges=MOST_EDGES,
        errors=_errors(found),
        most_rows=MOST_ROWS,
        work=_work(found.work),
        most_bars=_MOST_BARS,
        notes=[_note_table(title, notes) for title, notes in told if notes],
        tables=list(_tables(found)),
    )


def to_notebook(found: Imported) -> str:
    """Write pictures and findings of an import as HTML for a notebook: ``<img>`` and ``<table>``, all names escaped."""
    drawn = [svg for svg in (_network(found), _errors(found)) if svg is not None]
    rows = [("" if k else head, text) for head, said in findings(found).items() for k, text in enumerate(said)]
    if is_exact(found):
        rows.append(("Exact", "Nothing was approximated, nothing left out."))
    table = fact_table(f"{found.network.name} from {found.format} {found.source}", rows)
    return "".join(inline_image(standalone(svg)) for svg in drawn) + table


def _network(found: Imported, *, down: bool = False) -> str | None:
    return draw_network(found.network, None, down=down) if len(found.network.edges) <= MOST_EDGES else None


def _errors(found: Imported) -> str | None:
    price = found.quantisation
    return None if price is None or not price.nodes else draw_errors(price)


# Work of every node of an imported network in a frame, as a picture.
# Most nodes drawn: those with the most work.
_MOST_BARS = 24
_BARS_LEFT, _BARS_ROW, _BARS_WIDTH = 214.0, 24.0, 520.0


def _work(work: Mapping[str, int]) -> str | None:
    """Draw the multiply-accumulates per frame of nodes as bars, in the order of the network."""
    if not work:
        return None
    most = sorted(work, key=lambda name: -work[name])[:_MOST_BARS]
    shown = [name for name in work if name in set(most)]
    scale = _BARS_WIDTH / max(1, *work.values())
    parts = [label(_BARS_LEFT, 18, "multiply-accumulates per frame", "small", anchor="start")]
    for k, name in enumerate(shown):
        y = 30 + _BARS_ROW * (k + 0.5)
        length = max(1.5, work[name] * scale) if work[name] else 0
        tip = f"{name}: {work[name]:,} multiply-accumulates per frame"
        parts.append(label(_BARS_LEFT - 12, y + 4.5, shorten(name, 21), "name", "end", name))
        parts.append(element("rect", x=_BARS_LEFT, y=y - 6, width=length, height=12, class_="bar", title=tip))
        parts.append(label(_BARS_LEFT + length + 8, y + 4.5, f"{work[name]:,}", "figure", anchor="start"))
    width, height = _BARS_LEFT + _BARS_WIDTH + 150, 38 + _BARS_ROW * len(shown)
    return drawing(width, height, parts, f"Multiply-accumulates per frame of {len(shown)} nodes")


# The tables of an import's page, and the same as CSV.


def _tables(found: Imported) -> Iterator[Table[Any]]:
    """Yield the folded tables of an import: its nodes, the cost of their integers, and what was kept."""
    yield _node_table(found)
    if (price := found.quantisation) is not None:
        titles = (
            f"Integers of {price.chip}",
            "Errors of nodes",
            "Errors of synapses",
            "Spike trains beside the original",
        )
        notes: tuple[list[str], ...] = [f"Scale: {price.search}."], ["Relative to the float values."], [], []
        for table, title, said in zip(quantisation_tables(price), titles, notes, strict=False):
            yield replace(table, title=title, notes=said)
    if found.kept:
        yield _note_table("Kept exactly", found.kept)


def _note_table(title: str, notes: Sequence[Note]) -> Table[Note]:
    """Tabulate notes, with columns for errors and remedies if any note has them."""
    columns = [
        Column[Note]("of", lambda note: note.about, left=True),
        Column("what became of it", lambda note: note.text, left=True),
    ]
    if any(note.error is not None for note in notes):
        columns.append(Column("by how much", error_text))
    if any(note.remedy for note in notes):
        columns.append(Column("way out", lambda note: note.remedy or "-", left=True))
    return Table(columns, notes, title)


def _node_table(found: Imported) -> Table[str]:
    network, work = found.network, found.work
    nodes = network.nodes

    def neurons(name: str) -> str:
        return "-" if nodes[name].shape is None else f"{nodes[name].size:,}"

    columns = [
        Column[str]("node", lambda name: name, left=True, term="node"),
        Column[str]("shape [rows × columns × features]", lambda name: _sides(nodes[name].shape) or "-", term="shape"),
        Column[str]("neurons", neurons, term="neurons"),
    ]
    if work:
        title = "multiply-accumulates [per frame]"
        columns.append(Column(title, lambda name: f"{work[name]:,}" if name in work else "-", term="work"))
    reads: dict[str, list[str]] = {}
    for source, target in network.edges:
        least, most = network.edges[source, target].delays
        span = counted(most, "tick") if least == most else f"{least} to {most} ticks"
        reads.setdefault(target, []).append(f"{source} ({span})" if network.is_spiking else source)
    title = "reads [delay]" if network.is_spiking else "reads"
    columns.append(Column(title, lambda name: ", ".join(reads.get(name, ())) or "the host", left=True, term="reads"))
    return Table(columns, list(nodes), "Nodes")


def _sides(shape: tuple[int, ...] | None) -> str:
    return " × ".join(map(str, shape or ()))


def nodes_csv(found: Imported) -> str:
    """Write all nodes as CSV: shape, work and, if quantised, integers and errors."""
    price = {} if found.quantisation is None else {node.node: node for node in found.quantisation.nodes}
    lines = []
    for name, node in found.network.nodes.items():
        line: dict[str, Any] = {
            "node": name,
            "shape": None if node.shape is None else " x ".join(map(str, node.shape)),
            "multiply_accumulates_per_frame": found.work.get(name),
        }
        if (errors := price.get(name)) is not None:
            line |= {name: value for name, value in vars(errors).items() if name not in ("node", "lowest_voltage")}
            line["synapse_tau_errors"] = ";".join(map(str, errors.synapse_tau_errors))
        lines.append(line)
    return csv_text(lines)


def notes_csv(found: Imported) -> str:
    """Write all notes as CSV, with what became of each part."""
    groups = {"kept": found.kept, "approximated": found.approximated, "left out": found.refused}
    lines = [{"became": word, **note} for word, notes in groups.items() for note in NOTES.write(notes)]
    return csv_text(lines, ("became", "about", "text", "error", "unit", "remedy"))

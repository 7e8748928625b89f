"""Figures of the architectures in this folder: the table of docs/layers.md on stdout, and docs/img/architectures.svg.

    python examples/imports/figures.py

Needs neither PyTorch nor ONNX. Every number comes from the library.
"""

from __future__ import annotations

import math
from pathlib import Path

import networkx as nx

import neuromap as nm
from neuromap.rollout.behaviour import count_valid_patterns
from neuromap.rollout.schedule.node_times import latencies_of

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("resnet50", "densenet121", "mobilenet_v3_large", "unet", "vit_b_16")
WIDTH, LEFT, NAMED, BAND = 1080, 20, 160, 150
INK, PAPER, LINE, SKIP = "#1f2933", "#ffffff", "#90a4ae", "#1565c0"


def main() -> None:
    """Print the table and write the drawing."""
    networks = {name: nm.load_network(ROOT / "examples" / "imports" / f"{name}.toml") for name in NAMES}
    heads = "architecture, nodes, edges, valid patterns, multiply-accumulates, pattern, frame period, first response"
    print(f"| {' | '.join(heads.split(', '))} | full response | worst-case reaction |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, network in networks.items():
        for row in rows(name, network):
            print(f"| {' | '.join(row)} |")
    (ROOT / "docs" / "img" / "architectures.svg").write_text(drawing(networks), encoding="utf-8")


def rows(name: str, network: nm.Network):
    """Give the times of both patterns in windowed execution, in thousandths of what the slowest node takes."""
    work = network.tables["work"]
    slowest = max(work.values())
    latencies = latencies_of(network, work, -(-slowest // 1000))
    valid = count_valid_patterns(network)
    head = [
        name,
        str(len(network.nodes)),
        str(len(network.edges)),
        f"2^{math.log2(valid.value):g}",
        f"{sum(work.values()) / 1e9:.3g} G",
    ]
    (output,) = network.outputs
    for pattern in ("streaming", "sequential"):
        rollout = nm.Rollout(network, pattern, "windowed", latencies, max(latencies.values()))
        times = [
            rollout.frame_period,
            rollout.first_response(output),
            rollout.full_response(output),
            rollout.worst_case_reaction(output),
        ]
        yield [*head, pattern, *(f"{time / 1000:.1f}" for time in times)]
        head = ["", "", "", "", ""]


def drawing(networks: dict[str, nm.Network]) -> str:
    """Draw every network as arcs: nodes in a row, edges to the next node below, those that skip nodes above."""
    height = BAND * len(networks) + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="Helvetica, Arial, sans-serif" fill="{INK}">',
        "<title>Nodes of five architectures in a row, and the edges that skip nodes</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="{PAPER}"/>',
    ]
    for k, (name, network) in enumerate(networks.items()):
        parts += strip(name, network, BAND * (k + 1) - 22)
    return "\n".join([*parts, "</svg>"]) + "\n"


def strip(name: str, network: nm.Network, base: float):
    """Draw one network on a line."""
    order = list(nx.lexicographical_topological_sort(network.graph, key=list(network.nodes).index))
    step = (WIDTH - NAMED - 2 * LEFT) / (len(order) - 1)
    at = {node: NAMED + LEFT + k * step for k, node in enumerate(order)}
    place = {node: k for k, node in enumerate(order)}
    longest = max(place[v] - place[u] for u, v in network.edges)
    yield f'<text x="{LEFT}" y="{base - 16:.0f}" font-size="14" font-weight="bold">{name}</text>'
    counts = f"{len(network.nodes)} nodes, {len(network.edges)} edges"
    yield f'<text x="{LEFT}" y="{base:.0f}" font-size="11">{counts}</text>'
    for u, v in network.edges:
        skip = place[v] - place[u]
        if skip == 1:
            yield f'<line x1="{at[u]:.1f}" y1="{base}" x2="{at[v]:.1f}" y2="{base}" stroke="{LINE}"/>'
            continue
        rise = (BAND - 50) * math.sqrt(skip / longest)
        middle = (at[u] + at[v]) / 2
        yield (
            f'<path d="M{at[u]:.1f} {base}Q{middle:.1f} {base - 2 * rise:.1f} {at[v]:.1f} {base}" fill="none" '
            f'stroke="{SKIP}" stroke-opacity="0.35"/>'
        )
    work = network.tables["work"]
    for node in order:
        size = 1.5 + 4.5 * math.sqrt(work.get(node, 0) / max(work.values()))
        title = f"{node}: {work.get(node, 0):,}"
        yield f'<circle cx="{at[node]:.1f}" cy="{base}" r="{size:.1f}"><title>{title}</title></circle>'


if __name__ == "__main__":
    main()

"""Draw docs/img/rollouts.svg: one network, three rollout patterns, their windows and times.

Run it from anywhere: ``python docs/img/rollouts.py``. Every number comes from the library.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import neuromap as nm

ROOT = Path(__file__).resolve().parents[2]
WINDOW = 3
PANEL, GAP, TOP, LEFT = 300, 20, 92, 44
COLUMN, ROW, RADIUS = 78, 68, 15
STREAMING, SEQUENTIAL, INK, PAPER = "#1565c0", "#d2601a", "#1f2933", "#ffffff"
STEPS = ["#eceff1", "#fff3c4", "#fbd38d", "#f6ad55", "#ed8936", "#dd6b20", "#c05621", "#9c4221", "#7b341e", "#652b19"]


def draw() -> str:
    """Give the picture as SVG."""
    net = nm.load_network(ROOT / "examples" / "structures" / "sr.toml")
    patterns = [nm.RolloutPattern.named(net, name) for name in ("streaming", "hybrid", "sequential")]
    height = TOP + ROW * (len(net.nodes) - 1) + 92
    width = 3 * PANEL + 2 * GAP + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" fill="{INK}">',
        "<title>Rollout windows of network SR under three patterns</title>",
        f'<rect width="{width}" height="{height}" fill="{PAPER}"/>',
        marker("streaming", STREAMING),
        marker("sequential", SEQUENTIAL),
    ]
    for k, pattern in enumerate(patterns):
        parts.append(f'<g transform="translate({k * (PANEL + GAP)} 0)">')
        parts.extend(panel(net, pattern))
        parts.append("</g>")
    parts.extend(legend(height))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def marker(name: str, colour: str) -> str:
    """Arrow head of one kind of edge."""
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="6" markerHeight="6" '
        f'orient="auto"><path d="M0 0L10 5L0 10z" fill="{colour}"/></marker>'
    )


def panel(net: nm.Network, pattern: nm.RolloutPattern) -> Iterator[str]:
    """Draw one pattern: its name and times, and the window of size 3 with its tableau."""
    rollout = nm.Rollout(net, pattern, "windowed")
    output = net.outputs[0]
    period = rollout.frame_period
    every = "update step" if period == 1 else f"{period} update steps"
    first, full = rollout.first_response(output), rollout.full_response(output)
    yield f'<text x="{LEFT}" y="26" font-size="19" font-weight="bold">{pattern.name}</text>'
    yield (
        f'<text x="{LEFT}" y="47" font-size="12.5">windowed: a frame every {every}</text>'
        f'<text x="{LEFT}" y="64" font-size="12.5">first response {first}, full response {full}</text>'
    )
    rows = {name: TOP + ROW * k for k, name in enumerate(reversed(net.nodes))}
    tableau = pattern.tableau(WINDOW)
    for frame in range(WINDOW + 1):
        for (u, v), r in pattern.items():
            if frame + r <= WINDOW:
                yield arrow(frame, rows[u], frame + r, rows[v], r, abs(rows[u] - rows[v]) > ROW)
    for name, y in rows.items():
        yield f'<text x="{LEFT - 24}" y="{y + 4}" font-size="12" text-anchor="end">{name}</text>'
        for frame in range(WINDOW + 1):
            step = tableau[frame, name]
            known = "#cfd8dc" if step == 0 else STEPS[min(step, len(STEPS) - 1)]
            yield f'<circle cx="{x_of(frame)}" cy="{y}" r="{RADIUS}" fill="{known}" stroke="{INK}"/>'
            light = ' fill="#fff"' if step > 5 else ""
            yield f'<text x="{x_of(frame)}" y="{y + 4}" font-size="12" text-anchor="middle"{light}>{step}</text>'
    bottom = max(rows.values())
    for frame in range(WINDOW + 1):
        yield f'<text x="{x_of(frame)}" y="{bottom + 36}" font-size="11" text-anchor="middle">frame {frame}</text>'


def x_of(frame: int) -> float:
    """Where a frame's column stands."""
    return LEFT + frame * COLUMN


def arrow(i: int, y1: float, j: int, y2: float, r: int, bend: bool) -> str:
    """One edge of the window; edges that pass another node inside a frame are bent around it."""
    x1, x2 = x_of(i), x_of(j)
    kind, colour = ("streaming", STREAMING) if r else ("sequential", SEQUENTIAL)
    style = f'fill="none" stroke="{colour}" stroke-width="1.6" marker-end="url(#{kind})"'
    if bend and not r:
        return f'<path d="M{x1 + 12} {y1 - 9}Q{x1 + 34} {(y1 + y2) / 2} {x2 + 13} {y2 + 10}" {style}/>'
    length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5
    dx, dy = (x2 - x1) / length * (RADIUS + 1), (y2 - y1) / length * (RADIUS + 1)
    return f'<path d="M{x1 + dx:.1f} {y1 + dy:.1f}L{x2 - dx:.1f} {y2 - dy:.1f}" {style}/>'


def legend(height: float) -> Iterator[str]:
    """Say what colours and numbers mean."""
    y = height - 16
    for x, kind, colour, words in (
        (LEFT, "streaming", STREAMING, "streaming edge: used in the next frame"),
        (LEFT + 300, "sequential", SEQUENTIAL, "sequential edge: used inside the frame"),
    ):
        yield (
            f'<path d="M{x} {y - 4}h28" stroke="{colour}" stroke-width="1.6" marker-end="url(#{kind})"/>'
            f'<text x="{x + 36}" y="{y}" font-size="12">{words}</text>'
        )
    yield f'<text x="{LEFT + 600}" y="{y}" font-size="12">number: update step (tableau of this window)</text>'


if __name__ == "__main__":
    (Path(__file__).parent / "rollouts.svg").write_text(draw(), encoding="utf-8")

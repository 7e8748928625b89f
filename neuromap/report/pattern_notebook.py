"""A rollout pattern in a notebook: its rollout window with the tableau, and its facts."""

from __future__ import annotations

from neuromap.forms.card import Card
from neuromap.forms.inline_image import inline_image
from neuromap.forms.standalone_svg import standalone
from neuromap.report.drawings.draw_network import draw_network
from neuromap.report.drawings.draw_window import draw_window
from neuromap.report.figure_files import MOST_EDGES, WINDOW
from neuromap.rollout.pattern import RolloutPattern

__all__ = ["to_notebook"]


def to_notebook(pattern: RolloutPattern) -> str:
    """Write picture and facts of a pattern as HTML: ``<img>`` and ``<table>``, all names escaped."""
    network = pattern.network
    table = Card._repr_html_(pattern)
    if len(network.edges) > MOST_EDGES:
        return table
    shows_window = pattern.is_valid and not network.is_spiking
    drawn = draw_window(network, pattern, WINDOW) if shows_window else draw_network(network, pattern)
    return inline_image(standalone(drawn)) + table

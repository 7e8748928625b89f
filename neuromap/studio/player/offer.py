"""``Offer``: what a studio has at hand for every session: networks by name, and labelled images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import as_file, files

from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.datasets.image_set import ImageSet
from neuromap.forms.card import Card
from neuromap.network.network import Network
from neuromap.network.network_file import load_network

__all__ = ["Offer", "example_network"]


def example_network() -> Network:
    """Load the network that comes with the studio: SR of the digits, trained."""
    with as_file(files("neuromap.studio.scene").joinpath("examples")) as folder:
        return load_network(folder / "digits_sr.toml")


@dataclass(frozen=True, eq=False)
class Offer(Card):
    """Networks and images that can be chosen."""

    networks: Mapping[str, Network] = field(default_factory=dict)  # by the names that people choose from
    images: ImageSet | None = None  # shown to inputs that they fit

    def __post_init__(self) -> None:
        object.__setattr__(self, "networks", ReadOnlyMapping(self.networks))

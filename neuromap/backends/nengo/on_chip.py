"""The user's word on what runs on the chip: ``on_chip`` in the configuration of a network."""

from __future__ import annotations

from typing import Any

from nengo import Ensemble, Network
from nengo.params import BoolParam

__all__ = ["add_params", "asked_place"]


def add_params(network: Network) -> None:
    """Let the configuration of a network say what runs on the chip."""
    # Afterwards ``network.config[ensemble].on_chip`` is None (on the chip if it can be), True (an error if it cannot
    # be) or False (on the host); ``network.config[nengo.Ensemble].on_chip`` is that of all ensembles which say nothing.
    config = network.config[Ensemble]
    if "on_chip" not in config._extra_params:
        config.set_param("on_chip", BoolParam("on_chip", default=None, optional=True))


def asked_place(network: Network, ensemble: Ensemble) -> bool | None:
    """Give ``on_chip`` of an ensemble; None where nothing is said."""
    if "on_chip" not in network.config[Ensemble]._extra_params:
        return None
    asked: Any = network.config[ensemble].on_chip
    return None if asked is None else bool(asked)

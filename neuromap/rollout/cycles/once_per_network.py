"""What is found of a network once, and kept for as long as the network lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

from neuromap.files.given import needs
from neuromap.network.network import Network

__all__ = ["once_per_network"]

T = TypeVar("T")


def once_per_network(find: Callable[[Network], T]) -> Callable[[Network], T]:
    """Decorate a function of a network, so that it runs once per network."""
    # Networks are values that never change, so what was found stays true. What is found must not hold the network
    # itself: then both go when nobody else holds the network.
    known: WeakKeyDictionary[Network, T] = WeakKeyDictionary()

    @wraps(find)
    def find_once(network: Network) -> T:
        needs("network", network, Network)
        if network not in known:
            known[network] = find(network)
        return known[network]

    return find_once

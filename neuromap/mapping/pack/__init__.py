"""Cores that several populations share: ``pack_tiles.py`` by whole tiles, ``share_cores.py`` neuron by neuron."""

"""Where cores lie on the board: ``place.py`` is the contract and has the placers by name."""

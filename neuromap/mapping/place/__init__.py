"""Where cores lie on the board: ``place.py`` is the contract, ``strategies.py`` has the placers by name."""

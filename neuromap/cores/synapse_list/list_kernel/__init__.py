"""Compiled kernels of the fast engine for synapse lists; read ``list_tick.py`` first.

``list_image.py`` defines how a program lies in memory and lays it out; ``list_core.py`` is one tick of a core and its
neurons, 16 at a time, as vector instructions; ``list_tick.py`` one tick of a range of cores, the threads, and how they
are compiled and cached. Barrier, spike bits and loads come from :mod:`neuromap.simulation.engine.kernel`.
"""

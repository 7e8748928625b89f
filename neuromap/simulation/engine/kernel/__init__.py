"""Compiled kernels of the fast engine; read ``tick.py`` first, then ``core_tick.py``.

``layout.py`` says how a program lies in memory, ``memory_layout.py`` lays it out in whole vectors (and what the narrow
path reads); ``lanes.py`` is the vocabulary of vectors and of memory (``words.py`` of single elements and bits,
``emission.py`` what they are made with); ``core_tick.py`` is one tick of a core; ``tick.py`` is
one tick of a range of cores, ``workspace.py`` what that works with, ``ring.py`` the spikes on their way, ``team.py``
the threads; ``compiled.py`` compiles and caches.
"""

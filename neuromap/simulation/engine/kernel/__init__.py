"""Compiled kernels of the fast engine; read ``tick.py`` first, then ``core_narrow.py``.

``layout.py`` says how a program lies in memory, ``image.py`` lays it out (``narrow_tables.py`` what the narrow path
reads, ``padding.py`` in whole vectors); ``vectors/lanes.py`` is the vocabulary of vectors (``lane_memory.py`` its part
for memory, ``words.py`` for single elements and bits, ``emission.py`` what they are made with); ``core_narrow.py`` and
``core_wide.py`` are one tick of a core, ``narrow_or_wide.py`` chooses; ``tick.py`` is one tick of a range of cores,
``workspace.py`` what that works with, ``ring.py`` the spikes on their way, ``team.py`` the threads; ``compiled.py``
compiles and caches.
"""

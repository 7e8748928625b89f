"""Compiled kernels of the fast engine; read ``tick.py`` first, then ``core_narrow.py``.

``layout.py`` says how a program lies in memory and ``image.py`` lays it out; ``lanes.py`` is the vocabulary of
vectors (``words.py`` its part for single elements and bits, ``emission.py`` what both are made with);
``core_narrow.py`` and ``core_wide.py`` are one tick of a core, ``tick.py`` one tick of a range of cores,
``work.py`` what that works with, ``team.py`` the threads; ``compiled.py`` compiles and caches.
"""

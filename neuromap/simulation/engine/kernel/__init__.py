"""Compiled kernels of the fast engine; read ``tick.py`` first, then ``core_tick.py``.

``layout.py`` defines a program's memory layout, ``memory_layout.py`` lays a program out in whole vectors, with the
tables of the narrow path; ``lanes.py`` has the operations on vectors and memory, and the code generation behind them
(``words.py`` has those on single elements and bits); ``core_tick.py`` is one tick of a core; ``tick.py`` is one tick of
a range of cores, ``workspace.py`` its working memory, ``ring.py`` the pending spikes, ``team.py``
the threads, ``barrier.py`` their barrier, ``remote.py`` spikes between ranks; ``compiled.py`` compiles and caches.
"""

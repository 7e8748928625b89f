"""Readers of foreign files keep their child from one file to the next, as ONNX's do anyway, where a test says nothing.

Each file else starts Python and HDF5 anew, a quarter of a second of CPU for each of hundreds of damaged files. What a
child of its own is for, and what ends it, is held in ``tests/files/test_confined.py``, which says what kind it wants.
"""

from neuromap.files.confined import confined

confined.__kwdefaults__["keep"] = True

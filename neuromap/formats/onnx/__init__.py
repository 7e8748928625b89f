"""Readers of ONNX files into graphs of operators. Needs the extra ``onnx``."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)

"""Networks from graphs of operators, as ONNX files and PyTorch modules hold them."""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)

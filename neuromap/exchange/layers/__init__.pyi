from .graded_onnx import to_onnx as to_onnx
from .take_graph import from_onnx as from_onnx
from .take_graph import from_torch as from_torch

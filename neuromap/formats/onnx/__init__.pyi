from .file_graph import read_onnx as read_onnx

"""Vectors in compiled code: the vocabulary that the kernels are written in."""

"""Rolled-out networks as PyTorch modules: deep windows, and the window of size 1 that streams without end."""

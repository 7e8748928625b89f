"""Modules of the package: those that need PyTorch, which is an extra, are left out where it is not installed."""

import importlib


def entered(name):
    """A module of ours; None where it needs PyTorch and there is none."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return None

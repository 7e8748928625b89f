"""Modules of the package: those that need PyTorch or Nengo, which are extras, are left out where these are missing."""

import importlib
import importlib.util


def entered(name):
    """A module of ours; None where it needs PyTorch or Nengo and there is none."""
    if name.startswith("neuromap.backends.nengo") and importlib.util.find_spec("nengo") is None:
        return None
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        return None

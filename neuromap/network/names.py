"""What nodes and rollout patterns may be called in a network file."""

from __future__ import annotations

import re

from neuromap.errors import NetworkError
from neuromap.files.messages import show

__all__ = ["NAME", "NAME_RULE", "check_name"]

NAME = re.compile(r"[A-Za-z0-9_.-]{1,100}")
"""A whole name."""

NAME_RULE = "names of 1 to 100 letters (a to z), digits, _, - and ."
"""The same in words."""


def check_name(name: str, path: str) -> None:
    """Refuse a node or pattern name of other characters than the rule allows."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise NetworkError(f"{path}: found the name {show(name)}; allowed are {NAME_RULE}")

"""Names of nodes: what the source calls them, in the letters of network files, each once."""

from __future__ import annotations

import re
from collections.abc import Collection

__all__ = ["MOST_LETTERS", "node_name"]

MOST_LETTERS = 60
"""Letters of a name; a network file allows 100."""
_OTHER = re.compile(r"[^A-Za-z0-9_.-]+")


def node_name(label: str, taken: Collection[str]) -> str:
    """Make a name for a node."""
    clean = _OTHER.sub("_", label[-1000:]).strip("_.-") or "node"
    if len(clean) > MOST_LETTERS:
        clean = clean[-MOST_LETTERS:].lstrip("_.-")
    name, number = clean, 1
    while name in taken:
        number += 1
        name = f"{clean}-{number}"
    return name

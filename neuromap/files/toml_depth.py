"""Keys of too many parts in TOML: found before the file is parsed, which would take the square of their number."""

from __future__ import annotations

import re

__all__ = ["MAX_KEY_PARTS", "line_of_deep_key"]

MAX_KEY_PARTS = 16
"""Most parts that a key may have; the deepest that any file of ours takes has four."""

# a cheap look at first: hardly any file has so many dots in a line, in texts and comments or not
_MANY_DOTS = re.compile(rf"^(?:[^.\n]*+\.){{{MAX_KEY_PARTS}}}", re.MULTILINE)
_TEXT_OR_COMMENT = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)|\'\'\'.*?(?:\'\'\'|\Z)|"(?:[^"\\\n]|\\.)*+"?|\'[^\'\n]*+\'?|#[^\n]*+', re.DOTALL
)
_PART = r"[ \t]*+[A-Za-z0-9_-]++[ \t]*+"
_DEEP = re.compile(rf"(?:\.{_PART}){{{MAX_KEY_PARTS}}}")


def line_of_deep_key(text: str) -> int | None:
    """Find the first key of more than :data:`MAX_KEY_PARTS` parts."""
    # gives its line, from 1; ``None`` where there is none
    if _MANY_DOTS.search(text) is None:
        return None
    bare = _TEXT_OR_COMMENT.sub(lambda found: "_" + "\n" * found[0].count("\n"), text)
    deep = _DEEP.search(bare)
    return None if deep is None else bare.count("\n", 0, deep.start()) + 1

"""Why no row fits: the reason that most rows were refused for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def most_frequent_refusal(messages: Iterable[str]) -> str:
    """Choose the message that stands for all refusals; each names demand, bound and remedy."""
    counted = Counter(message for message in messages if message)
    return counted.most_common(1)[0][0] if counted else ""

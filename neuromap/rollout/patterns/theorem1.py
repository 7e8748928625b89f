"""Theorem 1 of Fischer, Köhler, Pfeil 2018, its four statements checked one by one on a pattern.

For a valid pattern R these are equivalent: (a) R is equally model-parallel to streaming; (b) F(R) = 1;
(c) T((i, v)) <= i in windows of every size; (d) T is minimal everywhere over all valid patterns. Nothing here
derives one statement from another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from neuromap.errors import PatternError
from neuromap.files.given import needs
from neuromap.forms.card import Card
from neuromap.rollout.patterns.pattern import RolloutPattern
from neuromap.rollout.patterns.window import RolloutWindow

__all__ = ["Theorem1", "check_theorem1", "least_tableau"]


@dataclass(frozen=True)
class Theorem1(Card):
    """The four statements about one pattern.

    Attributes
    ----------
    equally_model_parallel : bool
        (a) R equals streaming on all edges that do not start in an input node.
    factor_is_one : bool
        (b) F(R) = 1.
    in_time : bool
        (c) T((i, v)) <= i for all frames i.
    minimal : bool
        (d) T is nowhere larger than that of any valid pattern.
    """

    equally_model_parallel: bool
    factor_is_one: bool
    in_time: bool
    minimal: bool

    @property
    def statements(self) -> tuple[bool, bool, bool, bool]:
        """The statements (a), (b), (c), (d)."""
        return (self.equally_model_parallel, self.factor_is_one, self.in_time, self.minimal)

    @property
    def agrees(self) -> bool:
        """Whether all four are true or all four are false, as the theorem says."""
        return len(set(self.statements)) == 1


def check_theorem1(
    pattern: RolloutPattern, window: int = 2, others: Iterable[RolloutPattern] | None = None
) -> Theorem1:
    """Check the four statements on a valid pattern.

    Parameters
    ----------
    pattern : RolloutPattern
        A valid pattern.
    window : int
        Size of the window in which (c) and (d) are looked at. (c) for a window of size 1 implies it for all:
        frame i of a window starts from frame i - 1 as frame 1 does from frame 0, and T adds at most what
        frame 1 took. Where it fails, it fails at frame 1 already.
    others : iterable of RolloutPattern, optional
        Valid patterns to compare with in (d), for example :func:`~neuromap.rollout.patterns.counting.enumerate_valid`.
        By default T is compared with :func:`least_tableau`, a bound that no pattern beats and streaming
        reaches.

    Raises
    ------
    PatternError
        If the pattern is invalid, or bridges frames: the theorem is of R = 0 and 1.
    """
    needs("check_theorem1", pattern, RolloutPattern, PatternError)
    pattern.require_binary("check_theorem1")
    tableau = pattern.tableau(window)
    streaming = RolloutPattern.streaming(pattern.network)
    rivals = [least_tableau(pattern, window)] if others is None else [p.tableau(window) for p in others]
    return Theorem1(
        equally_model_parallel=pattern.equally_model_parallel(streaming),
        factor_is_one=pattern.inference_factor == 1,
        in_time=all(t <= i for (i, _), t in RolloutWindow(pattern, window).tableau_by_paths().items()),
        minimal=all(t <= rival[n] for rival in rivals for n, t in tableau.items()),
    )


def least_tableau(pattern: RolloutPattern, window: int) -> dict[tuple[int, str], int]:
    """Bound T from below for all valid patterns of the same network."""
    # A path of k edges that ends in v gives T((i, v)) >= min(i, k) under every valid pattern: walked backwards from (i,
    # v) it enters at most one frame lower per edge, so min(i, k) of its edges end above frame 0. With k = the length of
    # the longest walk into v (unbounded behind a cycle) the bound is reached by streaming.
    network = pattern.network
    sources: dict[str, list[str]] = {n: [] for n in network.nodes}
    for u, v in network.edges:
        sources[v].append(u)
    longest = dict.fromkeys(network.nodes, 0)  # longest walk into a node, cut at the frames passed so far
    found = {(0, n): 0 for n in network.nodes}
    for i in range(1, window + 1):
        longest = {n: 1 + max(longest[u] for u in us) if us else 0 for n, us in sources.items()}
        found.update({(i, n): min(i, k) for n, k in longest.items()})
    return found

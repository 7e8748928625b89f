"""What decoded values lose on crossbar cores: axons for every source, error, lines, delays."""

from __future__ import annotations

from dataclasses import dataclass

from neuromap.backends.nengo.crossbar.crossbar_plan import CrossbarPlan
from neuromap.backends.nengo.crossbar.value_lines import LineGroup
from neuromap.backends.nengo.mapped_plan import MappedPlan
from neuromap.files.messages import counted
from neuromap.forms.card import Card

__all__ = ["DecodedValue", "decoded_values"]


@dataclass(frozen=True)
class DecodedValue(Card):
    """A dimension of a link on crossbar cores."""

    link: str  # nodes of source and target
    dimension: int  # of the target
    axons: int  # axons that the spikes of a source come on, at most, in the mean over sources
    # root mean square of what rounding the decoders changes, by that of the value, over the points of the solver
    error: float
    bound: float  # what was asked of the error
    lines: int  # neurons that carry the value
    delays: tuple[int, int]  # least and greatest ticks from these to the target

    def __str__(self) -> str:
        kept = "" if self.error <= self.bound else f", above the bound of {self.bound:.2%}"
        least, most = self.delays
        return (
            f"{self.link}, dimension {self.dimension}: {counted(self.axons, 'axon')} a source, error {self.error:.2%}"
            f"{kept}; {self.lines} lines with delays of {least} to {most} ticks"
        )


def decoded_values(mapped: MappedPlan) -> tuple[DecodedValue, ...]:
    """Tell what all decoded values of a plan lose; nothing where the chip has no crossbar cores."""
    plan = mapped.plan
    if not isinstance(plan, CrossbarPlan):
        return ()
    found: dict[tuple[int, int], list[LineGroup]] = {}
    for group in mapped.lines:
        found.setdefault((group.link, group.dimension), []).append(group)
    return tuple(_decoded(plan, groups) for groups in found.values())


def _decoded(plan: CrossbarPlan, groups: list[LineGroup]) -> DecodedValue:
    first, link = groups[0], plan.links[groups[0].link]
    return DecodedValue(
        f"{plan.ensembles[link.source].name} -> {plan.ensembles[link.target].name}",
        first.dimension,
        first.sums.axons,
        first.sums.error,
        plan.decoder_error,
        sum(len(group.delays) for group in groups),
        (min(int(group.delays.min()) for group in groups), max(int(group.delays.max()) for group in groups)),
    )

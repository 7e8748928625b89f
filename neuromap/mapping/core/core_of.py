"""Model of a chip's crossbar cores, from which later stages work; refusals of neurons that do not fit."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from neuromap.arrays.array_types import Ints
from neuromap.errors import DoesNotFitError
from neuromap.hardware.chip.chip_spec import ChipSpec
from neuromap.mapping.core.core_model import AMPLE, CrossbarCore
from neuromap.mapping.legalise.legalised import HostLink, Legalised, Population, Sources
from neuromap.mapping.options.infeasibility import Remedy, refuse


def core_of(chip: ChipSpec) -> CrossbarCore:
    """Return the model of one core of a chip."""
    return CrossbarCore(
        name=chip.name,
        axons=chip.axons,
        neurons=chip.neurons,
        axon_types=chip.axon_types,
        weight_range=chip.weight_range,
        leak_limit=-chip.leak_range[0],
        highest_alpha=min(1, chip.threshold_range[1]),
        potential_bits=chip.potential_bits,
    )


# Why a neuron does not fit a crossbar core even alone: fan-in, axon types, potential; and what would help.
# Limits of a chip file; no remedy goes beyond them.
MOST_AXONS, MOST_POTENTIAL_BITS = 65536, 32


def refuse_neuron(
    network: Legalised, population: Population, sources: Sources, stuck: int, core: CrossbarCore
) -> DoesNotFitError:
    """Refuse a population whose neuron ``stuck`` does not fit a core even alone."""
    # Names the most demanding of the neurons with most synapses, so that its remedies serve all.
    refusals = []
    worst, demand = stuck, 0
    for n in dict.fromkeys([stuck, *sources.busiest]):
        weights, theta, neuron = sources.weights_of(n), population.threshold[[n]], population.leak_neuron(np.array([n]))
        refusal = _too_heavy(population, n, weights, core)
        if refusal is None:
            plan = core.ample_plan(weights, theta, neuron)
            if plan is None:
                refusal = _refuse_width(population, n, weights, theta, core)
            elif plan.n_axons > demand:
                worst, demand = n, plan.n_axons
        if refusal is not None:
            refusals.append(refusal)
    if refusals:
        return max(refusals, key=lambda refusal: refusal.infeasibility.gap)
    remedies = []
    if not population.is_relay and population.neuron is None:  # else its sums are in parts already, or cannot be
        remedies.append(Remedy("wide", "partial-sums", 'wide = "partial-sums" would compute it in parts'))
    remedies += _more_groups(network, population, sources, worst, core)
    # with weights of one sign and magnitude it may fit
    alike = np.ones_like(sources.weights_of(worst))
    plan = core.plan(alike, np.clip(population.threshold[[worst]], 0, alike.size + 1))
    if plan is not None:
        text = f"weights of one sign and magnitude per source would need {plan.n_axons}"
        remedies.append(Remedy("weights", 1, text))
    if demand <= MOST_AXONS:
        remedies.append(Remedy("chip.axons", demand, f"a core with at least {demand} axons would hold it"))
    return _refuse_axons(population, demand, remedies, core)


def _more_groups(
    network: Legalised, population: Population, sources: Sources, neuron: int, core: CrossbarCore
) -> list[Remedy]:
    """Find the fewest groups with which the neuron fits, as a multiple of the present number."""
    groups = {link.groups for link in sources.links}
    now = groups.pop() if len(groups) == 1 else None
    if now is None or population.shape is None:
        return []
    nodes = [k.node if isinstance(k, HostLink) else network.populations[k.source].node for k in sources.links]
    features = [network.shapes[node][2] for node in nodes]
    common = math.gcd(population.shape[2], *features)
    for more in range(2, common // now + 1):
        if common % (now * more) == 0:
            kept = _first_features(sources, features, neuron, more)
            plan = core.plan(kept, population.threshold[[neuron]])
            if plan is not None:
                return [Remedy("groups", now * more, f"groups = {now * more} would need {plan.n_axons}")]
    return []


def _first_features(sources: Sources, features: Sequence[int], neuron: int, more: int) -> Ints:
    """Weights that a neuron keeps if its groups are split: those from the first of its source features."""
    row = sources.matrix[[neuron]]
    kept, start = [], 0
    for link, n_features in zip(sources.links, features, strict=True):
        width = link.matrix.shape[1]
        here = (row.indices >= start) & (row.indices < start + width)
        feature = (row.indices[here] - start) % n_features
        own = np.unique(feature)
        kept.append(row.data[here][np.isin(feature, own[: max(1, len(own) // more)])])
        start += width
    return np.concatenate(kept).astype(np.int64)[None, :]


def _too_heavy(population: Population, neuron: int, weights: Ints, core: CrossbarCore) -> DoesNotFitError | None:
    """Refuse by arithmetic alone what no encoding could hold, before anything of that size is laid out."""
    swing = int(max(np.maximum(weights, 0).sum(), -np.minimum(weights, 0).sum()))
    if swing > core.highest_potential:
        return _refuse_potential(population, neuron, swing, core)
    axons = core.least_axons(weights)
    if axons > AMPLE // 2:
        remedies = [Remedy("weights", None, f"smaller weights; {core.weight_range[1]} takes one axon")]
        return _refuse_axons(population, axons, remedies, core)
    return None


def _refuse_axons(population: Population, demand: int, remedies: list[Remedy], core: CrossbarCore) -> DoesNotFitError:
    text = f"one neuron needs {demand} axons, a {core.name} core has {core.axons}"
    return refuse("axons", population.name, demand, core.axons, text, remedies)


def _refuse_potential(population: Population, neuron: int, swing: int, core: CrossbarCore) -> DoesNotFitError:
    bound, bits = core.highest_potential, swing.bit_length() + 1
    text = (
        f"neuron {neuron} needs a potential of up to {swing} (weights and threshold as sums over axons), "
        f"a {core.name} potential of {core.potential_bits} bits ends at {bound}"
    )
    remedies = [Remedy("weights", None, "smaller weights would help")]
    if bits <= MOST_POTENTIAL_BITS:
        remedies.insert(0, Remedy("chip.potential_bits", bits, f"a potential of {bits} bits would hold it"))
    return refuse("potential", population.name, swing, bound, text, remedies)


def _refuse_width(
    population: Population, neuron: int, weights: Ints, theta: Ints, core: CrossbarCore
) -> DoesNotFitError:
    """Refuse a neuron that more axons would not help: its potential is too narrow, or there are too few axon types."""
    # a type per sign and one for bias axons express everything
    limit, demand = core.shortage(weights, theta, 3, population.leak_neuron(np.array([neuron])))
    if limit == "potential":
        return _refuse_potential(population, neuron, demand, core)
    if limit == "axons":
        return _refuse_axons(population, demand, [Remedy("weights", None, "smaller weights or thresholds")], core)
    text = (
        f"neuron {neuron} needs {demand} axon types for its weights and threshold, "
        f"a {core.name} core has {core.axon_types}"
    )
    remedies = [Remedy("chip.axon_types", demand, f"{demand} axon types would fit")]
    return refuse("axon_types", population.name, demand, core.axon_types, text, remedies)

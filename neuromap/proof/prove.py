"""Prove a program: claim what the label of every neuron says, and let the checker decide."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load
from scipy import sparse

from neuromap.arrays.array_types import Ints
from neuromap.arrays.parts_of_ticks import in_parts
from neuromap.errors import InputError, NotSupportedError
from neuromap.files.argument_checks import needs, refuse_swapped
from neuromap.files.foreign import read_bytes
from neuromap.files.messages import show_name
from neuromap.files.sealed import KIND_KEY, Seal, metadata_of, seal_of, sealed_bytes
from neuromap.files.whole_file import write_whole
from neuromap.hardware.checker import check_program, require_legal
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.program_bytes import program_bytes
from neuromap.network.build import require_weights
from neuromap.proof.checker import Certificate, Checker, Examined, TickNetwork
from neuromap.proof.codes import ABSENT, NOBODY, REASONS
from neuromap.render.value import Card
from neuromap.rollout.schedule.rollout import Rollout
from neuromap.simulation.reference_frames import require_belongs, rollout_period

KIND = "certificate"
# array: its dtype and axes: N nodes + 1, G neurons of the network, H = G + 1, T terms, C cores, n neurons per core
_ARRAYS = {
    "first": (np.int64, "N"),
    "start": (np.int64, "H"),
    "source": (np.int32, "T"),
    "lag": (np.int16, "T"),
    "current": (np.int8, "T"),
    "weight": (np.int32, "T"),
    "threshold": (np.int64, "G"),
    "neuron": (np.int64, "Cn"),
    "begin": (np.int64, "Cn"),
    "part": (np.int64, "Cn"),
    "relay": (np.bool_, "Cn"),
    "holds": (np.bool_, "Cn"),
    "power": (np.int64, "Cn"),
    "silent": (np.bool_, "G"),
}
# Most bytes of a certificate.
_LARGEST = 1 << 34
# Bound of begins, in parts of a tick: those of programs stay far below.
_MOST = 1 << 48


def program_digest(program: ChipProgram) -> str:
    """Return the digest in a program's file."""
    return metadata_of(program_bytes(program))["digest"]


def save_certificate(certificate: Certificate, program: ChipProgram, path: str | Path) -> None:
    """Write a certificate of a program, whole or not at all."""
    arrays: dict[str, NDArray[Any]] = {
        name: np.asarray(getattr(certificate, name), dtype) for name, (dtype, _) in _ARRAYS.items()
    }
    arrays |= {f"state.{name}": array for name, array in certificate.state.items()}
    nodes = json.dumps([list(pair) for pair in zip(certificate.names, certificate.kinds, strict=True)])
    write_whole(path, sealed_bytes(KIND, arrays, {"nodes": nodes, "program": program_digest(program)}))


def load_certificate(path: str | Path, program: ChipProgram) -> Certificate:
    """Read a certificate, and check all of its indices against the program."""
    origin = f"certificate {show_name(str(path))}"
    try:
        data = read_bytes(Path(path), "certificate", _LARGEST, InputError)
        tensors = load(data)
        metadata = metadata_of(data)
    except InputError as error:
        raise InputError(f"{origin}: {error}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise InputError(
            f"{origin}: is not a complete certificate ({' '.join(str(error).split())[:100]}); make it again"
        ) from None
    if metadata.get(KIND_KEY) != KIND or seal_of(data, metadata) is not Seal.WHOLE:
        raise InputError(
            f"{origin}: is not a certificate, or was changed after it was made; make it with neuromap prove"
        )
    state = {name.removeprefix("state."): array for name, array in tensors.items() if name.startswith("state.")}
    nodes = [[port.name, port.kind] for port in program.nodes]
    wrong = "" if metadata.get("nodes") == json.dumps(nodes) else "its nodes are others"
    wrong = wrong or _misfit(tensors, state, len(nodes), program.shape)
    if wrong:
        raise InputError(f"{origin}: {wrong}; it is of another program, or no certificate; make it again")
    digest = program_digest(program)
    if metadata.get("program") != digest:
        raise InputError(f"{origin}: is of another program than that with digest {digest}; make it again")
    names, kinds = zip(*nodes, strict=True)
    arrays = {name: tensors[name] for name in _ARRAYS}
    return Certificate(tuple(names), tuple(kinds), **arrays, state=state, program=digest)


def check_certificate(path: str | Path, program: ChipProgram) -> Examined:
    """Check a certificate of a program that keeps the rules of its chip; only checkers and readers are involved."""
    require_legal(program)
    return Checker(program, load_certificate(path, program)).examine()


def _misfit(
    tensors: dict[str, NDArray[Any]], state: dict[str, NDArray[Any]], n_nodes: int, shape: tuple[int, int]
) -> str:
    """Describe what does not fit in a certificate: arrays, shapes, numbers out of range; empty if nothing."""
    for name, (dtype, _) in _ARRAYS.items():
        if name not in tensors or tensors[name].dtype != dtype or not tensors[name].ndim:
            return f"array {name}: is absent, or of another type than {np.dtype(dtype).name}"
    sizes = {"N": n_nodes + 1, "T": len(tensors["source"]), "C": shape[0], "n": shape[1]}
    first = tensors["first"]
    if first.shape != (n_nodes + 1,) or first[0] or (first[1:] <= first[:-1]).any() or first[-1] > 2**31:
        return "array first: does not rise from 0, node by node"
    sizes["G"] = int(first[-1])
    sizes["H"] = sizes["G"] + 1
    for name, (_, axes) in _ARRAYS.items():
        if tensors[name].shape != tuple(sizes[axis] for axis in axes):
            return f"array {name}: found shape {list(tensors[name].shape)}, needs {[sizes[axis] for axis in axes]}"
    if any(array.shape != (sizes["G"],) or array.dtype != np.int64 for array in state.values()):
        return "parameters of neurons: need one integer of 64 bits per neuron"
    start = tensors["start"]
    if start[0] != 0 or (start[1:] < start[:-1]).any() or start[-1] != sizes["T"]:
        return "array start: does not rise from 0 to the number of terms"
    bounds = {"source": (0, sizes["G"] - 1), "lag": (0, 2**15), "current": (0, 127), "neuron": (-1, sizes["G"] - 1)}
    bounds |= {"begin": (-_MOST, _MOST), "part": (0, 127), "power": (0, 24), "threshold": (-(2**38), 2**38)}
    bounds |= {f"state.{name}": (-(2**41), 2**41) for name in state}
    for name, (low, high) in bounds.items():
        if tensors[name].size and not low <= tensors[name].min() <= tensors[name].max() <= high:
            return f"array {name}: has numbers outside {low} to {high}"
    return ""


def tick_network(rollout: Rollout) -> TickNetwork:
    """Write out what a rollout defines: sums of every neuron over sources and frames, thresholds, states."""
    network = rollout.network
    require_weights(network)
    names = tuple(network.nodes)
    sizes = [node.size for node in network.nodes.values()]
    first = np.append(0, np.cumsum(sizes)).astype(np.int64)
    begin = dict(zip(names, first[:-1].tolist(), strict=True))
    entries: list[tuple[NDArray[np.generic], ...]] = []
    for (u, v), edge in network.edges.items():
        if network.is_spiking:
            terms = [(term.matrix, term.delay, term.current) for term in edge.terms]
        else:
            terms = [(edge.matrix(), rollout.pattern[u, v], 0)]
        for matrix, lag, current in terms:
            found = sparse.coo_array(matrix)
            some = found.data != 0
            row, column = ((at[some] + begin[n]).astype(np.int32) for at, n in zip(found.coords, (v, u), strict=True))
            numbers = np.full(len(row), lag, np.int16), np.full(len(row), current, np.int8)
            entries.append((row, column, *numbers, found.data[some].astype(np.int32)))
    row, source, lags, currents, weight = (np.concatenate(some) for some in zip(*entries, strict=True))
    order = np.argsort(row, kind="stable")
    start = np.append(0, np.cumsum(np.bincount(row, minlength=first[-1]))).astype(np.int64)
    inputs, outputs = set(network.inputs), set(network.outputs)
    kinds = tuple("input" if n in inputs else "output" if n in outputs else "hidden" for n in names)
    threshold = np.ones(first[-1], np.int64)
    for name, node in network.nodes.items():
        if node.threshold is not None:
            threshold[begin[name] : begin[name] + node.size] = node.threshold
    source, lags, currents, weight = (column[order] for column in (source, lags, currents, weight))
    states = _states(rollout, begin, int(first[-1]))
    return TickNetwork(names, kinds, first, start, source, lags, currents, weight, threshold, states)


def _states(rollout: Rollout, begin: Mapping[str, int], n: int) -> dict[str, Ints]:
    """Spread the parameters of neurons with state over all neurons."""
    state: dict[str, Ints] = {}
    for name, node in rollout.network.nodes.items():
        neuron = node.neuron
        if neuron is None:
            continue
        here = slice(begin[name], begin[name] + node.size)
        values = {key: getattr(neuron, key) for key in (*neuron.parameters, *neuron.settings)} | neuron.arrays
        for key, value in values.items():
            state.setdefault(key, np.full(n, ABSENT, np.int64))[here] = value
    return state


@dataclass(frozen=True, eq=False)
class Proof(Card):
    """Result of proving that a program computes its rollout, for every input and all time."""

    proven: bool
    faults: tuple[str, ...]  # why not, one line each
    lemmas: Mapping[str, int]  # number of neurons on the chip, by what was found about them
    certificate: Certificate
    examined: Examined


def prove(rollout: Rollout, program: ChipProgram) -> Proof:
    """Prove that a program computes its rollout, for every input and all time, or say where it may not.

    Parameters
    ----------
    rollout : Rollout
        Defines what should be computed.
    program : ChipProgram
        The program on the chip: mapped, read from a file or edited.

    Returns
    -------
    Proof
        With a certificate, and one line for each fault (``docs/proofs.md``).

    Raises
    ------
    ProgramError
        If the program is of another network, is not well formed, or indices point outside it.
    NotSupportedError
        If its kind of core does not define for proofs what its neurons compute.
    """
    network = _asked(rollout, program)
    certificate = claims_of(program, network)
    examined = Checker(program, certificate).examine()
    if not examined.holds:
        silent = silent_neurons(certificate)
        if silent.any():
            certificate = replace(certificate, silent=silent)
            examined = Checker(program, certificate).examine()
    return _proof(rollout, program, certificate, examined)


def confirm(rollout: Rollout, program: ChipProgram, path: str | Path) -> Proof:
    """Check an existing certificate of this program and this network.

    Raises
    ------
    InputError
        If the file is no certificate, is damaged, or of another program or network.
    """
    network = _asked(rollout, program)
    certificate = load_certificate(path, program)
    mine = {name: getattr(certificate, name) for name in vars(network) if name != "state"} | dict(certificate.state)
    asked = {name: getattr(network, name) for name in vars(network) if name != "state"} | dict(network.state)
    if mine.keys() != asked.keys() or not all(np.array_equal(mine[name], asked[name]) for name in asked):
        raise InputError(
            f"certificate {show_name(str(path))}: is of another network than {rollout.network.name} under pattern "
            f"{rollout.pattern.name}; give that one, or make it again"
        )
    return _proof(rollout, program, certificate, Checker(program, certificate).examine())


def _asked(rollout: Rollout, program: ChipProgram) -> TickNetwork:
    """Refuse what cannot be proven, and write out the network to compute."""
    refuse_swapped("prove(rollout, program)", rollout, Rollout, program)
    needs("prove", rollout, Rollout)
    needs("prove", program, ChipProgram)
    require_belongs(rollout, program)
    require_legal(program, indices_only=True)
    if program.chip.kind.proof is None:
        raise NotSupportedError(
            f"program {program.name}: no proof says what neurons of {program.chip.core_model} cores compute; "
            "neuromap verify compares it with the reference, frame by frame (a kind of core of your own may have a "
            "part `proof`)"
        )
    return tick_network(rollout)


def _proof(rollout: Rollout, program: ChipProgram, certificate: Certificate, examined: Examined) -> Proof:
    faults = [*(broken.message for broken in check_program(program)), *_clocks(rollout, program), *examined.faults]
    counts = np.bincount(examined.found.ravel(), minlength=max(REASONS) + 1)
    lemmas = {REASONS[code]: int(counts[code]) for code in REASONS if counts[code]}
    return Proof(not faults, tuple(faults), lemmas, certificate, examined)


def is_proven(rollout: Rollout, program: ChipProgram) -> bool | None:
    """Return whether a program is proven; None if its kind of core has no proof."""
    return None if program.chip.kind.proof is None else prove(rollout, program).proven


def _clocks(rollout: Rollout, program: ChipProgram) -> list[str]:
    """Check that the frame period is the rollout's, and that inputs are sampled before they are delivered."""
    period, faults = rollout_period(rollout, program), []
    if period not in (None, program.period):
        faults.append(f"frame period: {program.period} ticks; the rollout has {period}")
    sample = in_parts((port.sample_tick for port in program.nodes), program.period)
    host = program.host
    early = (host.node >= 0) & (host.exact_arrival(program.period) < sample[host.node] + program.period.denominator)
    rows = np.flatnonzero(early).tolist()
    return faults + [f"host row {row}: delivers a frame before its input is sampled" for row in rows]


def claims_of(program: ChipProgram, network: TickNetwork) -> Certificate:
    """Claim what the label of every neuron says."""
    node, index, soma = program.neuron_node, program.neuron_index, program.soma.reshape(program.shape)
    holds = np.zeros(program.shape, np.bool_) if program.is_part is None else program.is_part
    relay = program.is_relay & ~holds
    neuron = np.where((node >= 0) & ~holds, network.first[node] + index, NOBODY).ravel()[soma]
    sample = in_parts((port.sample_tick for port in program.nodes), program.period)
    begin = np.where(node >= 0, sample[node], 0).ravel()[soma]
    scale = np.array([program.scales.get(port.name, 0) for port in program.nodes] + [0])
    power = np.where(program.is_relay, 0, scale[node]).ravel()[soma]
    part = _currents(program, network, neuron, soma)
    state, silent = dict(network.state), np.zeros(int(network.first[-1]), np.bool_)
    fields = {name: getattr(network, name) for name in vars(network)} | {"state": state}
    claims = Certificate(
        **fields, neuron=neuron, begin=begin, part=part, relay=relay, holds=holds, power=power, silent=silent
    )
    claims = replace(claims, begin=_begin_of_relays(program, claims))
    return claims if claims.state else replace(claims, power=_powers(program, claims))


def _currents(program: ChipProgram, network: TickNetwork, neuron: Ints, soma: Ints) -> Ints:
    """Assign the compartments of a neuron to those of its further currents that anything feeds, in this order."""
    part = np.zeros(program.shape, np.int64)
    if program.joined is None:
        return part
    core, compartment = np.nonzero(program.joined >= 0)
    number = neuron[core, compartment]
    fed = np.zeros((int(network.first[-1]), int(network.current.max(initial=0)) + 1), np.bool_)
    fed[np.repeat(np.arange(len(fed)), np.diff(network.start)), network.current] = True
    key = soma[core, compartment]
    order = np.argsort(key, kind="stable")
    rank = np.arange(len(order)) - np.searchsorted(key[order], key[order])
    for k, which in zip(order.tolist(), rank.tolist(), strict=True):
        mine = np.flatnonzero(fed[number[k], 1:]) + 1
        part[core[k], compartment[k]] = mine[which] if which < len(mine) else which + 1
    return part


def _powers(program: ChipProgram, claims: Certificate) -> Ints:
    """Guess, from one neuron per node, the power of two by which the chip's weights are larger."""
    checker, power = Checker(program, claims), np.zeros(len(program.nodes) + 1, np.int64)
    node = np.where(claims.relay | claims.holds, -1, program.neuron_node)
    for number in np.setdiff1d(node[node >= 0], program.neuron_node[claims.holds]).tolist():
        core, n = (int(k) for k in np.argwhere(node == number)[0])
        *_, weight, wanted = next(iter(checker.terms(core, n)), (0, 0))
        ratio = weight // wanted if wanted else 1
        if ratio > 0 and wanted * ratio == weight and ratio.bit_count() == 1:
            power[number] = ratio.bit_length() - 1
    guessed: Ints = power[node]
    return guessed


def _begin_of_relays(program: ChipProgram, claims: Certificate) -> Ints:
    """Let relays begin when the spikes that they hand on arrive, from relay to relay along each chain."""
    begin, n = claims.begin.copy(), program.shape[1]
    wires = program.wires
    axons = np.append(0, np.cumsum(program.axon_counts))
    sender = np.full(int(axons[-1]), NOBODY, np.int64)
    sender[axons[wires.target_core] + wires.target_axon] = wires.core * n + wires.neuron
    delay = np.zeros(int(axons[-1]), np.int64)
    delay[axons[wires.target_core] + wires.target_axon] = wires.delay
    reader, axon, late = [], [], []
    for core in np.flatnonzero(claims.relay.any(axis=1)).tolist():
        fed = np.flatnonzero(sender[axons[core] : axons[core + 1]] != NOBODY)
        synapses = program.synapses_of(np.full(len(fed), core), fed)
        some = (synapses.weight > 0) & claims.relay[core, synapses.neuron]
        reader.append(core * n + synapses.neuron[some])
        axon.append(axons[core] + fed[synapses.row[some]])
        late.append(synapses.delay[some])
    if not reader:
        return begin
    relay, which = np.unique(np.concatenate(reader), return_index=True)
    axon_of = np.concatenate(axon)[which]
    leg = (delay[axon_of] + np.concatenate(late)[which]) * program.period.denominator
    flat, known = begin.ravel(), ~claims.relay.ravel()
    while len(relay):
        ready = known[sender[axon_of]]
        if not ready.any():
            break  # relays in a ring
        flat[relay[ready]] = flat[sender[axon_of[ready]]] + leg[ready]
        known[relay[ready]] = True
        relay, axon_of, leg = relay[~ready], axon_of[~ready], leg[~ready]
    return flat.reshape(program.shape)


def silent_neurons(claims: Certificate) -> NDArray[np.bool_]:
    """Find the largest set of neurons that are never 1: all but inputs, less those that sources outside may excite."""
    n = int(claims.first[-1])
    if claims.state:
        return np.zeros(n, np.bool_)
    silent = np.repeat([kind != "input" for kind in claims.kinds], np.diff(claims.first))
    row = np.repeat(np.arange(n), np.diff(claims.start))
    excites = np.flatnonzero(claims.weight > 0)
    while True:
        heard = excites[~silent[claims.source[excites]]]
        most = np.bincount(row[heard], claims.weight[heard], n)
        still = silent & (most < claims.threshold)
        if (still == silent).all():
            return silent
        silent = still

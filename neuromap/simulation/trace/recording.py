"""What a simulation records: spikes and potentials of chosen neurons, and spike counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from neuromap.arrays.frozen import ReadOnly, adopted
from neuromap.errors import InputError
from neuromap.files.argument_checks import yes_or_no
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.hardware.program.ports import NodePort
from neuromap.render.value import Card

_HINT = "give outputs, all, node:NAME, core:NUMBER or core:FIRST-LAST"


@dataclass(frozen=True)
class Recording(Card):
    """What to record of a run.

    Neurons are selected by words:

    - ``"outputs"``: the neurons that are read out, of every output node;
    - ``"node:H1"``: all copies of the neurons of node H1, without relays; for an output node, those read out. The
      program must contain a hidden node completely (``Program.left_out``);
    - ``"core:3"``, ``"core:3-7"``: every neuron of these cores, by their row in the program;
    - ``"all"``: every neuron of the program; labelled by node if the program contains the node completely.

    Attributes
    ----------
    spikes : sequence of str
        Neurons whose spikes are kept. A string is split at commas.
    potentials : sequence of str
        Neurons whose potential is kept after every tick; none by default.
    counts : bool
        Whether the spikes of every neuron of the program are counted.

    Raises
    ------
    InputError
        If a word is none of these.
    """

    spikes: Sequence[str] = ("outputs",)
    potentials: Sequence[str] = ()
    counts: bool = False

    def __post_init__(self) -> None:
        for field in ("spikes", "potentials"):
            given = getattr(self, field)
            if not isinstance(given, Iterable) or isinstance(given, bytes | bytearray):
                raise InputError(f"recording: {field} = {given!r:.60}: must be words, such as 'outputs' or ['node:H1']")
            words = given.split(",") if isinstance(given, str) else [str(word) for word in given]
            words = [word.strip() for word in words]
            for word in words:
                _check_word(word)
            object.__setattr__(self, field, tuple(words))
        object.__setattr__(self, "counts", yes_or_no("recording: counts", self.counts))


def readout_of(program: ChipProgram, words: Sequence[str]) -> Readout:
    """Find the neurons selected by words of a :class:`Recording`."""
    kinds = np.array([*(port.kind for port in program.nodes), ""])  # the last entry is for neurons without a label
    wanted, chosen = _choices(program, words, kinds)
    label, index = node_labels(program)
    core, neuron = np.nonzero(chosen | ((label >= 0) & wanted[label]))

    outputs_first = sorted(np.flatnonzero(wanted).tolist(), key=lambda k: kinds[k] != "output")
    position = np.full(len(kinds), -1, dtype=np.int32)
    position[outputs_first] = np.arange(len(outputs_first))
    node = position[label[core, neuron]]
    index = np.where(node < 0, -1, index[core, neuron])
    rows = np.lexsort((neuron, core, index, node))
    return Readout(
        nodes=tuple(program.nodes[k] for k in outputs_first),
        core=core[rows].astype(np.int32),
        neuron=neuron[rows].astype(np.int32),
        node=node[rows],
        index=index[rows].astype(np.int32),
    )


def _choices(
    program: ChipProgram, words: Sequence[str], kinds: NDArray[np.str_]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the chosen nodes, shape (nodes + 1,), and the neurons chosen by core, shape (C, N)."""
    # A node is recorded only if the program contains all of its neurons: the activity of missing ones is unknown.
    left_out = program.left_out if any(word == "all" or word.startswith("node:") for word in words) else {}
    named = {port.name: position for position, port in enumerate(program.nodes)}
    wanted = np.zeros(len(kinds), dtype=np.bool_)
    chosen = np.zeros(program.shape, dtype=np.bool_)
    for word in words:
        kind, _, name = word.partition(":")
        if word == "outputs":
            wanted |= kinds == "output"
        elif word == "all":
            wanted |= (kinds == "output") | (kinds == "hidden")
            wanted[[named[name] for name in left_out]] = False
            chosen[:] = True
        elif kind == "node":
            wanted[_node(program, named, name, left_out)] = True
        else:
            first, last = _cores(program, name)
            chosen[first : last + 1] = True
    return wanted, chosen


def node_labels(program: ChipProgram) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Node and index of every neuron that can be recorded as one of its node, shape (C, N)."""
    # Node -1 for all others.
    # For hidden nodes these are all neurons that compute them, for output nodes those that are read out, so that the
    # outputs in a trace do not depend on what else is recorded.
    outputs_at = [k for k, port in enumerate(program.nodes) if port.kind == "output"]
    label = np.where(program.is_relay, -1, program.neuron_node)
    label[np.isin(label, outputs_at)] = -1
    index = program.neuron_index.copy()
    outputs = program.outputs
    label[outputs.core, outputs.neuron] = outputs.node
    index[outputs.core, outputs.neuron] = outputs.index
    return label, index


def _check_word(word: str) -> None:
    kind, _, name = word.partition(":")
    if word in ("outputs", "all") or (kind == "node" and name):
        return
    if kind == "core" and re.fullmatch(r"[0-9]{1,9}(-[0-9]{1,9})?", name):
        return
    raise InputError(f"recording {word!r}: is not a choice of neurons; {_HINT}")


def _node(program: ChipProgram, named: dict[str, int], name: str, left_out: dict[str, int]) -> int:
    inside = ", ".join(port.name for port in program.nodes if port.kind != "input")
    if name not in named:
        raise InputError(f"recording node:{name}: program {program.name} has no such node; nodes are {inside}")
    if program.nodes[named[name]].kind == "input":
        raise InputError(f"recording node:{name}: is an input, its spikes are the stimulus; nodes inside are {inside}")
    if name in left_out:
        size = program.nodes[named[name]].size
        raise InputError(
            f"recording node:{name}: program {program.name} holds {size - left_out[name] or 'none'} of its {size} "
            f"neurons, because what leads to no output is left out; map with --keep {name} (keep={name!r})"
        )
    return named[name]


def _cores(program: ChipProgram, name: str) -> tuple[int, int]:
    first, _, last = name.partition("-")
    bounds = int(first), int(last or first)
    if not bounds[0] <= bounds[1] < program.n_cores:
        raise InputError(
            f"recording core:{name}: program {program.name} has cores 0 to {program.n_cores - 1}, counted from 0"
        )
    return bounds


# Chosen neurons of a program with their labels, and their potentials.


@dataclass(frozen=True, eq=False)
class Readout(ReadOnly, Card):
    """K chosen neurons of a program, with their labels.

    Attributes
    ----------
    nodes : tuple of NodePort
        Chosen nodes, outputs first.
    core, neuron : ndarray of int32, shape (K,)
        Places on the chip. Rows are ordered by node, index, core, neuron.
    node : ndarray of int32, shape (K,)
        Position in ``nodes``; -1 for neurons chosen by core that belong to no chosen node.
    index : ndarray of int32, shape (K,)
        Neuron within the node; -1 if ``node`` is -1.
    """

    nodes: tuple[NodePort, ...]
    core: NDArray[np.int32]
    neuron: NDArray[np.int32]
    node: NDArray[np.int32]
    index: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.core)

    @property
    def is_output(self) -> NDArray[np.bool_]:
        """Whether each neuron is recorded as one of an output node; shape (K,)."""
        return adopted(np.array([*(port.kind == "output" for port in self.nodes), False])[self.node])

    @classmethod
    def none(cls) -> Self:
        """No neurons."""
        return cls((), *(np.zeros(0, dtype=np.int32) for _ in range(4)))

    def rows(self, program: ChipProgram) -> NDArray[np.int32]:
        """Row of every neuron of the program, shape (C, N); -1 for neurons that are not chosen."""
        table = np.full(program.shape, -1, dtype=np.int32)
        table[self.core, self.neuron] = np.arange(len(self))
        return table


@dataclass(frozen=True, eq=False)
class Potentials(ReadOnly, Card):
    """Potentials of chosen neurons after every tick.

    Attributes
    ----------
    neurons : Readout
        The K neurons.
    values : ndarray of int32, shape (n_ticks, K)
        V after each tick.
    """

    neurons: Readout
    values: NDArray[np.int32]

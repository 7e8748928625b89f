"""Neurons of spiking nodes, which keep state (``docs/spiking.md``), and of graded nodes (``docs/graded.md``)."""

from __future__ import annotations

import math
import operator
from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from neuromap.arrays.array_types import Ints
from neuromap.arrays.frozen import adopted, freeze_arrays, frozen
from neuromap.arrays.read_only_mapping import ReadOnlyMapping
from neuromap.errors import NetworkError
from neuromap.render.value import Card

# IntegerNeuron: common base of all neurons.
# Most currents of one neuron.
MAX_CURRENTS = 16


@dataclass(frozen=True, eq=False)
class IntegerNeuron(Card, ABC):
    """Integer neurons of a node, one set of values per neuron."""

    model: ClassVar[str]  # what network files call the class
    parameters: ClassVar[Mapping[str, tuple[int, int]]]  # names and bounds of the values of each neuron
    settings: ClassVar[Mapping[str, tuple[int, int]]]  # names and bounds of values common to all neurons of a node
    # rarely used ones of both: the value that does nothing, which files and digests leave out
    options: ClassVar[Mapping[str, int]] = ReadOnlyMapping({})

    def __post_init__(self) -> None:
        for name, bounds in self.settings.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or not bounds[0] <= value <= bounds[1]:
                raise NetworkError(f"neuron: {name}: found {value!r:.60}; allowed are {bounds[0]} to {bounds[1]}")
        for name in self.parameters:
            array = checked_integers(name, getattr(self, name), self._bounds(name))
            idle = self.options.get(name)
            is_idle = idle is not None and bool((array == idle).all())
            object.__setattr__(self, name, np.array(idle, np.int64) if is_idle else array)
        freeze_arrays(self)

    @property
    def n_currents(self) -> int:
        """Currents of each neuron that edges can feed."""
        return 1

    @property
    def arrays(self) -> dict[str, Ints]:
        """All arrays by name, in the order of the class; without options that do nothing."""
        return {name: getattr(self, name) for name in self.parameters if self._is_stated(name)}

    @property
    def stated(self) -> dict[str, int]:
        """Values common to all neurons of the node, by name; without options that do nothing."""
        return {name: getattr(self, name) for name in self.settings if self._is_stated(name)}

    def with_arrays(self, arrays: Mapping[str, Ints]) -> Self:
        """Return the same neuron with other arrays."""
        changed: dict[str, Any] = self.arrays | dict(arrays)
        return replace(self, **changed)

    def spread(self, size: int) -> Self:
        """Spread single values over all neurons of a node."""
        for name, array in self.arrays.items():
            if array.shape not in ((), (size,)):
                raise NetworkError(f"neuron: {name}: found {list(array.shape)} values; allowed are one, or {size}")
        return self._changed(lambda array: np.broadcast_to(array, (size,)))

    def require_consistent(self) -> None:
        """Refuse inconsistent values; checked before a network is computed."""

    def as_bytes(self) -> bytes:
        """Serialise all values: equal for neurons of one model iff they compute the same."""
        settings = repr(list(self.stated.items())).encode()
        return settings + b"".join(name.encode() + array.tobytes() for name, array in self.arrays.items())

    def take(self, neurons: Ints) -> Self:
        """Select neurons, in this order; every array must have one value per neuron."""
        return self._changed(lambda array: array[neurons])

    def _changed(self, change: Callable[[Ints], Ints]) -> Self:
        return self.with_arrays({name: change(array) for name, array in self.arrays.items()})

    def _bounds(self, name: str) -> tuple[int, int]:
        return self.parameters[name]

    def _is_stated(self, name: str) -> bool:
        return name not in self.options or not np.array_equal(getattr(self, name), self.options[name])

    def _facts(self) -> dict[str, object]:
        return {**{name: _span(array) for name, array in self.arrays.items()}, **self.stated}


@dataclass(frozen=True, eq=False)
class SpikingNeuron(IntegerNeuron, ABC):
    """Integer neurons that keep state from tick to tick."""

    threshold: Ints  # (): what makes a neuron spike


def checked_integers(name: str, values: ArrayLike, bounds: tuple[int, int]) -> Ints:
    """Check integers, one for all neurons or one per neuron."""
    try:
        array = np.asarray(values)
    except (ValueError, RuntimeError):  # rows of different lengths, or a tensor that needs gradients
        array = np.asarray(None)
    if array.dtype == object or (array.dtype.kind not in "iu" and not _is_whole(values)) or array.ndim > 1:
        raise NetworkError(f"neuron: {name}: found {values!r:.60}; allowed are integers, one or one per neuron")
    if array.size and not bounds[0] <= int(array.min()) <= int(array.max()) <= bounds[1]:
        wrong = int(array.min()) if int(array.min()) < bounds[0] else int(array.max())
        raise NetworkError(f"neuron: {name}: found {wrong}; allowed are {bounds[0]} to {bounds[1]}")
    whole = np.asarray(array, np.int64, order="C")  # copies cost seconds for millions of neurons, so one at most
    return frozen(whole) if np.may_share_memory(whole, array) else adopted(whole)


def one_value(values: Ints) -> int | None:
    """Return the value that all neurons share, or ``None``."""
    return int(values.flat[0]) if values.size and values.min() == values.max() else None


def _is_whole(value: object) -> bool:
    try:
        operator.index(value)  # type: ignore[arg-type] # asks whether it is one
    except TypeError:
        return False
    return not isinstance(value, bool)


def _span(values: Ints) -> str:
    low, high = int(values.min(initial=2**62)), int(values.max(initial=-(2**62)))
    return str(low) if low >= high else f"{low} to {high}"


_INT32 = 2**31 - 1


@dataclass(frozen=True, eq=False)
class LeakNeuron(SpikingNeuron):
    r"""Integer neurons with a potential V and a constant leak (Cassidy et al., IJCNN 2013, with kappa = 1).

    In every frame i >= 1, which is one tick:

    1. V := V + sum over edges e of W_e x[i - delay(e)] + leak;
    2. if V >= threshold: spike, and V := 0, or V - threshold where ``subtract`` is 1;
    3. else V := max(V, -floor).

    Parameters
    ----------
    threshold : array_like of int, shape () or (size,)
        1 or more.
    leak : array_like of int, shape () or (size,)
        Added in every tick, of either sign.
    floor : array_like of int, shape () or (size,)
        -floor is the least potential that a tick leaves; 0 or more.
    potential : array_like of int, shape () or (size,)
        V before the first tick: from -floor to below the threshold, checked before the network is computed.
    subtract : int
        1 where a spike takes the threshold off, 0 where it sets V to 0.

    Raises
    ------
    NetworkError
        If a value is no integer or out of range.
    """

    model: ClassVar[str] = "leak"
    parameters: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {"threshold": (1, _INT32), "leak": (-_INT32, _INT32), "floor": (0, _INT32), "potential": (-_INT32, _INT32)}
    )
    settings: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping({"subtract": (0, 1)})

    leak: NDArray[np.int64] = 0  # type: ignore[assignment] # single numbers become arrays
    floor: NDArray[np.int64] = 0  # type: ignore[assignment]
    potential: NDArray[np.int64] = 0  # type: ignore[assignment]
    subtract: int = 0

    def require_consistent(self) -> None:
        """Refuse potentials outside what a tick may leave.

        Raises
        ------
        NetworkError
            If one lies below the floor, or is not below the threshold.
        """
        outside = (self.potential < -self.floor) | (self.potential >= self.threshold)
        if outside.any():
            raise NetworkError(
                f"neuron: potential: lies outside -floor to threshold - 1 in {int(outside.sum())} of {outside.size} "
                "neurons; start them inside"
            )


# Names and bounds of the values of each neuron.
PARAMETERS: Mapping[str, tuple[int, int]] = ReadOnlyMapping(
    {
        "current_decay": (0, 2**16),
        "voltage_decay": (0, 2**16),
        "threshold": (0, 2**31 - 1),
        "bias": (-(2**31), 2**31 - 1),
        "refractory": (0, 255),
        "current": (-(2**31), 2**31 - 1),
        "voltage": (-(2**31), 2**31 - 1),
        "reset": (-(2**31), 2**31 - 1),
        "floor": (0, 2**31 - 1),
    }
)
# Floor of neurons without one: no width reaches farther down.
NO_FLOOR = 2**31 - 1
# Bits of an accumulator that holds every sum: currents have no more, and wrap themselves.
NO_WRAP = 32
# Name of the decays of further currents; the k-th, from 1, has ``.k`` behind it.
MORE = "more_current_decays"


@dataclass(frozen=True, eq=False)
class CurrentNeuron(SpikingNeuron):
    r"""Integer neurons with a current u and a voltage v, one set of values per neuron (Davies et al., IEEE Micro 2018).

    In every frame i >= 1, which is one tick, with divisions that round toward zero and b = ``decay_bits``:

    1. a := sum over edges e of W_e x[i - delay(e)], wrapped into ``accumulator_bits``, and
       u := u (2^b - current_decay) / 2^b + a, wrapped into ``current_bits``;
       further currents likewise, each with its own decay and the edges that feed it;
    2. s := all currents + bias, wrapped into ``current_bits`` where ``sum_wraps`` is 1, and
       v := v (2^b - voltage_decay) / 2^b + s, stopped at the rails +-(2^(voltage_bits - 1) - 1) and at -floor;
       while the neuron rests, v stays what it is;
    3. if v > threshold and the neuron does not rest: spike, v := reset, or v - threshold where ``subtract`` is 1, and
       the neuron rests for ``refractory`` ticks.

    Parameters
    ----------
    current_decay, voltage_decay : array_like of int, shape () or (size,)
        In parts of 2**decay_bits: 0 keeps the value, 2**decay_bits forgets it.
    threshold, bias : array_like of int, shape () or (size,)
        In units of the voltage.
    refractory : array_like of int, shape () or (size,)
        Ticks of rest after a spike, 0 to 255.
    current, voltage : array_like of int, shape () or (size,)
        u and v before the first tick; no voltage lies below its floor.
    reset : array_like of int, shape () or (size,)
        What a spike sets v to unless ``subtract`` is 1; -floor or more.
    floor : array_like of int, shape () or (size,)
        -floor is the least voltage that a tick leaves; 2**31 - 1, the default, is none.
    more_current_decays : sequence of array_like of int, shape () or (size,)
        Decays of further currents, which start at 0: current 1, 2 and so on of edges. On a chip each takes a
        compartment beside the neuron's own.
    decay_bits, current_bits, voltage_bits : int
        Widths, the last two with the sign; those of Loihi by default. A chip must have the same.
    subtract : int
        1 where a spike takes the threshold off (a soft reset), 0 where it sets v to ``reset``.
    accumulator_bits : int
        Width, with the sign, of the sum of a tick's input; 32, the default, holds all. A chip must have the same.
    sum_wraps : int
        1 where currents + bias wrap into ``current_bits`` before v takes them (as nengo-loihi has it), 0 where they do
        not (as Lava has it). A chip must do the same.

    Raises
    ------
    NetworkError
        If a value is no integer or out of range.
    """

    model: ClassVar[str] = "current"
    parameters: ClassVar[Mapping[str, tuple[int, int]]] = PARAMETERS
    settings: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {
            "decay_bits": (1, 16),
            "current_bits": (2, 32),
            "voltage_bits": (2, 32),
            "subtract": (0, 1),
            "accumulator_bits": (2, 32),
            "sum_wraps": (0, 1),
        }
    )
    options: ClassVar[Mapping[str, int]] = ReadOnlyMapping(
        {"reset": 0, "floor": NO_FLOOR, "subtract": 0, "accumulator_bits": NO_WRAP, "sum_wraps": 0}
    )

    current_decay: NDArray[np.int64] = 4096  # type: ignore[assignment] # single numbers become arrays
    voltage_decay: NDArray[np.int64] = 4096  # type: ignore[assignment]
    bias: NDArray[np.int64] = 0  # type: ignore[assignment]
    refractory: NDArray[np.int64] = 0  # type: ignore[assignment]
    current: NDArray[np.int64] = 0  # type: ignore[assignment]
    voltage: NDArray[np.int64] = 0  # type: ignore[assignment]
    more_current_decays: tuple[NDArray[np.int64], ...] = ()
    decay_bits: int = 12
    current_bits: int = 24
    voltage_bits: int = 24
    reset: NDArray[np.int64] = 0  # type: ignore[assignment]
    floor: NDArray[np.int64] = NO_FLOOR  # type: ignore[assignment]
    subtract: int = 0
    accumulator_bits: int = NO_WRAP
    sum_wraps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.more_current_decays, Sequence):
            raise NetworkError(
                f"neuron: {MORE}: found {self.more_current_decays!r:.60}; give a list, one for each current"
            )
        bounds = self._bounds("current_decay")
        more = tuple(checked_integers(MORE, decay, bounds) for decay in self.more_current_decays)
        if len(more) >= MAX_CURRENTS:
            raise NetworkError(f"neuron: {MORE}: found {len(more)} decays; at most {MAX_CURRENTS - 1} are allowed")
        object.__setattr__(self, MORE, more)

    @property
    def n_currents(self) -> int:
        """Currents of each neuron that edges can feed."""
        return 1 + len(self.more_current_decays)

    @property
    def arrays(self) -> dict[str, NDArray[np.int64]]:
        """All arrays by name: the parameters, then the decays of further currents."""
        return super().arrays | {f"{MORE}.{k}": decay for k, decay in enumerate(self.more_current_decays, start=1)}

    def with_arrays(self, arrays: Mapping[str, NDArray[np.int64]]) -> Self:
        """Return the same neuron with other arrays; see :class:`SpikingNeuron`."""
        found = self.arrays | dict(arrays)
        more = tuple(found.pop(f"{MORE}.{k}") for k in range(1, self.n_currents))
        changed: dict[str, Any] = found
        return replace(self, more_current_decays=more, **changed)

    def require_consistent(self) -> None:
        """Refuse voltages below the floor, and a reset that no spike sets.

        Raises
        ------
        NetworkError
            If there is one.
        """
        for name, values in (("voltage", self.voltage), ("reset", self.reset)):
            below = np.broadcast_arrays(values < -self.floor)[0]
            if below.any():
                raise NetworkError(
                    f"neuron: {name}: lies below -floor in {int(below.sum())} of {below.size} neurons; give them a "
                    "lower floor"
                )
        if self.subtract and self.reset.any():
            raise NetworkError(
                f"neuron: reset: found {_span(self.reset)}, but subtract = 1 takes the threshold off; give one of them"
            )

    def _bounds(self, name: str) -> tuple[int, int]:
        if name.endswith("_decay"):
            return 0, 1 << self.decay_bits
        if name in ("current", "voltage", "reset"):
            half = 1 << ((self.current_bits if name == "current" else self.voltage_bits) - 1)
            return (-half if name == "current" else 1 - half), half - 1
        return PARAMETERS[name]


# Greatest magnitude of a value: sums of them times weights stay inside 64 bits.
PAYLOAD = 2**24 - 1
# Greatest magnitude of a sum: times any multiplier it stays inside 64 bits.
GREATEST_SUM = 2**31 - 1


@dataclass(frozen=True, eq=False)
class GradedNeuron(IntegerNeuron):
    r"""Integer neurons without memory that send values: quantised ReLU, saturating and linear units.

    In every frame i >= 1 a neuron's value is, in exact integers::

        total = sum over edges e of W_e x[i - R(e)] + bias
        x[i]  = clip(round(total * multiplier / 2**shift), low, high)

    where ``round`` goes to the nearest integer, ties to even, as quantised ONNX and PyTorch operators do. With
    ``maximum = 1`` the total is the greatest product of a weight and a value over the neuron's synapses instead. A
    value of 0 is silence: nothing is sent. Values are counted from the zero point: a quantised graph's q is x +
    ``zero_point``, so padding and silence are both 0.

    Parameters
    ----------
    low, high : int
        Bounds of values, -(2**24 - 1) to 0 and 0 to 2**24 - 1: low = 0 is a ReLU.
    multiplier, shift : array_like of int, shape () or (size,)
        Scale of a sum, as above; 0 to 2**31 - 1 and 0 to 62.
    bias : array_like of int, shape () or (size,)
        Added to the sum in frames i >= 1, in units of the sum.
    maximum : int
        1 to take the greatest input instead of the sum (max pooling); such a node has no bias.
    zero_point : int
        Code of the value 0 in the quantised graph; the network's arithmetic does not depend on it.
    scale : float, optional
        Real number that a value of 1 represents, positive; ``None``: unknown. Nothing computed depends on it.

    Raises
    ------
    NetworkError
        If a value is no integer or out of range, or a node takes the greatest input and has a bias.
    """

    model: ClassVar[str] = "graded"
    parameters: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {"multiplier": (0, 2**31 - 1), "shift": (0, 62), "bias": (-GREATEST_SUM, GREATEST_SUM)}
    )
    settings: ClassVar[Mapping[str, tuple[int, int]]] = ReadOnlyMapping(
        {"low": (-PAYLOAD, 0), "high": (0, PAYLOAD), "maximum": (0, 1), "zero_point": (-PAYLOAD, PAYLOAD)}
    )
    options: ClassVar[Mapping[str, int]] = ReadOnlyMapping(
        {"multiplier": 1, "shift": 0, "bias": 0, "maximum": 0, "zero_point": 0}
    )

    low: int
    high: int
    multiplier: Ints = 1  # type: ignore[assignment] # single numbers become arrays
    shift: Ints = 0  # type: ignore[assignment]
    bias: Ints = 0  # type: ignore[assignment]
    maximum: int = 0
    zero_point: int = 0
    scale: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.maximum and self.bias.any():
            raise NetworkError("neuron: bias: a node that takes the greatest input has none; leave it out")
        if self.scale is not None:
            scale: object = self.scale
            if isinstance(scale, bool) or not isinstance(scale, int | float) or not 0 < scale < math.inf:
                raise NetworkError(f"neuron: scale: found {scale!r:.60}; allowed is a positive number")
            object.__setattr__(self, "scale", float(scale))

    @property
    def value_range(self) -> tuple[int, int]:
        """Least and greatest value."""
        return self.low, self.high

    def of_features(self, shape: tuple[int, int, int] | None) -> Self:
        """Spread values of one per feature over all neurons of a node."""
        if shape is None:
            return self
        size, features = math.prod(shape), shape[2]
        every = {
            name: np.tile(array, size // features)
            for name, array in self.arrays.items()
            if array.shape == (features,) and features != size
        }
        return self.with_arrays(every) if every else self

    def respond(self, total: Ints) -> Ints:
        """Compute values from sums that include the bias: the one definition of rounding.

        Parameters
        ----------
        total : ndarray of int64, shape (..., size)
            Of magnitude below 2**31.

        Returns
        -------
        ndarray of int64, shape (..., size)
        """
        return rounded(total, self.multiplier, self.shift).clip(self.low, self.high)

    def _facts(self) -> dict[str, object]:
        return super()._facts() | ({} if self.scale is None else {"scale": self.scale})


def rounded(total: Ints, multiplier: Ints, shift: Ints) -> Ints:
    """Round total * multiplier / 2**shift to the nearest integer, ties to even."""
    product = total * multiplier
    whole = product >> shift
    left, half = product - (whole << shift), (np.int64(1) << shift) >> 1
    up = (left > half) | ((left == half) & (half > 0) & (whole & 1 > 0))
    nearest: Ints = whole + up
    return nearest


def require_exact(node: str, sums: NDArray[Any], bound: int = GREATEST_SUM) -> None:
    """Refuse sums too large to be computed exactly."""
    if (greatest := int(np.abs(sums).max(initial=0))) > bound:
        raise NetworkError(
            f"node {node}: a sum of {greatest} is reached; at most {GREATEST_SUM} (31 bits) are exact, scale its "
            "weights and multiplier down alike"
        )

"""The device "neuromap" of Brian2: networks of the supported class run on a simulated chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import brian2
import numpy as np
from brian2.core.namespace import get_local_namespace
from brian2.core.network import Network
from brian2.devices.device import RuntimeDevice, all_devices
from brian2.units import second

from neuromap.backends.brian2.chip_report import ChipReport, chip_report
from neuromap.backends.brian2.chip_step import ChipStep, on_the_chip
from neuromap.backends.brian2.loaded_chip import LoadedChip, Snapshot
from neuromap.backends.brian2.translate import Translated, translate
from neuromap.errors import InputError, NotSupportedError
from neuromap.hardware.chip.chip_file import load_chip

__all__ = ["NeuromapDevice", "register"]

_PERIOD = 10 * second
_OPTIONS = ("chip", "engine", "profile")


class NeuromapDevice(RuntimeDevice):
    """Runs networks of Brian2 on a simulated chip; ``set_device("neuromap", chip="loihi1", engine="fast")``.

    Groups and synapses are translated, put into integers and mapped when a network is run for the first time; then
    the chip takes a tick for every step of Brian2, which goes on with monitors, Poisson and generator groups,
    operations and reports of its own.
    """

    def __init__(self) -> None:
        super().__init__()
        self._chips: WeakKeyDictionary[Any, LoadedChip] = WeakKeyDictionary()
        self._written: WeakKeyDictionary[Any, Mapping[str, Any]] = WeakKeyDictionary()
        self._stored: WeakKeyDictionary[Any, dict[str, Snapshot | None]] = WeakKeyDictionary()
        self._last: LoadedChip | None = None

    def activate(self, build_on_run: bool = True, **options: Any) -> None:
        """Take the options of ``set_device``.

        Raises
        ------
        InputError
            If there is no such option.
        """
        wrong = [name for name in options if name not in _OPTIONS]
        if wrong:
            raise InputError(f"set_device: option {wrong[0]!r} is unknown; options are {', '.join(_OPTIONS)}")
        super().activate(build_on_run, **options)

    @property
    def has_run(self) -> bool:
        """Whether any network ran."""
        return self._last is not None

    @property
    def chip(self) -> LoadedChip:
        """The chip that ran last.

        Raises
        ------
        InputError
            If none did.
        """
        if self._last is None:
            raise InputError("device neuromap: nothing has run yet; call run first")
        return self._last

    def network_run(
        self,
        net: Any,
        duration: Any,
        report: Any = None,
        report_period: Any = _PERIOD,
        namespace: Mapping[str, Any] | None = None,
        profile: bool | None = None,
        level: int = 0,
    ) -> None:
        """Run a network on the chip; called by Brian2 in place of ``Network.run``.

        Raises
        ------
        NotSupportedError
            If something is outside the supported class, or changed since the chip was loaded.
        NetworkError, DoesNotFitError
            If it cannot be put into integers, or not onto the chip.
        """
        if namespace is None:
            namespace = get_local_namespace(level=level + 2)
        chip = self._load(net, namespace)
        watched = any(not _needs_no_state(thing) for thing in net.objects)
        step = ChipStep(chip, watched=watched)
        with on_the_chip(chip, step):
            Network.run.original_function(
                net, duration, report=report, report_period=report_period, namespace=namespace, profile=profile
            )
        step.write_state()
        step.clear_spikes()
        self._chips[net], self._last = chip, chip
        self._written[net] = _state(chip.translated)

    def network_store(self, net: Any, name: str = "default", filename: str | None = None) -> None:
        """Store the state of a network with that of its chip.

        Raises
        ------
        NotSupportedError
            If a file is named: states of the chip are kept in memory.
        """
        _in_memory("store", filename)
        Network.store.original_function(net, name)
        self._stored.setdefault(net, {})[name] = self._chips[net].snapshot() if self._has_run(net) else None

    def network_restore(
        self, net: Any, name: str = "default", filename: str | None = None, restore_random_state: bool = False
    ) -> None:
        """Restore the state of a network and of its chip.

        Raises
        ------
        NotSupportedError
            As :meth:`network_store`.
        """
        _in_memory("restore", filename)
        Network.restore.original_function(net, name, restore_random_state=restore_random_state)
        snapshot = self._stored.get(net, {}).get(name)
        if snapshot is not None:
            self._chips[net].go_back(snapshot)
            self._written[net] = _state(self._chips[net].translated)

    def report(self, *, time_constant: float = 0.01) -> ChipReport:
        """Tell what ran last: cores, spikes, hops, energy, delays, quantisation and distance to the float original.

        Parameters
        ----------
        time_constant : float
            Of the distance of spike trains, in seconds.
        """
        return chip_report(self.chip, time_constant)

    def _has_run(self, net: Any) -> bool:
        return net in self._chips and float(net.t_) > 0

    def _load(self, net: Any, namespace: Mapping[str, Any]) -> LoadedChip:
        """Load a chip for a network that begins; of others check that nothing was changed."""
        chip = load_chip(self.build_options.get("chip", "loihi1"))
        name = "brian2" if type(net) is brian2.MagicNetwork else str(net.name)
        found = translate(net.objects, namespace, chip, name)
        if not self._has_run(net):
            return LoadedChip(found, chip, self.build_options.get("engine", "fast"))
        _require_unchanged(self._chips[net].translated, found, self._written[net])
        return self._chips[net]


def _needs_no_state(thing: Any) -> bool:
    """Whether an object can do without state variables in every step."""
    monitors = (brian2.SpikeMonitor, brian2.PopulationRateMonitor)
    own = (brian2.NeuronGroup, brian2.Synapses, brian2.PoissonGroup, brian2.SpikeGeneratorGroup, brian2.Subgroup)
    if isinstance(thing, monitors):
        return not {*getattr(thing, "record_variables", ())} - {"t", "i"}
    return isinstance(thing, own)


def _in_memory(what: str, filename: str | None) -> None:
    if filename is not None:
        raise NotSupportedError(f"{what}: filename {filename!r}: states of the chip are kept in memory; leave it out")


def _state(translated: Translated) -> dict[str, Any]:
    return {
        f"{name}.{variable}": np.array(translated.groups[name].variables[variable].get_value())
        for name, model in translated.models.items()
        for variable in (model.v, *model.currents)
    }


def _require_unchanged(before: Translated, now: Translated, written: Mapping[str, Any]) -> None:
    """Refuse changes between two runs that the chip, which goes on from its own state, would not see."""
    for name, values in _state(now).items():
        if name not in written or not np.array_equal(values, written[name]):
            raise _changed(name)
    for name, model in before.models.items():
        other = now.models.get(name)
        for key, values in model.values.items():
            if other is None or not np.array_equal(values, other.values[key]):
                raise _changed(f"{name}: {key}")
        if other is None or not all(
            np.array_equal(a, b) for a, b in zip((*model.taus, *model.gains), (*other.taus, *other.gains), strict=False)
        ):
            raise _changed(f"{name}: currents")
    pairs = zip(before.network.synapses, now.network.synapses, strict=False)
    same = [np.array_equal(a.weight, b.weight) and np.array_equal(a.delay, b.delay) for a, b in pairs]
    if len(before.network.synapses) != len(now.network.synapses) or not all(same):
        raise _changed("synapses")


def _changed(what: str) -> NotSupportedError:
    return NotSupportedError(
        f"{what}: was changed between two runs, while the chip goes on from its own state; set it before the first "
        "run, or restore a state from before"
    )


def register() -> NeuromapDevice:
    """Make the device known to Brian2 as "neuromap"."""
    made: NeuromapDevice = all_devices.setdefault("neuromap", NeuromapDevice())
    return made

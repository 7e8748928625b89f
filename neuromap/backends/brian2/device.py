"""The device "neuromap" of Brian2: networks of the supported class run on a simulated chip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import brian2
import numpy as np
from brian2.core.namespace import get_local_namespace
from brian2.core.network import Network
from brian2.devices.device import RuntimeDevice, all_devices
from brian2.units import second

from neuromap.backends.brian2.chip_report import ChipReport, chip_report
from neuromap.backends.brian2.chip_step import ChipStep, on_the_chip
from neuromap.backends.brian2.fingerprint import (
    Fingerprint,
    fingerprint,
    require_same_state,
    require_unchanged,
    shown_state,
)
from neuromap.backends.brian2.loaded_chip import LoadedChip, Snapshot
from neuromap.backends.brian2.refused import refused
from neuromap.backends.brian2.translate import Translated, translate
from neuromap.backends.brian2.whitelist import check_network
from neuromap.errors import InputError, NotSupportedError
from neuromap.hardware.chip.chip_file import load_chip

__all__ = ["NeuromapDevice", "register"]

_PERIOD = 10 * second
_OPTIONS = ("chip", "engine", "profile")


class NeuromapDevice(RuntimeDevice):
    """Runs networks of Brian2 on a simulated chip; ``set_device("neuromap", chip="loihi1", engine="fast")``."""

    # Groups and synapses are translated, put into integers and mapped when a network is run for the first time; then
    # the chip takes a tick for every step of Brian2, which goes on with monitors, Poisson and generator groups,
    # operations and reports of its own.

    def __init__(self) -> None:
        super().__init__()
        self._loaded: WeakKeyDictionary[Any, _Loaded] = WeakKeyDictionary()
        self._stored: WeakKeyDictionary[Any, dict[str, tuple[_Loaded, Snapshot] | None]] = WeakKeyDictionary()
        self._last: LoadedChip | None = None

    def activate(self, build_on_run: bool = True, **options: Any) -> None:
        """Take the options of ``set_device``."""
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
        """The chip that ran last."""
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
        """Run a network on the chip; called by Brian2 in place of ``Network.run``."""
        if namespace is None:
            namespace = get_local_namespace(level=level + 2)
        check_network(net)
        loaded = self._load(net, namespace)
        chip, n_steps = loaded.chip, loaded.chip.n_steps
        watched = any(not _needs_no_state(thing) for thing in net.objects)
        step = ChipStep(chip, watched=watched)
        self._loaded.pop(net, None)  # a run that is interrupted leaves no state to go on from
        try:
            with on_the_chip(chip, step):
                Network.run.original_function(
                    net, duration, report=report, report_period=report_period, namespace=namespace, profile=profile
                )
        except BaseException:
            if chip.n_steps == n_steps and n_steps:
                self._loaded[net] = loaded
            raise
        if chip.n_steps > n_steps:  # without a step the chip has no state but the one that it was given
            step.write_state()
        step.clear_spikes()
        self._loaded[net] = loaded._replace(written=shown_state(chip.translated), time=float(net.t_))
        self._last = chip

    def network_store(self, net: Any, name: str = "default", filename: str | None = None) -> None:
        """Store the state of a network with that of its chip."""
        _in_memory("store", filename)
        Network.store.original_function(net, name)
        loaded = self._loaded.get(net)
        is_here = loaded is not None and float(net.t_) > 0 and loaded.time == float(net.t_)
        self._stored.setdefault(net, {})[name] = (loaded, loaded.chip.snapshot()) if loaded and is_here else None

    def network_restore(
        self, net: Any, name: str = "default", filename: str | None = None, restore_random_state: bool = False
    ) -> None:
        """Restore the state of a network and of its chip."""
        _in_memory("restore", filename)
        kept = self._stored.get(net, {}).get(name)
        if kept is None and name in net._stored_state and float(net._stored_state[name]["0_t"]) > 0:
            raise _no_state(f"restore: state {name!r}")
        Network.restore.original_function(net, name, restore_random_state=restore_random_state)
        self._loaded.pop(net, None)
        if kept is not None:
            loaded, snapshot = kept
            loaded.chip.go_back(snapshot)
            self._loaded[net] = loaded

    def report(self, *, time_constant: float = 0.01) -> ChipReport:
        """Tell what ran last: cores, spikes, hops, energy, delays, quantisation and distance to the float original."""
        # time_constant: of the distance of spike trains, in seconds
        return chip_report(self.chip, time_constant)

    def _load(self, net: Any, namespace: Mapping[str, Any]) -> _Loaded:
        """Load a chip for a network that begins; of others check that nothing was changed."""
        chip, engine = load_chip(self.build_options.get("chip", "loihi1")), self.build_options.get("engine", "fast")
        name = "brian2" if type(net) is brian2.MagicNetwork else str(net.name)
        found = translate(net.objects, namespace, chip, name)
        read = fingerprint(found, chip, engine)
        if float(net.t_) == 0:
            _require_free(found)
            return _Loaded(LoadedChip(found, chip, engine), read, {}, 0.0)
        loaded = self._loaded.get(net)
        if loaded is None or loaded.time != float(net.t_):
            raise _no_state(f"{name}: t = {1e3 * float(net.t_):g} ms")
        require_unchanged(loaded.read, read)
        require_same_state(loaded.written, shown_state(found))
        return loaded


class _Loaded(NamedTuple):
    """A chip and what it was loaded with; the state that it left in Brian2's variables, and when."""

    chip: LoadedChip
    read: Fingerprint
    written: Mapping[str, Any]
    time: float


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


def _require_free(translated: Translated) -> None:
    """Refuse neurons that rest when a chip is loaded, as those of the chip begin free."""
    network = translated.network
    for name, group in translated.groups.items():
        rest = network.nodes[name].rest_ticks(network.dt)
        if "lastspike" in group.variables:
            since = np.floor(-group.variables["lastspike"].get_value() / network.dt + 1e-3)
            if ((since < 0) | (rest > 0) & (since <= rest)).any():  # also who spikes later, and rests no time after it
                raise refused(name, "lastspike", "a neuron rests at t = 0, those of the chip begin free", "set none")


def _no_state(what: str) -> NotSupportedError:
    return NotSupportedError(
        f"{what}: no chip has come to this state, as a run was interrupted or the state was not stored on neuromap; "
        "run from t = 0, or restore a state that was stored after a run"
    )


def register() -> NeuromapDevice:
    """Make the device known to Brian2 as "neuromap"."""
    made: NeuromapDevice = all_devices.setdefault("neuromap", NeuromapDevice())
    return made

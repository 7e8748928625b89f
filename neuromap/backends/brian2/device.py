"""The Brian2 device "neuromap", which runs networks of the supported class on a simulated chip."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import brian2
import numpy as np
from brian2.core.base import BrianObject
from brian2.core.namespace import get_local_namespace
from brian2.core.network import Network
from brian2.devices.device import RuntimeDevice, all_devices
from brian2.units import second

from neuromap.arrays.array_types import Ints
from neuromap.backends.brian2.chip_report import LoadedChip, Snapshot, chip_report
from neuromap.backends.brian2.translate import Translated, check_network, refused, translate
from neuromap.backends.imported import ChipReport
from neuromap.errors import InputError, NotSupportedError
from neuromap.hardware.chip.chip_file import load_chip
from neuromap.hardware.chip.chip_spec import ChipSpec

# Fingerprint of everything loaded onto a chip, to refuse changes that a script makes before the chip continues.
#
# The chip continues from its own state and has read everything else only once. So everything that the translation
# read is recorded: numbers by value, Brian2 objects by identity, and the state last shown in Brian2's variables.

# Fields of float neurons that change in a run; they are compared as the state that Brian2 shows.
_STATE = ("voltage", "currents")
_REMEDY = "set it before the first run, or restore a state from before"


class Fingerprint(NamedTuple):
    """Everything that a chip was loaded with."""

    values: Mapping[str, Any]  # numbers, arrays and settings read, by owner and name
    objects: Mapping[str, Any]  # Brian2 objects that the chip replaces


def fingerprint(translated: Translated, chip: ChipSpec, engine: str) -> Fingerprint:
    """Record everything that a translation read, with the chip and the engine that a script chose."""
    network = translated.network
    values: dict[str, Any] = {"set_device: chip": chip, "set_device: engine": engine, "dt": network.dt}
    values |= {f"{name}: size": size for name, size in network.inputs.items()}
    for name, neuron in network.nodes.items():
        model = translated.models[name]
        values[f"{name}: variables"] = (model.v, *model.currents)
        values |= {f"{name}: {f.name}": getattr(neuron, f.name) for f in fields(neuron) if f.name not in _STATE}
    for synapses in translated.synapses:
        values[f"{synapses.name}: active"] = tuple(pathway.active for pathway in synapses._pathways)
    for k, (label, part) in enumerate(zip(translated.labels, network.synapses, strict=True)):
        which = translated.labels[:k].count(label)
        of = label if which == 0 else f"{label} ({which + 1})"
        values |= {f"{of}: {f.name}": getattr(part, f.name) for f in fields(part)}
    objects = {**translated.groups, **translated.sources, **{thing.name: thing for thing in translated.synapses}}
    return Fingerprint(values, objects)


def shown_state(translated: Translated) -> dict[str, Any]:
    """Copy the chip's state as Brian2 shows it; the chip would ignore changes to it."""
    found: dict[str, Any] = {}
    for name, model in translated.models.items():
        variables = translated.groups[name].variables
        rest = [part for part in ("lastspike", "not_refractory") if part in variables]
        found |= {f"{name}.{part}": np.array(variables[part].get_value()) for part in (model.v, *model.currents, *rest)}
    return found


def replaced_parts(translated: Translated) -> Iterator[Any]:
    """Iterate over the parts of Brian2 objects that the chip replaces."""
    for group in translated.groups.values():
        yield from (group.state_updater, group.thresholder["spike"], group.resetter["spike"])
    for synapses in translated.synapses:
        yield from synapses._pathways


def require_unchanged(before: Fingerprint, now: Fingerprint) -> None:
    """Refuse to continue if anything that was read has changed."""
    for name in [*before.objects, *now.objects]:
        if (name in before.objects) != (name in now.objects):
            raise _changed(f"{name}: was {'taken out of' if name in before.objects else 'added to'} the network")
        if before.objects[name] is not now.objects[name]:
            raise _changed(f"{name}: was replaced by another object")
    require_same(before.values, now.values)


def require_same(before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to continue if a script has changed values, or set state that the chip computes."""
    for what in [*before, *now]:
        old, new = before.get(what), now.get(what)
        if (what in before) != (what in now) or not _alike(old, new):
            raise _changed(f"{what}: was changed{_told(old, new)}")


def _alike(old: Any, new: Any) -> bool:
    if isinstance(old, tuple) and isinstance(new, tuple):
        return len(old) == len(new) and all(_alike(a, b) for a, b in zip(old, new, strict=True))
    if isinstance(old, np.ndarray) or isinstance(new, np.ndarray):
        return np.array_equal(old, new, equal_nan=True)
    return bool(old == new)


def _told(old: Any, new: Any) -> str:
    told = [getattr(value, "name", value) for value in (old, new)]
    return f" from {told[0]!r} to {told[1]!r}" if all(isinstance(value, (str, float, int)) for value in told) else ""


def _changed(what: str) -> NotSupportedError:
    return NotSupportedError(f"{what} between two runs, while the chip goes on from its own state; {_REMEDY}")


_PERIOD = 10 * second
_OPTIONS = ("chip", "engine", "profile")


class NeuromapDevice(RuntimeDevice):
    """Runs Brian2 networks on a simulated chip: ``set_device("neuromap", chip="loihi1", engine="fast")``."""

    # Groups and synapses are translated, quantised and mapped when a network first runs; then the chip runs one tick
    # per step of Brian2, which itself keeps running monitors, Poisson and generator groups, operations and reports.

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
        """Whether any network has run."""
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
        self._loaded.pop(net, None)  # an interrupted run leaves no state to continue from
        try:
            with on_the_chip(chip, step):
                Network.run.original_function(
                    net, duration, report=report, report_period=report_period, namespace=namespace, profile=profile
                )
        except BaseException:
            if chip.n_steps == n_steps and n_steps:
                self._loaded[net] = loaded
            raise
        if chip.n_steps > n_steps:  # without a step the chip only has its initial state
            step.write_state()
        step.clear_spikes()
        self._loaded[net] = loaded._replace(written=shown_state(chip.translated), time=float(net.t_))
        self._last = chip

    def network_store(self, net: Any, name: str = "default", filename: str | None = None) -> None:
        """Store the state of a network and of its chip."""
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
        """Report on the last run: cores, spikes, hops, energy, delays, quantisation, distance to the float original."""
        # time_constant: of the distance between spike trains, in seconds
        return chip_report(self.chip, time_constant)

    def _load(self, net: Any, namespace: Mapping[str, Any]) -> _Loaded:
        """Load a chip for a network at t = 0; for a running one, check that nothing has changed."""
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
        require_same(loaded.written, shown_state(found))
        return loaded


class _Loaded(NamedTuple):
    """A chip, what it was loaded with, and the state it last wrote to Brian2's variables, with the time."""

    chip: LoadedChip
    read: Fingerprint
    written: Mapping[str, Any]
    time: float


def _needs_no_state(thing: Any) -> bool:
    """Whether an object does not need the state variables in every step."""
    monitors = (brian2.SpikeMonitor, brian2.PopulationRateMonitor)
    own = (brian2.NeuronGroup, brian2.Synapses, brian2.PoissonGroup, brian2.SpikeGeneratorGroup, brian2.Subgroup)
    if isinstance(thing, monitors):
        return not {*getattr(thing, "record_variables", ())} - {"t", "i"}
    return isinstance(thing, own)


def _in_memory(what: str, filename: str | None) -> None:
    if filename is not None:
        raise NotSupportedError(f"{what}: filename {filename!r}: states of the chip are kept in memory; leave it out")


def _require_free(translated: Translated) -> None:
    """Refuse neurons that are refractory when a chip is loaded; those of the chip never start so."""
    network = translated.network
    for name, group in translated.groups.items():
        rest = network.nodes[name].rest_ticks(network.dt)
        if "lastspike" in group.variables:
            since = np.floor(-group.variables["lastspike"].get_value() / network.dt + 1e-3)
            if ((since < 0) | (rest > 0) & (since <= rest)).any():  # also a lastspike in the future, without rest
                raise refused(name, "lastspike", "a neuron rests at t = 0, those of the chip begin free", "set none")


def _no_state(what: str) -> NotSupportedError:
    return NotSupportedError(
        f"{what}: no chip has come to this state, as a run was interrupted or the state was not stored on neuromap; "
        "run from t = 0, or restore a state that was stored after a run"
    )


def register() -> NeuromapDevice:
    """Register the device with Brian2 as "neuromap"."""
    made: NeuromapDevice = all_devices.setdefault("neuromap", NeuromapDevice())
    return made


# A tick of the chip as an object of Brian2's network, in slot "thresholds".
# Order within the slot: after the thresholds of sources (0), before spike monitors (1).
_ORDER = 0.5


class ChipStep(BrianObject):
    """Runs the chip for one tick and writes its spikes to Brian2's groups."""

    add_to_magic_network = False
    invalidates_magic_network = False

    def __init__(self, chip: LoadedChip, *, watched: bool) -> None:
        group = next(iter(chip.translated.groups.values()))
        super().__init__(clock=group.clock, when="thresholds", order=_ORDER, name="neuromap_chip*")
        self._chip, self._watched = chip, watched
        network = chip.translated.network
        self._rest_steps = {name: 1 + neuron.rest_ticks(network.dt) for name, neuron in network.nodes.items()}

    def run(self) -> None:
        """Run a tick."""
        spikes = self._chip.step()
        for name, group in self._chip.translated.groups.items():
            _tell_spikes(group, spikes[name], self._rest_steps[name])
        for name, source in self._chip.translated.sources.items():
            space = source.variables["_spikespace"].get_value()
            self._chip.send(name, np.array(space[: space[-1]], np.int64))
        if self._watched:
            self.write_state()

    def write_state(self) -> None:
        """Write the chip's state to Brian2's variables."""
        for name, group in self._chip.translated.groups.items():
            model = self._chip.translated.models[name]
            group.variables[model.v].get_value()[:] = self._chip.voltages(name)
            if model.currents:
                for variable, values in zip(model.currents, self._chip.currents(name), strict=False):
                    group.variables[variable].get_value()[:] = values

    def clear_spikes(self) -> None:
        """Clear the lists of spikes, as Brian2 does after a run."""
        for group in self._chip.translated.groups.values():
            group.variables["_spikespace"].get_value()[-1] = 0


def _tell_spikes(group: Any, spikes: Ints, rest_steps: Ints) -> None:
    """Write the spikes of a step and the refractory state to a group."""
    space = group.variables["_spikespace"].get_value()
    space[: len(spikes)] = spikes
    space[-1] = len(spikes)
    if group._refractory is False:
        return
    clock = group.clock.variables
    last = group.variables["lastspike"].get_value()
    last[spikes] = clock["t"].get_value()[0]
    since = clock["timestep"].get_value()[0] - np.rint(last / float(group.clock.dt_))
    group.variables["not_refractory"].get_value()[:] = since >= rest_steps


@contextmanager
def on_the_chip(chip: LoadedChip, step: ChipStep) -> Iterator[None]:
    """Replace groups and synapses by the chip within the context."""
    groups = list(chip.translated.groups.values())
    replaced = list(replaced_parts(chip.translated))
    was_active = [part.active for part in replaced]
    for part in replaced:
        part.active = False
    groups[0].contained_objects.append(step)
    try:
        yield
    finally:
        groups[0].contained_objects.remove(step)
        for part, active in zip(replaced, was_active, strict=True):
            part.active = active

"""Convert chips, with defects and router figures, to and from TOML and JSON documents.

``docs/chip-file.md`` is the reference of the format. Unknown figures stay absent; unknown keys are errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from neuromap.cores.core_kind import CORE_KINDS, DEFAULT, CoreKind, our_kinds
from neuromap.errors import ChipError, NotSupportedError, prefixed
from neuromap.files.argument_checks import path_given
from neuromap.files.messages import did_you_mean, show, show_name
from neuromap.files.toml_table import TomlTable, read_toml
from neuromap.hardware.chip.chip_spec import ChipSpec, Defects, NeuronRules

# Defects as tables: of a chip file, of a program's header, or of a TOML file of their own.
#
# ``docs/chip-file.md`` is the reference of the format.
# Keys of the table ``[defects]``, and the integers of one entry.
DEFECT_KEYS = {"cores": ("x", "y"), "routers": ("x", "y"), "links": ("x", "y", "x2", "y2")}
# Room for every core of a board of a million cores.
MAX_FILE_BYTES = 1 << 24


def load_defects(path: str | Path) -> Defects:
    """Read a file of defects.

    Parameters
    ----------
    path : str or Path
        TOML with ``format = 1`` and the keys ``cores``, ``routers`` and ``links``, each optional.

    Returns
    -------
    Defects
        Join them with a chip by :meth:`neuromap.hardware.chip.chip_spec.ChipSpec.with_defects`, which checks that
        they lie on its board.

    Raises
    ------
    ChipError
        If the file cannot be read or breaks the format: one line with file, key and value.
    """
    path = path_given("load_defects", path, ChipError)
    origin = show_name(str(path))
    with prefixed(f"{origin}: ", ChipError):
        document = read_toml(Path(path), "defects file", MAX_FILE_BYTES, ChipError)
        top = TomlTable(document, "", ChipError)
        top.check_format(1, "defects file")
        top.allow(("format", *DEFECT_KEYS))
        return defects_from_table(top)


def defects_from_table(table: TomlTable) -> Defects:
    """Check and convert a table of defects."""
    cores, routers, links = (_entries(table, key) for key in DEFECT_KEYS)
    for i, (x, y, x2, y2) in enumerate(links):
        if abs(x - x2) + abs(y - y2) != 1:
            raise ChipError(
                f"{table.key_path('links')}[{i}]: found {show([x, y, x2, y2])}; allowed are cores side by side: "
                "x and x2, or y and y2, differ by 1 and the others are equal"
            )
    return Defects(
        cores=tuple((x, y) for x, y in cores),
        routers=tuple((x, y) for x, y in routers),
        links=tuple(((x, y), (x2, y2)) for x, y, x2, y2 in links),
    )


def _entries(table: TomlTable, key: str) -> list[list[int]]:
    names = DEFECT_KEYS[key]
    value = table.values.get(key, [])
    allowed = f"[{', '.join(names)}], integers from 0"
    if not isinstance(value, list):
        raise table.wrong(key, f"is a list of {allowed}")
    for i, entry in enumerate(value):
        if (
            not isinstance(entry, list)
            or len(entry) != len(names)
            or any(isinstance(n, bool) or not isinstance(n, int) or n < 0 for n in entry)
        ):
            raise ChipError(f"{table.key_path(key)}[{i}]: found {show(entry)}; allowed is {allowed}")
    return value


def defects_document(defects: Defects) -> dict[str, list[list[int]]]:
    """Return defects as the table of a file."""
    document = {
        "cores": [list(core) for core in defects.cores],
        "routers": [list(router) for router in defects.routers],
        "links": [[*one, *other] for one, other in defects.links],
    }
    return {key: entries for key, entries in document.items() if entries}


# Most cores of a board: 64 TrueNorth boards of 4 x 4 chips. Row numbers of cores stay well inside int32.
MAX_CORES = 2**22
# Figures of the table ``[router]``.
ROUTER_KEYS = {
    "hop_seconds": "time of one hop between two routers",
    "hop_x_seconds": "time of one hop along x, where it is another than along y",
    "hop_y_seconds": "time of one hop along y",
    "link_spikes_per_second": "spikes that one link of the mesh carries",
    "boundary_spikes_per_second": "spikes that all ports of one chip carry together",
    "boundary_bits_per_second": "bits that all ports of one chip carry together",
    "boundary_seconds": "time of crossing from one chip to the next",
    "boundary_hops": "hops that crossing from one chip to the next counts as in placement, besides its own",
    "spike_bits": "bits of one spike between two routers",
}
# Figures of the table ``[energy]``.
ENERGY_KEYS = {
    "supply_volts": "voltage at which the figures of this table hold",
    "synaptic_event_joules": "marginal energy of one synaptic event",
    "average_synaptic_event_joules": "total energy divided by synaptic events at a stated operating point",
    "neuron_access_joules": "energy of looking at one neuron in use in one tick, active or not",
    "neuron_update_joules": "energy of one neuron's leak and threshold in one tick; of an active one beside access",
    "fire_joules": "energy of one neuron that fires, whatever its targets",
    "spike_joules": "energy of one spike leaving a core, for one core that reads it",
    "arrival_joules": "energy of one spike entering a core",
    "hop_joules": "energy of one spike over one hop",
    "hop_x_joules": "energy of one spike over one hop along x, where it is another than along y",
    "hop_y_joules": "energy of one spike over one hop along y",
    "tick_joules": "energy of one tick of one chip, whatever its activity",
    "static_watts": "power of one chip at rest",
    "off_chip_bit_joules": "energy of one bit sent to another chip",
}
# Figures that are terms of an energy: all but the voltage and the average of everything.
ENERGY_TERM_KEYS = tuple(key for key in ENERGY_KEYS if key not in ("supply_volts", "average_synaptic_event_joules"))
# Figures of the table ``[time]``.
TIMING_KEYS = {
    "synaptic_event_seconds": "time that a core takes for one synaptic event",
    "neuron_access_seconds": "time of looking at one neuron in use in one tick, active or not",
    "neuron_update_seconds": "time of one neuron's leak and threshold in one tick; of an active one beside access",
    "fire_seconds": "time that a core takes for one neuron that fires, whatever its targets",
    "spike_seconds": "time that a core takes to send one spike to one core",
    "arrival_seconds": "time that a core takes for one spike that enters it",
}
_INT32 = 2**31 - 1
# Least rate, as rates are divisors. A rate of 0 would mean that nothing ever passes; absent is not zero.
_LEAST_RATE = 1e-30
# Least time of a timed tick, one femtosecond: frames and joules per second are divided by it.
_LEAST_TICK = 1e-15
# Core figures that are fields of :class:`ChipSpec`, as key: (least, greatest); the bounds keep values inside the dtypes
# of programs.
CORE_BOUNDS = {
    "axons": (1, 65536),
    "neurons": (1, 65536),
    "axon_types": (1, 256),
    "weight_bits": (2, 16),
    "leak_bits": (2, 16),
    "threshold_bits": (1, 31),
    "potential_bits": (2, 32),
    "targets_per_neuron": (1, _INT32),
}
_NEURON_CHOICES: dict[str, tuple[str, ...]] = {
    "number_format": ("sign_magnitude", "twos_complement"),
    "overflow": ("saturate", "wrap"),
    "negative_comparison": ("<", "<="),
}
_NEURON_SWITCHES = ("signed_threshold", "stochastic")
_TOP_KEYS = (
    "format", "name", "description", "source", "grid", "core", "time", "neuron", "router", "energy", "defects",
)  # fmt: skip
_TABLE_KEYS: dict[str, tuple[str, ...]] = {
    "grid": ("cores", "chips", "tile", "reach"),
    "core": (),  # of its kind
    "time": ("tick_seconds", "delay", "ticks", "barrier_seconds", *TIMING_KEYS),
    "neuron": (*_NEURON_CHOICES, *_NEURON_SWITCHES),
    "router": tuple(ROUTER_KEYS),
    "energy": (*ENERGY_KEYS, "included"),
    "defects": tuple(DEFECT_KEYS),
}


def keys_of_tables(kind: CoreKind) -> dict[str, tuple[str, ...]]:
    """Return the keys of every table of a chip file; those of ``[core]`` for our kinds of cores and this one."""
    kinds = dict.fromkeys((*our_kinds(), kind))
    return _TABLE_KEYS | {"core": ("model", *dict.fromkeys(key for kind in kinds for key in kind.structure.KEYS))}


def chip_document(chip: ChipSpec) -> dict[str, Any]:
    """Return a chip as the tables of its file."""
    document: dict[str, Any] = {
        "format": 1,
        "name": chip.name,
        "grid": {"cores": list(chip.cores), "chips": list(chip.chips)},
        "core": {} if chip.core_model == DEFAULT else {"model": chip.core_model},
        "time": {"tick_seconds": chip.tick_seconds, "delay": list(chip.delay), **chip.timing},
        "neuron": {key: getattr(chip.rules, key) for key in _TABLE_KEYS["neuron"]},
    }
    document["core"] |= chip.kind.structure.table(chip)
    if not chip.kind.structure.NEURON_TABLE:
        del document["neuron"]
    elif not chip.rules.stochastic:
        # at its default, and newer than the other keys: programs without it keep the bytes of their files
        del document["neuron"]["stochastic"]
    if chip.tile != (1, 1):
        document["grid"]["tile"] = list(chip.tile)
    if chip.is_timed:
        document["time"] |= {"ticks": "timed", "barrier_seconds": [list(step) for step in chip.barrier_seconds]}
    if chip.reach is not None:
        document["grid"]["reach"] = list(chip.reach)
    document |= {key: getattr(chip, key) for key in ("description", "source") if getattr(chip, key)}
    document |= {key: dict(getattr(chip, key)) for key in ("router", "energy") if getattr(chip, key)}
    if chip.energy_included:
        document.setdefault("energy", {})["included"] = list(chip.energy_included)
    if chip.defects:
        document["defects"] = defects_document(chip.defects)
    return document


def chip_from_document(document: Mapping[str, Any], origin: str) -> ChipSpec:
    """Check the tables of a chip file and make the chip."""
    try:
        return _chip(document)
    except (ChipError, NotSupportedError) as error:
        raise type(error)(f"{origin}: {error}") from None


def _chip(document: Mapping[str, Any]) -> ChipSpec:
    top = TomlTable(document, "", ChipError)
    top.check_format(1, "chip file")
    top.allow(_TOP_KEYS)
    kind = _kind(top)
    allowed = keys_of_tables(kind)
    # keys of other kinds of cores are refused below, with their kind; here they would only lengthen the list
    foreign = {*allowed["core"]} & {*top.table("core").values} - {*kind.structure.KEYS, "model"}
    allowed |= {"core": ("model", *kind.structure.KEYS, *sorted(foreign))}
    tables = {key: top.table(key, keys) for key, keys in allowed.items()}
    grid, core, time, neuron = (tables[key] for key in ("grid", "core", "time", "neuron"))

    values: dict[str, Any] = {"name": top.text("name", longest=100)}
    values |= {
        key: top.text(key, longest=4000, lines=True)
        for key in ("description", "source")
        if top.values.get(key, "") != ""
    }
    values["cores"] = grid.pair("cores", 1, MAX_CORES)
    values["chips"] = grid.pair("chips", 1, MAX_CORES) if "chips" in grid else (1, 1)
    values["reach"] = grid.pair("reach", 0, MAX_CORES) if "reach" in grid else None
    values["tile"] = grid.pair("tile", 1, MAX_CORES) if "tile" in grid else (1, 1)
    if any(cores % side for cores, side in zip(values["cores"], values["tile"], strict=True)):
        raise ChipError(f"grid.tile: found {list(values['tile'])}; must divide the cores {list(values['cores'])}")
    n_cores = math.prod(values["cores"]) * math.prod(values["chips"])
    if n_cores > MAX_CORES:
        raise ChipError(f"grid: {n_cores} cores on all chips; at most {MAX_CORES} are allowed")
    others = [one.name for one in our_kinds() if {*core.values} & ({*one.structure.KEYS} - {*kind.structure.KEYS})]
    hint = f'; model = "{others[0]}" has others' if others else ""
    core.allow(("model", *kind.structure.KEYS), f" of a {kind.name} core{hint}")
    if neuron.values and not kind.structure.NEURON_TABLE:
        raise ChipError(f"neuron: the neuron of {kind.name} cores has no choices; leave the table out")
    values |= kind.structure.figures(core)
    values["tick_seconds"] = time.number("tick_seconds", 1e-12, 1e6)
    values["delay"] = time.pair("delay", 1, 255, "[least, greatest]")
    if values["delay"][0] > values["delay"][1]:
        raise ChipError(f"time.delay: found {list(values['delay'])}; needs the least delay first")
    values["is_timed"] = "ticks" in time and time.text("ticks", ("fixed", "timed")) == "timed"
    values["barrier_seconds"] = _barrier(time, values["is_timed"])
    rules: dict[str, Any] = {
        key: neuron.text(key, allowed) for key, allowed in _NEURON_CHOICES.items() if key in neuron
    }
    rules |= {key: neuron.boolean(key) for key in _NEURON_SWITCHES if key in neuron}
    if rules.get("signed_threshold") and values["threshold_bits"] < 2:
        raise ChipError("core.threshold_bits: found 1; signed thresholds need 2 bits or more")
    for field, key, names in (
        ("router", "router", ROUTER_KEYS), ("energy", "energy", ENERGY_KEYS), ("timing", "time", TIMING_KEYS),
    ):  # fmt: skip
        table = tables[key]
        values[field] = {
            name: table.number(name, _LEAST_RATE if name.endswith("_per_second") else 0.0, 1e30)
            for name in table.values
            if name in names
        }
    _check_cycles(values["router"])
    values["energy_included"] = _included(tables["energy"])
    values["defects"] = defects_from_table(tables["defects"])
    if values["tile"] != (1, 1) and (values["defects"].routers or values["defects"].links):
        raise ChipError("defects: routers and links are those of single cores; name the dead cores of a tile instead")
    always = "neuron_access_seconds" if "neuron_access_seconds" in values["timing"] else "neuron_update_seconds"
    if values["is_timed"] and max(values["barrier_seconds"][0][1], values["timing"].get(always, 0.0)) < _LEAST_TICK:
        raise ChipError(
            f"time.barrier_seconds: a tick in which nothing happens would take no time; give the barrier or {always} "
            f"{_LEAST_TICK:g} s or more"
        )
    for part, figures in (("time", values["timing"]), ("router", values["router"])):
        for key in (key for key in figures if values["is_timed"] and key in _IN_TICKS):
            if figures[key] > _MOST_EACH:
                raise ChipError(
                    f"{part}.{key}: found {figures[key]:g}; where ticks are timed an event takes at most "
                    f"{_MOST_EACH:g} s"
                )
    named = {"router": {*values["router"]}, "energy": {*values["energy"], *values["energy_included"]}}
    apart = [key for key in _OF_TIMED if key in named["energy"]]
    if apart and not values["is_timed"]:
        raise ChipError(f'energy.{apart[0]}: is counted where ticks are timed; say ticks = "timed", or delete it')
    for part, key in (("router", "hop_seconds"), ("energy", "hop_joules")):
        both = [key.replace("hop_", f"hop_{axis}_") for axis in "xy"]
        found = [name for name in both if name in named[part]]
        if found and (key in named[part] or not values[part].keys() >= {*both}):
            beside = f"no {key} beside them" + ", nor in included" * (part == "energy")
            raise ChipError(f"{part}.{found[0]}: needs {' and '.join(both)}, and {beside}")
    rules |= values.pop("rules", {})  # fixed by the kind of core
    return ChipSpec(rules=NeuronRules(**rules), **values)


def _barrier(time: TomlTable, is_timed: bool) -> tuple[tuple[int, float], ...]:
    """Read the time of the barrier by tiles in use."""
    if "barrier_seconds" not in time:
        if is_timed:
            raise ChipError('time: ticks = "timed" needs barrier_seconds, such as [[1, 6e-7]]: tiles in use, seconds')
        return ()
    steps = time.values["barrier_seconds"]
    allowed = "is a list of [tiles, seconds], tiles from 1 on and rising, seconds from 0 to 1e-3 that do not fall"
    if not is_timed:
        raise ChipError('time.barrier_seconds: means nothing where ticks are fixed; say ticks = "timed", or delete it')
    if not isinstance(steps, list) or not steps or not all(isinstance(step, list) and len(step) == 2 for step in steps):
        raise time.wrong("barrier_seconds", allowed)
    known, before = 0, 0.0
    for tiles, seconds in steps:
        is_whole = isinstance(tiles, int) and not isinstance(tiles, bool)
        is_time = isinstance(seconds, int | float) and not isinstance(seconds, bool) and before <= seconds <= _MOST_EACH
        if not is_whole or not is_time or not known < tiles <= MAX_CORES or (known == 0 and tiles != 1):
            raise time.wrong("barrier_seconds", allowed)
        known, before = tiles, seconds
    return tuple((tiles, float(seconds)) for tiles, seconds in steps)


_IN_TICKS = (*TIMING_KEYS, "hop_seconds", "hop_x_seconds", "hop_y_seconds")
# Greatest time of one event or barrier: their sum over a run, in femtoseconds, fits 64 bits.
_MOST_EACH = 1e-3
# Figures counted only where ticks are timed.
_OF_TIMED = ("neuron_access_joules", "fire_joules", "arrival_joules")


def _kind(top: TomlTable) -> CoreKind:
    """Find the kind of core that a file names."""
    core = top.table("core")
    name = core.values.get("model", DEFAULT)
    return CORE_KINDS[name if name in CORE_KINDS else core.text("model", tuple(CORE_KINDS))]


def _check_cycles(router: Mapping[str, float]) -> None:
    """Refuse figures, each plausible, that together give more router cycles than can be counted."""
    for key, cycles in router_cycles(router).items():
        if cycles > MAX_ROUTER_CYCLES:
            raise ChipError(
                f"router.{key}: found {router[key]:g} with link_spikes_per_second = "
                f"{router['link_spikes_per_second']:g}, which is {cycles:.3g} router cycles; at most "
                f"{MAX_ROUTER_CYCLES} are allowed; correct one of the two, or leave out what is not known"
            )


def _included(energy: TomlTable) -> tuple[str, ...]:
    if "included" not in energy:
        return ()
    names = energy.texts("included")
    path = energy.key_path("included")
    for name in names:
        if name not in ENERGY_TERM_KEYS:
            raise ChipError(
                f"{path}: found {show(name)}; allowed are {', '.join(ENERGY_TERM_KEYS)}"
                + did_you_mean(name, ENERGY_TERM_KEYS)
            )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ChipError(f"{path}: {twice} is named twice; name each figure once")
    return tuple(names)


# Times of routers in router cycles, from a chip's figures ``[router]``: in one cycle a link passes one spike.


# Most cycles of a hop, a port or a boundary; their sums over a board fit 64 bits.
MAX_ROUTER_CYCLES = 2**31


def router_cycles(figures: Mapping[str, float]) -> dict[str, float]:
    """Convert router figures to cycles, as exact quotients."""
    # Returns by figure: cycles of a hop (``hop_seconds``), cycles in which the ports of a chip pass one spike
    # (``boundary_spikes_per_second``), and cycles of a link between two chips (``boundary_seconds``). Empty without
    # ``link_spikes_per_second`` and ``hop_seconds``, as the length of a cycle is unknown then; infinite where a
    # quotient is not finite
    rate, hop = figures.get("link_spikes_per_second"), figures.get("hop_seconds")
    if not rate or hop is None:
        return {}
    cycles = {"hop_seconds": hop * rate}
    if port := figures.get("boundary_spikes_per_second"):
        cycles["boundary_spikes_per_second"] = rate / port
    if (boundary := figures.get("boundary_seconds")) is not None:
        cycles["boundary_seconds"] = boundary * rate
    return {key: value if math.isfinite(value) else math.inf for key, value in cycles.items()}

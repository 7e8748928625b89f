"""Whether a program is of the network that a rollout is of, and has its frame period."""

from __future__ import annotations

from neuromap.arrays.times import Time, whole
from neuromap.errors import ProgramError
from neuromap.files.messages import counted
from neuromap.hardware.program.chip_program import ChipProgram
from neuromap.rollout.schedule.rollout import Rollout


def require_belongs(rollout: Rollout, program: ChipProgram) -> None:
    """Refuse a program whose nodes are not those of the rollout's network."""
    network = rollout.network
    ports = {port.name: port for port in program.nodes}
    for name, node in network.nodes.items():
        role = "input" if name in network.inputs else "output" if name in network.outputs else "hidden"
        if name not in ports:
            raise ProgramError(
                f"program {program.name}: has no node {name}, network {network.name} has; map this network again"
            )
        if ports[name].size != node.size:
            raise ProgramError(
                f"program {program.name}: node {name} has {counted(ports[name].size, 'neuron')}, in network "
                f"{network.name} "
                f"{node.size}; map this network again"
            )
        if ports[name].kind != role:
            raise ProgramError(
                f"program {program.name}: node {name} is {ports[name].kind}, in network {network.name} {role}; "
                "map this network again"
            )
    foreign = [name for name in ports if name not in network.nodes]
    if foreign:
        raise ProgramError(
            f"program {program.name}: node {foreign[0]} does not exist in network {network.name}; "
            "map this network again"
        )


def rollout_period(rollout: Rollout, program: ChipProgram) -> Time | None:
    """Frame period of a rollout in ticks of a program; ``None`` where splitters or sums in parts may lengthen it."""
    period = whole(rollout.frame_period * (1 if rollout.is_tick_level else program.ticks_per_step))
    lengthens = any(marks is not None and bool(marks.any()) for marks in (program.is_splitter, program.is_part))
    as_labelled = program.execution == rollout.execution and program.ticks_per_step == 1
    if program.period > period and not rollout.is_tick_level and lengthens and as_labelled:
        return None
    return period

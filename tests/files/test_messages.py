"""What one-line messages say: one of a thing is not several, wherever the program counts."""

import re

import numpy as np

import neuromap as nm
from neuromap.files.messages import counted

ONES = re.compile(
    r"(?<![\d.,/])\b1 (ticks|frames|cores|neurons|spikes|copies|relays|edges|nodes|values|steps|stimuli)\b"
)


def test_one_of_a_thing_is_not_several(tmp_path):
    assert [counted(n, "copy", "copies") for n in (0, 1, 2)] == ["0 copies", "1 copy", "2 copies"]
    net = nm.build_network({"I": (1, None), "O": (1, 1)}, {("I", "O"): [[1]]})
    rollout = nm.Rollout(net, "streaming")
    program = nm.map_rollout(rollout)
    frames = {"I": np.array([[0], [1]])}
    shown = [
        rollout, program, nm.simulate(program, frames), nm.verify(rollout, program, frames).message,
        nm.latency_report(net, frames=frames).rows[0], nm.latency_report(net, frames=frames).to_text(),
        nm.explore(net, frames=frames).to_text(),
    ]  # fmt: skip
    assert not [found[0] for value in shown for found in ONES.finditer(str(value))]

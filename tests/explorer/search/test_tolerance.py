"""What another draw of stimuli changes is no place on a front; and one program has one energy wherever one asks."""

from __future__ import annotations

from pathlib import Path

import pytest

import neuromap as nm
from neuromap.errors import InputError
from neuromap.explorer.explore import explore

DIGITS = sorted(path.stem for path in Path("examples/digits").glob("*.toml"))


@pytest.mark.parametrize("name", DIGITS)
def test_five_other_stimuli_give_the_same_front(name):
    net = nm.load_network(f"examples/digits/{name}.toml")
    found = [explore(net, seed=seed, n_frames=16, verify=False) for seed in (0, 5)]
    energies = [{row.candidate: row.energy_joules for row in some.rows if row.energy_joules} for some in found]
    assert energies[0] != energies[1]  # other stimuli do give other figures
    for front in ("front", "class_front"):
        assert len({tuple(row.candidate for row in getattr(some, front)) for some in found}) == 1
    for some in found:
        assert some.gap.is_exact
        assert some.gap.statement.endswith(f"energies within {100 * some.energy_tolerance:g} % count as equal")


def test_the_tolerance_is_how_well_the_given_energy_is_known():
    net = nm.load_network("examples/digits/sr.toml")
    found = explore(net, n_frames=8, verify=False, most_mapped=1)
    row = found.rows[0]
    relative = row.energy_half_width_joules / row.energy_joules
    assert relative <= found.energy_tolerance <= 2.5 * relative
    assert f"{found.energy_tolerance:e}"[0] in "125"
    for options in ({"n_stimuli": 1}, {"n_stimuli": 2, "most_mapped": 0}, {"n_stimuli": 2, "chips": "ranc"}):
        assert explore(net, n_frames=4, verify=False, **{"most_mapped": 1, **options}).energy_tolerance == 0.001
    chosen = explore(net, n_frames=4, n_stimuli=1, verify=False, most_mapped=1, energy_tolerance=0.25)
    assert chosen.energy_tolerance == 0.25
    assert "energies within 25 % count as equal" in chosen.gap.statement
    assert "on the fronts energies within 25 % count as equal" in " ".join(chosen.to_text().split())
    assert "energies within 25 % count as equal" in chosen.to_html()


OUT_OF_RANGE = "must be a part from 0 to below 1"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        *((number, OUT_OF_RANGE) for number in (-0.1, 1, 1.5, float("nan"))),
        (True, "must be a number, not a bool"),
        ("0.1", "must be a number, not a str"),
    ],
)
def test_a_tolerance_out_of_range_is_refused(wrong, why):
    with pytest.raises(InputError, match=f"energy_tolerance = .*: {why}"):
        explore(nm.load_network("examples/digits/ff.toml"), energy_tolerance=wrong)


@pytest.mark.parametrize("execution", ["windowed", "pipelined", "pipelined:2"])
def test_report_explorer_and_python_give_one_figure(execution):
    net = nm.load_network("examples/digits/sr.toml")
    options = {"n_frames": 6, "n_stimuli": 3, "seed": 7}
    found = explore(net, executions=execution, energy_tolerance=0, **options)
    rows = {row.pattern: row for row in found.rows if row.status == "mapped"}
    assert "streaming" in rows
    for pattern, row in rows.items():
        if pattern not in ("streaming", "sequential", *net.patterns):
            continue
        (reported,) = nm.latency_report(net, patterns=[pattern], executions=execution, **options).rows
        program = nm.map_rollout(nm.Rollout(net, nm.RolloutPattern.named(net, pattern), execution))
        measured = nm.measure_steady_activity(program, **options)
        shown = reported.figures
        assert row.energy_joules == shown.energy.joules_per_frame == measured.joules_per_frame
        assert row.energy_half_width_joules == measured.joules_spread.half_width
        assert shown.energy.joules_per_frame_spread == measured.joules_spread
        noc = shown.network_on_chip
        assert noc.spikes_per_frame + noc.readout_spikes_per_frame == pytest.approx(
            measured.spikes_per_frame, rel=1e-15
        )
        assert noc.hops_per_frame == measured.hops_per_frame
        assert shown.work.synaptic_events_per_frame == measured.synaptic_events_per_frame

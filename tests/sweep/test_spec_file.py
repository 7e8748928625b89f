"""A sweep file is checked whole before the first run: every fault is one line that names file and key."""

import pytest

from neuromap.errors import ChipError, InputError, NetworkError, PatternError
from neuromap.sweep.sweep_spec import MOST_RUNS, load_sweep


def test_a_spec_holds_what_its_file_says(write_spec):
    spec = load_sweep(write_spec())
    assert (spec.name, [network.name for network in spec.networks]) == ("spec", ["small"])
    assert [pattern.name for pattern in spec.patterns] == ["streaming", "H -> H, H -> O"]
    assert [dict(chip.figures) for chip in spec.chips] == [{"core.axons": 4}, {"core.axons": 256}]
    assert (spec.seeds, spec.n_frames, spec.density) == ((5, 6), 3, 0.5)
    assert (spec.options.placer, spec.engine, spec.n_runs) == ("row-major", "numpy", 16)
    assert "runs 16" in repr(spec)


def test_what_is_left_out_has_defaults(write_spec, tmp_path):
    path = write_spec()
    path.write_text('format = 1\nnetworks = ["small.toml"]\n')
    spec = load_sweep(path)
    assert (spec.n_runs, spec.executions, spec.chips[0].base, spec.seeds) == (1, ("windowed",), "truenorth", (0,))


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (("format = 1", "format = 2"), InputError, "format: found 2"),
        (("networks", "network"), InputError, "network: unknown key; .* did you mean 'networks'"),
        (("small.toml", "none.toml"), NetworkError, "none.toml"),
        (('["small.toml"]', "[]"), InputError, r"networks: found \[\]; allowed is a list of names"),
        (('["small.toml"]', '["small.toml", "./small.toml"]'), InputError, "names of their own"),
        (("H -> H, H -> O", "I -> O"), PatternError, "edge I -> O does not exist"),
        (('"windowed"', '"windows"'), InputError, "execution 'windows': unknown"),
        (("core.axons", "core.axon"), ChipError, "figure 'core.axon'.*did you mean 'core.axons'"),
        (("[4, 256]", "[4, true]"), ChipError, "axons"),
        (("[4, 256]", "4"), InputError, "set.core.axons: found 4; allowed is a list"),
        (("first = 5", "first = -1"), InputError, "seeds.first: found -1"),
        (("{first = 5, count = 2}", "7"), InputError, "seeds: found 7"),
        (("{first = 5, count = 2}", "[1, true]"), InputError, "seeds: found"),
        (("frames = 3", "frames = 1"), InputError, "stimulus.frames: found 1; allowed are integers from 2"),
        (("density = 0.5", "density = 2"), InputError, "stimulus.density: found 2"),
        (("row-major", "column-major"), InputError, "mapping: placer 'column-major' is not known"),
        (("placer", "seconds"), InputError, "mapping.seconds: unknown key"),
        (("placer", "activity"), InputError, "mapping.activity: unknown key"),
        (('"numpy"', '"torch"'), InputError, "simulation.engine"),
        (("count = 2", f"count = {MOST_RUNS}"), InputError, f"makes {8 * MOST_RUNS} runs; at most {MOST_RUNS}"),
    ],
)
def test_a_fault_is_one_line(change, error, words, write_spec):
    path = write_spec(change)
    with pytest.raises(error, match=f"^{path}: .*{words}") as caught:
        load_sweep(path)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2

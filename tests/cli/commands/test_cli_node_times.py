"""neuromap rollouts --node-times work: times from the multiply-accumulates that a network file holds."""

import pytest

import neuromap as nm
from neuromap.rollout.schedule.node_times import frame_time

FILE = """\
format = 1
edges."I -> A" = {}
edges."A -> B" = {}
edges."I -> B" = {}
edges."B -> O" = {}
work = { A = 7000, B = 2500, O = 10 }
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "net.toml"
    path.write_text(FILE)
    return path


def test_the_frame_period_is_the_slowest_chain_of_sequential_edges(file, neuromap):
    found = neuromap("rollouts", file, "--node-times", "work", "--json").json
    assert found["work_per_tick"] == 7
    net = nm.load_network(file)
    ticks = {"A": 1000, "B": 358, "O": 2}  # 7000 / 7, 2500 / 7 and 10 / 7, rounded up
    for row in found["patterns"]:
        pattern = nm.RolloutPattern.named(net, row["name"])
        windowed, pipelined = (row["executions"][name] for name in ("windowed", "pipelined"))
        assert windowed["frame_period"] == frame_time(pattern, ticks)
        assert pipelined["frame_period"] == 1000  # no node takes a frame before it is done with the last
    sequential = found["patterns"][1]["executions"]["windowed"]
    assert sequential["first_response"] == {"O": 1360}


def test_the_unit_is_said_with_the_times(file, neuromap):
    text = neuromap("rollouts", file, "--node-times", "work", "--work-per-tick", "100").out
    assert "Times in ticks, of 100 multiply-accumulates in every node" in " ".join(text.split())
    assert "Times in update steps." in neuromap("rollouts", file).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--node-times", "spikes"], "--node-times spikes: unknown; choose work"),
        (["--work-per-tick", "5"], "--work-per-tick 5: is for --node-times work; give that too"),
        (["--node-times", "work", "--work-per-tick", "0"], "--work-per-tick 0: must be 1 or more"),
    ],
)
def test_bad_options_are_refused(words, message, file, neuromap):
    found = neuromap("rollouts", file, *words)
    assert (found.code, found.told.strip()) == (2, message)


def test_work_that_is_missing_is_named(file, neuromap):
    file.write_text(FILE.replace("work = { A = 7000, B = 2500, O = 10 }\n", ""))
    found = neuromap("rollouts", file, "--node-times", "work")
    assert found.code == 2
    assert "has no table work" in found.err
    file.write_text(FILE.replace("B = 2500, ", ""))
    found = neuromap("rollouts", file, "--node-times", "work")
    assert found.code == 2
    assert "node B of network net has none" in found.err


@pytest.mark.parametrize("name", ["resnet50", "densenet121", "mobilenet_v3_large", "unet", "vit_b_16"])
def test_the_architectures_of_the_examples_are_analysed(name, neuromap, root_of_examples):
    path = root_of_examples / "examples" / "imports" / f"{name}.toml"
    net = nm.load_network(path)
    found = neuromap("rollouts", path, "--node-times", "work", "--json").json
    slowest = max(net.tables["work"].values())
    streaming, sequential = (row["executions"]["windowed"] for row in found["patterns"])
    assert streaming["frame_period"] == -(-slowest // found["work_per_tick"])
    assert sequential["frame_period"] >= streaming["frame_period"]
    assert found["counts"]["valid_log2"] == pytest.approx(len(net.edges))  # no cycle: every choice is valid

"""What a network without weights is told: the step that gives it some comes first."""

from pathlib import Path

import pytest

import neuromap as nm
from neuromap.errors import NetworkError
from neuromap.network.build import require_weights

ROOT = Path(__file__).parents[2] / "examples"


def said_of(path):
    with pytest.raises(NetworkError, match="has no weights") as refused:
        require_weights(nm.load_network(path))
    assert "\n" not in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize("path", sorted((ROOT / "imports").glob("*.toml")), ids=lambda p: p.stem)
def test_of_a_trained_model_nobody_is_told_to_draw_weights(path):
    said = said_of(path)
    assert said.index("neuromap train NET --for CHIP") < said.index("--calibrate SOURCE")
    assert "seed" not in said


def test_of_a_network_written_by_hand_seeds_come_last():
    said = said_of(ROOT / "structures" / "sr.toml")
    assert (
        said.index("neuromap train NET --for CHIP") < said.index("to study the structure only") < said.index("seed = 1")
    )


@pytest.mark.parametrize(
    "use", [nm.latency_report, nm.explore, lambda net: nm.map_rollout(nm.Rollout(net, "streaming"))]
)
def test_report_explorer_and_mapper_say_the_same(use):
    net = nm.load_network(ROOT / "imports" / "resnet50.toml")
    with pytest.raises(NetworkError, match="edge x -> conv1 has no weights; train them"):
        use(net)

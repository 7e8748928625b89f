"""What a network without weights is told: the step that gives it some comes first, seeds are for structure only."""

from pathlib import Path

import pytest

import neuromap as nm
from neuromap.errors import NetworkError
from neuromap.network.build import require_weights

ROOT = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    "path", [*sorted((ROOT / "imports").glob("*.toml")), ROOT / "structures" / "sr.toml"], ids=lambda p: p.stem
)
def test_training_comes_first_and_seeds_are_for_structure_only(path):
    """The file of an import says no more than one written by hand: one message serves both."""
    with pytest.raises(NetworkError, match="has no weights") as refused:
        require_weights(nm.load_network(path))
    said = str(refused.value)
    assert (
        said.index("neuromap train NET --for CHIP") < said.index("to study the structure only") < said.index("seed = 1")
    )
    assert "\n" not in said


@pytest.mark.parametrize(
    "use", [nm.latency_report, nm.explore, lambda net: nm.map_rollout(nm.Rollout(net, "streaming"))]
)
def test_report_explorer_and_mapper_say_the_same(use):
    net = nm.load_network(ROOT / "imports" / "resnet50.toml")
    with pytest.raises(NetworkError, match="edge x -> conv1 has no weights; train them"):
        use(net)

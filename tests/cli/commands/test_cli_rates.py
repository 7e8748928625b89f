"""``neuromap import rates`` and ``accuracy --summed``: graded networks as rates, from file to file."""

from pathlib import Path

import neuromap as nm
from neuromap.encoding import input_encodings

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_a_graded_network_becomes_one_for_a_chip_and_names_classes(neuromap, tmp_path):
    made = tmp_path / "made.toml"
    asked = ("import", "rates", EXAMPLES / "graded" / "digits.toml", "--chip", "loihi1", "--data", "digits", "-o", made)
    told = neuromap(*asked, "--json").json
    assert [note["about"] for note in told["approximated"]] == ["C1", "C2", "C3", "O"]
    network = nm.load_network(made)
    assert network.is_spiking
    assert input_encodings(network)["I"].code == "rate"
    shown = ("accuracy", made, "--chip", "loihi1", "--pattern", "streaming", "--limit", "60", "--summed")
    found = neuromap(*shown, "--at", "12,24", "--json").json
    assert [frame["frame"] for frame in found["frames"]] == [12, 24]
    assert found["frames"][1]["accuracy"] > 0.9
    neuromap(*shown, "--at", "12,x").assert_refused(2, "--at 12,x", "such as 16,32,64")
    neuromap(*shown, "--frames", "3", "--at", "4").assert_refused(2, "--at 4: frame 4 is beyond --frames 3")


def test_chips_without_graded_spikes_name_the_conversion(neuromap):
    for chip in ("truenorth", "loihi1"):
        refused = neuromap("map", EXAMPLES / "graded" / "digits.toml", "--chip", chip)
        refused.assert_refused(3, f"neuromap import rates NET --chip {chip} --data SOURCE")


def test_what_is_missing_is_told(neuromap):
    neuromap("import", "rates", EXAMPLES / "graded" / "digits.toml").assert_refused(2, "--data digits")
    ternary = EXAMPLES / "digits" / "sr_ternary.toml"
    neuromap("import", "rates", ternary, "--data", "digits").assert_refused(4, "is not graded")

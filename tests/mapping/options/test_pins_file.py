"""Files of pins: what is read, and one line for everything that is wrong."""

from __future__ import annotations

import pytest

import neuromap as nm
from neuromap.errors import InputError
from neuromap.hardware.chip.chip_spec import Defects
from neuromap.mapping.options.options import Pins
from neuromap.mapping.options.pins_file import check_pins, load_pins
from neuromap.network import Dense, build_network

WHOLE = """\
format = 1
splitters = ["H1 -> H2", "H2->O"]
[tiles]
H1 = [4, 4, 16]
[cores]
H2 = 5
[regions]
H1 = [0, 0, 7, 7]
"""


@pytest.fixture
def net():
    shapes = {"I": (4, 4, 16), "H1": (4, 4, 16), "H2": (1, 1, 8), "O": (1, 1, 2)}
    ends = [("I", "H1"), ("H1", "H2"), ("H2", "O")]
    seeded = {(u, v): Dense(shapes[u], shapes[v], weights=None) for u, v in ends}
    return build_network({n: (s, None if n == "I" else 1) for n, s in shapes.items()}, seeded)


def test_all_keys(tmp_path):
    path = tmp_path / "pins.toml"
    path.write_text(WHOLE)
    pins = load_pins(path)
    assert pins == Pins(
        tiles={"H1": (4, 4, 16)},
        cores={"H2": 5},
        regions={"H1": (0, 0, 7, 7)},
        splitters=frozenset({("H1", "H2"), ("H2", "O")}),
    )
    path.write_text("format = 1\n")
    assert not load_pins(path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("format = 1\n", ""), ["format", "missing"]),
        (("format = 1", "format = 2"), ["format", "2"]),
        (("[tiles]", "[tile]"), ["tile", "unknown key", "did you mean 'tiles'?"]),
        (("[4, 4, 16]", "[4, 4]"), ["tiles.H1", "[4, 4]", "rows, columns, features"]),
        (("[4, 4, 16]", "[4, 0, 16]"), ["tiles.H1"]),
        (("[4, 4, 16]", "[4, 4.0, 16]"), ["tiles.H1"]),
        (("[4, 4, 16]", "[4, true, 16]"), ["tiles.H1"]),
        (("[4, 4, 16]", '"4, 4, 16"'), ["tiles.H1"]),
        (("H2 = 5", "H2 = 0"), ["cores.H2", "0"]),
        (("H2 = 5", "H2 = 5.5"), ["cores.H2"]),
        (("H2 = 5", "H2 = 99999999999999999999"), ["cores.H2"]),
        (("[0, 0, 7, 7]", "[0, 0, 7, -1]"), ["regions.H1"]),
        (("[0, 0, 7, 7]", "[[0, 0], [7, 7]]"), ["regions.H1"]),
        (("H1 = [0, 0, 7, 7]", "H1 = {}"), ["regions.H1"]),
        (('"H2->O"', '"H2"'), ["splitters[1]", "H2"]),
        (('"H2->O"', "3"), ["splitters"]),
        (('["H1 -> H2", "H2->O"]', '"H1 -> H2"'), ["splitters"]),
        (("[cores]", "[[cores]]"), ["cores"]),
        (("[cores]", "cores"), ["TOML"]),
    ],
)
def test_files_that_are_wrong(change, words, tmp_path):
    path = tmp_path / "pins.toml"
    assert change[0] in WHOLE
    path.write_text(WHOLE.replace(*change))
    with pytest.raises(InputError) as error:
        load_pins(path)
    message = str(error.value)
    assert "\n" not in message
    for word in ["pins.toml", *words]:
        assert word in message, message


def test_no_file_and_foreign_files(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        load_pins(tmp_path / "nowhere.toml")
    with pytest.raises(InputError, match="folder"):
        load_pins(tmp_path)
    (tmp_path / "pins.toml").write_bytes(b"\x00\xff" * 99)
    with pytest.raises(InputError, match="UTF-8"):
        load_pins(tmp_path / "pins.toml")


@pytest.mark.parametrize(
    ("pins", "words"),
    [
        (Pins(tiles={"H3": (1, 1, 1)}), ["tiles.H3", "unknown", "H1, H2, O"]),
        (Pins(tiles={"h1": (1, 1, 1)}), ["tiles.h1", "did you mean 'H1'?"]),
        (Pins(cores={"I": 2}), ["cores.I", "input"]),
        (Pins(regions={"X": (0, 0, 1, 1)}), ["regions.X"]),
        (Pins(tiles={"H1": (5, 4, 16)}), ["tiles.H1", "[5, 4, 16]", "[4, 4, 16]"]),
        (Pins(tiles={"H1": (0, 4, 16)}), ["tiles.H1", "[0, 4, 16]"]),
        (Pins(cores={"H2": 9}), ["cores.H2", "9", "1 to 8"]),
        (Pins(cores={"H2": 0}), ["cores.H2", "0"]),
        (Pins(regions={"O": (0, 0, 64, 1)}), ["regions.O", "[0, 0, 64, 1]", "63"]),
        (Pins(regions={"O": (3, 0, 2, 1)}), ["regions.O", "x0 <= x1"]),
        (Pins(regions={"O": (-1, 0, 2, 1)}), ["regions.O"]),
        (Pins(splitters=frozenset({("H1", "O")})), ["H1 -> O", "not an edge", "H1 -> H2"]),
        (Pins(splitters=frozenset({("I", "H1")})), ["I -> H1", "input"]),
    ],
)
def test_pins_that_do_not_fit_network_and_chip(pins, words, net):
    with pytest.raises(InputError) as error:
        check_pins(pins, net, nm.load_chip("truenorth"))
    message = str(error.value)
    assert "\n" not in message
    for word in words:
        assert word in message, message


@pytest.mark.parametrize(
    ("pins", "words"),
    [
        (
            Pins(neurons={"H2": [2, 2, 65, 1, 3, 3, 3, 3]}),
            r"neurons.H2: neuron 2 is in core 65, .* \[1, 1\]; .*such as 66$",
        ),
        (Pins(regions={"O": (1, 0, 1, 1)}), r"regions.O: all cores of \[1, 0, 1, 1\] are dead .* \[1, 0\]; choose"),
    ],
)
def test_pins_to_dead_cores_name_the_core_and_the_remedy(pins, words, net):
    chip = nm.load_chip("truenorth").with_defects(Defects(cores=((0, 1), (1, 0)), routers=((1, 1),)))
    with pytest.raises(InputError, match=words):
        check_pins(pins, net, chip)
    check_pins(Pins(neurons={"O": [3, 3]}, regions={"H1": (0, 0, 1, 1)}), net, chip)


def test_pins_that_fit(net):
    pins = Pins(
        tiles={"H1": (4, 4, 16), "O": (1, 1, 1)},
        cores={"H2": 8},
        regions={"O": (63, 63, 63, 63), "H1": (0, 0, 63, 63)},
        splitters=frozenset({("H1", "H2"), ("H2", "O")}),
    )
    check_pins(pins, net, nm.load_chip("truenorth"))

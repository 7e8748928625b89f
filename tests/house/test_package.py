"""The package stands on its own: every module can be imported, wherever it was installed from."""

import pkgutil

import pytest
from optional_rooms import entered

import hardware_models
import neuromap

pytestmark = pytest.mark.smoke


def test_every_module_is_imported():
    names = [found.name for found in pkgutil.walk_packages(neuromap.__path__, "neuromap.")]
    assert len(names) > 200
    for name in names:
        if not name.endswith(".__main__"):  # which runs the program
            assert entered(name) is not None or name.startswith(("neuromap.training.", "neuromap.backends.")), name


def test_every_chip_is_loaded(package_folder):
    assert package_folder.parent.joinpath("hardware_models").samefile(hardware_models.__path__[0])
    assert {"truenorth", "ranc"} <= {chip.name for chip in neuromap.list_chips()}

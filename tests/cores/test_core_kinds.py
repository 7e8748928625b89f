"""What every kind of core offers, ours and others alike."""

import subprocess
import sys

import pytest

from neuromap.cores.core_kind import CoreKind, core_kind
from neuromap.errors import ChipError

PARTS = ("structure", "program", "rules", "mapper", "engines", "faults", "wave", "shared_engine")


@pytest.mark.parametrize("name", ["crossbar", "synapse-list", "dense"])
def test_a_kind_offers_what_is_asked(name):
    kind = core_kind(name)
    for part in PARTS:
        getattr(kind, part)  # refused where something is missing
    assert {*kind.program.PROGRAM.TENSORS} >= {*kind.program.PROGRAM.OPTIONAL}
    assert "numpy" in kind.engines.ENGINES


@pytest.mark.parametrize("name", ["crossbar", "synapse-list", "dense"])
def test_rules_lead_to_no_code_of_the_mapper(name):
    """The modules that come with a kind's rules, in a process that has imported nothing else."""
    code = (
        "import sys; from neuromap.cores.core_kind import core_kind; import neuromap.hardware.checker; "
        f"core_kind({name!r}).rules; found = [m for m in sys.modules if m.startswith('neuromap.mapping')]; "
        "assert not found, found"
    )
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {code}"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_part_that_lacks_something_is_one_line(tmp_path, monkeypatch):
    package = tmp_path / "half_a_kind"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "rules.py").write_text("")
    (package / "faults.py").write_text("def with_stuck(")
    monkeypatch.syspath_prepend(tmp_path)
    kind = CoreKind("half", "half_a_kind")
    with pytest.raises(ChipError, match=r"core kind half: half_a_kind\.rules has no RULES"):
        _ = kind.rules
    for part in ("mapper", "faults"):
        with pytest.raises(ChipError, match=rf"core kind half: half_a_kind\.{part} cannot be imported") as refused:
            getattr(kind, part)
        assert "\n" not in str(refused.value)
    assert kind.wave is None
    with pytest.raises(AttributeError):
        _ = kind.nothing

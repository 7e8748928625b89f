"""What ranks say is passed on; what MPI says where one fails or is killed is one line of ours."""

import io

import pytest

from neuromap.errors import InputError, NotSupportedError
from neuromap.simulation.mpi.start_ranks import Passed, start_ranks

RULE = "-" * 74
MPICH_KILLED = f"""
{"=" * 83}
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 25417 RUNNING AT vm
=   EXIT CODE: 9
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
{"=" * 83}
YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)
This typically refers to a problem with your application.
Please see the FAQ page for debugging suggestions
"""
OPEN_MPI_KILLED = f"""{RULE}
prterun noticed that process rank 1 with PID 7 on node vm exited on
signal 9 (Killed).
{RULE}
"""
ABORTED = "Abort(2) on node 1 (rank 1 in comm 496): application called MPI_Abort(comm=0x84000001, 2) - process 1\n"
TABLE = "frame   spikes of O at tick\n───\n\n    1                0 at 1\n"


def passed(out="", err=""):
    """What reaches stdout and stderr, and who passed it on."""
    passage, shown = Passed(), []
    for text, is_error in ((out, False), (err, True)):
        target = io.StringIO()
        passage.on(io.BytesIO(text.encode()), target, is_error)
        shown.append(target.getvalue())
    return *shown, passage


@pytest.mark.parametrize(("out", "err"), [(MPICH_KILLED, ""), ("", OPEN_MPI_KILLED), ("", MPICH_KILLED)])
def test_a_banner_is_one_reason(out, err):
    *shown, passage = passed(TABLE + out, "a warning\n" + err)
    assert shown == [TABLE, "a warning\n"]
    assert not passage.told
    assert passage.reason(9).startswith("a rank was killed (signal 9), which ended the others; ")


def test_ranks_tell_an_error_once():
    line = "neuromap simulate: p.nmp: does not exist; give the path of a program file\n"
    _, shown, passage = passed(
        err=line + ABORTED + line + "neuromap: interrupted\n" + f"[vm:7] hm\n{RULE}\nx\n{RULE}\n"
    )
    assert (shown, passage.told) == (line, True)


def test_what_else_mpi_says_is_the_reason():
    *_, passage = passed(err=f"{RULE}\nThere are not enough slots available.\n{RULE}\n")
    assert "exit code 1 and said 'There are not enough slots available.'" in passage.reason(1)
    assert "mpiexec was killed (signal 15)" in passage.reason(-15)


def test_a_reader_that_goes_away_is_told_once_the_ranks_have_ended():
    class Closed(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    passage, source = Passed(), io.BytesIO(TABLE.encode())
    passage.on(source, Closed(), False)
    assert isinstance(passage.failure, BrokenPipeError)
    assert source.read() == b""


def test_what_cannot_start_is_refused(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    with pytest.raises(NotSupportedError, match="--ranks 2: needs mpiexec"):
        start_ranks(2, ["simulate"])
    with pytest.raises(InputError, match="--ranks 0: must be 1 to 1024"):
        start_ranks(0, ["simulate"])

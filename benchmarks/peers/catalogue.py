"""The simulators that are compared, what each is, and what it roughly needs: so that a run can be planned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["PEERS", "Peer", "peer_named"]


@dataclass(frozen=True)
class Peer:
    """One simulator.

    Attributes
    ----------
    name : str
        Its environment, and ``run_NAME.py``.
    title : str
        As it stands in table and plot.
    form : str
        How it is used, for the table.
    us_per_core : float
        Microseconds of a tick per core, to choose how many ticks to run: a guess.
    mb_per_core : float
        Memory per core in 10^6 bytes, mostly seen at 256 cores: whether a size fits.
    own : bool
        Runs in neuromap's environment; needs no installation.
    """

    name: str
    title: str
    form: str
    us_per_core: float
    mb_per_core: float
    own: bool = False

    @property
    def script(self) -> Path:
        """What runs it."""
        return Path(__file__).with_name(f"run_{self.name}.py")

    def python(self, home: Path) -> Path:
        """Its interpreter below the folder of all environments."""
        return home / self.name / "bin" / "python"


PEERS = (
    Peer("neuromap", "neuromap", "engine fast, Numba", 0.15, 0.1, own=True),
    Peer("c_kernel", "C kernel", "ours, by hand, intrinsics", 0.15, 0.1, own=True),
    Peer("brian2", "Brian2", "cpp_standalone", 4, 2.0),
    Peer("genn", "GeNN", "single-threaded CPU", 7, 1.2),
    Peer("nest", "NEST", "iaf_psc_delta", 60, 2.4),
    Peer("sanafe", "SANA-FE", "TrueNorth neuron, simple timing", 100, 24),
    Peer("nengo", "Nengo", "NumPy reference", 33, 2.0),
    Peer("ranc", "RANC", "simulator, -O3", 300, 2.4),
)


def peer_named(name: str) -> Peer:
    """Find a peer.

    Raises
    ------
    KeyError
        If there is none of this name.
    """
    return {peer.name: peer for peer in PEERS}[name]

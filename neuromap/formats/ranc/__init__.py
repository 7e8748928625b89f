"""RANC (UA-RCL/RANC): hardware test vectors and its simulator's JSON, read as programs with raw events, and written.

Run a case with :func:`neuromap.simulation.run.simulate.run_events`::

    case = read_vectors("ranc/256", columns=4, output_bus=(0, 2))
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks)
    case.output_axons(*spikes, n_ticks)     # compare with case.expected
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "RancCase": "image",
    "RancImage": "image",
    "ranc_config": "to_json",
    "ranc_image": "image",
    "ranc_input": "to_json",
    "ranc_vectors": "vectors",
    "read_json": "to_json",
    "read_vectors": "vectors",
}

if TYPE_CHECKING:
    from neuromap.formats.ranc.image import RancCase as RancCase
    from neuromap.formats.ranc.image import RancImage as RancImage
    from neuromap.formats.ranc.image import ranc_image as ranc_image
    from neuromap.formats.ranc.to_json import ranc_config as ranc_config
    from neuromap.formats.ranc.to_json import ranc_input as ranc_input
    from neuromap.formats.ranc.to_json import read_json as read_json
    from neuromap.formats.ranc.vectors import ranc_vectors as ranc_vectors
    from neuromap.formats.ranc.vectors import read_vectors as read_vectors

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

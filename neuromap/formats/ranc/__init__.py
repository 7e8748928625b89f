"""RANC (UA-RCL/RANC): hardware test vectors and its simulator's JSON, read as programs with raw events, and written.

Run a case with :func:`neuromap.simulation.run.simulate.run_events`::

    case = read_vectors("ranc/256", columns=4, output_bus=(0, 2))
    spikes = run_events(case.program, case.ticks, case.cores, case.axons, n_ticks)
    case.output_axons(*spikes, n_ticks)     # compare with case.expected
"""

from neuromap.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__spec__)

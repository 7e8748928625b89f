"""Neurons with a constant leak that sum pulses of Poisson sources."""

from brian2 import Hz, NeuronGroup, PoissonGroup, Synapses, defaultclock, ms, prefs, run, seed

prefs.codegen.target = "numpy"
defaultclock.dt = 1 * ms
seed(1)
source = PoissonGroup(20, rates=50 * Hz, name="source")
group = NeuronGroup(10, "dv/dt = 20*Hz : 1", threshold="v > 1", reset="v = 0", method="euler", name="A")
synapses = Synapses(source, group, on_pre="v += 0.25")
synapses.connect(p=0.3)
run(100 * ms)

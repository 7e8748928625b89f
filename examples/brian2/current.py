"""Leaky neurons with an exponential current, driven by Poisson sources."""

from brian2 import Hz, NeuronGroup, PoissonGroup, Synapses, defaultclock, ms, mV, prefs, run, seed

prefs.codegen.target = "numpy"
defaultclock.dt = 0.5 * ms
seed(1)
source = PoissonGroup(20, rates=50 * Hz, name="source")
equations = """
dv/dt = (ge - (v + 55*mV)) / (20*ms) : volt (unless refractory)
dge/dt = -ge / (5*ms) : volt
"""
group = NeuronGroup(
    10, equations, threshold="v > -50*mV", reset="v = -60*mV", refractory=2 * ms, method="exact", name="E"
)
group.v = -55 * mV
synapses = Synapses(source, group, "w : volt", on_pre="ge += w", delay=1 * ms)
synapses.connect(p=0.5)
synapses.w = "10*mV + 5*mV*rand()"
run(100 * ms)

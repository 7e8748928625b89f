"""neuromap's time and energy of timed ticks beside what others compute or measured, workload by workload."""

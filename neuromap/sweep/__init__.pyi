from .chip_sweep import ChipSweep as ChipSweep
from .chip_sweep import SweepRow as SweepRow
from .grouped_runs import runs_over as runs_over
from .map_each import sweep_mappings as sweep_mappings
from .run_table import RunTable as RunTable
from .run_table import load_runs as load_runs
from .sweep_spec import SweepSpec as SweepSpec
from .sweep_spec import load_sweep as load_sweep

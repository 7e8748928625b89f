from .chip_sweep import ChipSweep as ChipSweep
from .chip_sweep import SweepRow as SweepRow
from .chip_sweep import sweep_mappings as sweep_mappings
from .grouped_runs import runs_over as runs_over
from .run_store import RunTable as RunTable
from .run_store import load_runs as load_runs
from .sweep_spec import SweepSpec as SweepSpec
from .sweep_spec import load_sweep as load_sweep

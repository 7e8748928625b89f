"""Experiments: networks trained under several rollout patterns, repeated, measured on test images, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "Curve": "experiment",
    "CurvePoints": "experiment_result",
    "CurveResult": "experiment_result",
    "Experiment": "experiment",
    "ExperimentResult": "experiment_result",
    "Published": "experiment",
    "list_experiments": "experiment_file",
    "load_experiment": "experiment_file",
    "run_experiment": "experiment_run",
}

if TYPE_CHECKING:
    from neuromap.experiments.experiment import Curve as Curve
    from neuromap.experiments.experiment import Experiment as Experiment
    from neuromap.experiments.experiment import Published as Published
    from neuromap.experiments.experiment_file import list_experiments as list_experiments
    from neuromap.experiments.experiment_file import load_experiment as load_experiment
    from neuromap.experiments.experiment_result import CurvePoints as CurvePoints
    from neuromap.experiments.experiment_result import CurveResult as CurveResult
    from neuromap.experiments.experiment_result import ExperimentResult as ExperimentResult
    from neuromap.experiments.experiment_run import run_experiment as run_experiment

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

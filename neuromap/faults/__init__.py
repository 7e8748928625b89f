"""Faults of a chip that strike after mapping: output error, first response and accuracy over fault rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "DeadLink": "edits.edit",
    "Estimate": "confidence",
    "FaultPoint": "fault_study",
    "FaultRun": "fault_run",
    "FaultStudy": "fault_study",
    "Faults": "effects.fault_model",
    "KINDS": "effects.fault_model",
    "ShownImages": "measure_study",
    "SilentCore": "edits.edit",
    "ThresholdEdit": "edits.edit",
    "WeightEdit": "edits.edit",
    "apply_edits": "edits.edited_program",
    "settled_state": "edits.edited_program",
    "strike": "effects.struck_program",
    "struck_frames": "running.output_frames",
    "study_faults": "measure_study",
}

if TYPE_CHECKING:
    from neuromap.faults.confidence import Estimate as Estimate
    from neuromap.faults.edits.edit import DeadLink as DeadLink
    from neuromap.faults.edits.edit import SilentCore as SilentCore
    from neuromap.faults.edits.edit import ThresholdEdit as ThresholdEdit
    from neuromap.faults.edits.edit import WeightEdit as WeightEdit
    from neuromap.faults.edits.edited_program import apply_edits as apply_edits
    from neuromap.faults.edits.edited_program import settled_state as settled_state
    from neuromap.faults.effects.fault_model import KINDS as KINDS
    from neuromap.faults.effects.fault_model import Faults as Faults
    from neuromap.faults.effects.struck_program import strike as strike
    from neuromap.faults.fault_run import FaultRun as FaultRun
    from neuromap.faults.fault_study import FaultPoint as FaultPoint
    from neuromap.faults.fault_study import FaultStudy as FaultStudy
    from neuromap.faults.measure_study import ShownImages as ShownImages
    from neuromap.faults.measure_study import study_faults as study_faults
    from neuromap.faults.running.output_frames import struck_frames as struck_frames

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

"""Faults of a chip that strike after mapping: output error, first response and accuracy over fault rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "DeadLink": "edited_program",
    "Estimate": "fault_study",
    "FaultPoint": "fault_study",
    "FaultRun": "fault_study",
    "FaultStudy": "fault_study",
    "Faults": "options",
    "KINDS": "options",
    "ShownImages": "options",
    "SilentCore": "edited_program",
    "ThresholdEdit": "edited_program",
    "WeightEdit": "edited_program",
    "apply_edits": "edited_program",
    "settled_state": "edited_program",
    "strike": "edited_program",
    "struck_frames": "output_frames",
    "study_faults": "measure_study",
}

if TYPE_CHECKING:
    from neuromap.faults.edited_program import DeadLink as DeadLink
    from neuromap.faults.edited_program import SilentCore as SilentCore
    from neuromap.faults.edited_program import ThresholdEdit as ThresholdEdit
    from neuromap.faults.edited_program import WeightEdit as WeightEdit
    from neuromap.faults.edited_program import apply_edits as apply_edits
    from neuromap.faults.edited_program import settled_state as settled_state
    from neuromap.faults.edited_program import strike as strike
    from neuromap.faults.fault_study import Estimate as Estimate
    from neuromap.faults.fault_study import FaultPoint as FaultPoint
    from neuromap.faults.fault_study import FaultRun as FaultRun
    from neuromap.faults.fault_study import FaultStudy as FaultStudy
    from neuromap.faults.measure_study import study_faults as study_faults
    from neuromap.faults.options import KINDS as KINDS
    from neuromap.faults.options import Faults as Faults
    from neuromap.faults.options import ShownImages as ShownImages
    from neuromap.faults.output_frames import struck_frames as struck_frames

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

"""Faults of a chip that strike after mapping: output error, first response and accuracy over fault rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from neuromap.lazy_names import lazy_names

_HOMES = {
    "DeadLink": "edit",
    "Estimate": "confidence",
    "FaultPoint": "fault_study",
    "FaultRun": "fault_run",
    "FaultStudy": "fault_study",
    "Faults": "fault_model",
    "KINDS": "fault_model",
    "ShownImages": "measure_study",
    "SilentCore": "edit",
    "ThresholdEdit": "edit",
    "WeightEdit": "edit",
    "apply_edits": "edited_program",
    "settled_state": "edited_program",
    "strike": "struck_program",
    "struck_frames": "output_frames",
    "study_faults": "measure_study",
}

FORMS = {
    "FaultStudy": {
        "csv": "csv_study.to_csv",
        "dict": "json_study.to_dict",
        "drawing": "html.draw_curves",
        "html": "html.to_html",
        "json": "json_study.to_json",
        "notebook": "html.to_notebook",
        "section": "html.to_section",
        "svg": "html.to_svg",
        "text": "text.render_text",
    },
}

if TYPE_CHECKING:
    from neuromap.faults.confidence import Estimate as Estimate
    from neuromap.faults.edit import DeadLink as DeadLink
    from neuromap.faults.edit import SilentCore as SilentCore
    from neuromap.faults.edit import ThresholdEdit as ThresholdEdit
    from neuromap.faults.edit import WeightEdit as WeightEdit
    from neuromap.faults.edited_program import apply_edits as apply_edits
    from neuromap.faults.edited_program import settled_state as settled_state
    from neuromap.faults.fault_model import KINDS as KINDS
    from neuromap.faults.fault_model import Faults as Faults
    from neuromap.faults.fault_run import FaultRun as FaultRun
    from neuromap.faults.fault_study import FaultPoint as FaultPoint
    from neuromap.faults.fault_study import FaultStudy as FaultStudy
    from neuromap.faults.measure_study import ShownImages as ShownImages
    from neuromap.faults.measure_study import study_faults as study_faults
    from neuromap.faults.output_frames import struck_frames as struck_frames
    from neuromap.faults.struck_program import strike as strike

__all__ = sorted(_HOMES)
__getattr__, __dir__ = lazy_names(__name__, _HOMES)

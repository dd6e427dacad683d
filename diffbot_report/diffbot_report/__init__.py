# SPDX-License-Identifier: Apache-2.0
"""Presentation of a run: live table, pictures, animation and summary.json.

    topics -> messages -> a recording (IdentRecording, DriveRecording: buffers of samples)
           -> results (tables, keys of summary.json) and figures -> ReportWriter

Only `messages`, `polled_node`, `watching_node` and the two nodes need ROS. A name's module is
loaded on first access, so that importing executables.py costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffbot_report.drive_recording import DriveRecording as DriveRecording
    from diffbot_report.drive_recording import DriveRun as DriveRun
    from diffbot_report.ident_recording import IdentRecording as IdentRecording
    from diffbot_report.ident_recording import VerificationResult as VerificationResult
    from diffbot_report.ident_recording import VerificationVerdict as VerificationVerdict
    from diffbot_report.quantity import Quantity as Quantity
    from diffbot_report.quantity import friction_quantities as friction_quantities
    from diffbot_report.quantity import meanings as meanings
    from diffbot_report.quantity import parameter_quantities as parameter_quantities
    from diffbot_report.quantity import physical_quantities as physical_quantities
    from diffbot_report.run_end import ControllerState as ControllerState
    from diffbot_report.run_end import Ending as Ending
    from diffbot_report.run_end import IdentState as IdentState
    from diffbot_report.run_end import NodeState as NodeState
    from diffbot_report.run_end import Outcome as Outcome
    from diffbot_report.run_end import RunEnd as RunEnd
    from diffbot_report.run_end import RunPhase as RunPhase
    from diffbot_report.sample_buffer import SampleBuffer as SampleBuffer
    from diffbot_report.summary import ReportWriter as ReportWriter
    from diffbot_report.summary import RunDescription as RunDescription
    from diffbot_report.summary import RunFindings as RunFindings
    from diffbot_report.summary import parse_arguments as parse_arguments
    from diffbot_report.summary import run_summary as run_summary
    from diffbot_report.summary import write_summary as write_summary

_MODULES = {
    "drive_recording": ("DriveRecording", "DriveRun"),
    "ident_recording": ("IdentRecording", "VerificationVerdict", "VerificationResult"),
    "quantity": (
        "Quantity",
        "friction_quantities",
        "meanings",
        "parameter_quantities",
        "physical_quantities",
    ),
    "run_end": (
        "ControllerState",
        "Ending",
        "IdentState",
        "NodeState",
        "Outcome",
        "RunPhase",
        "RunEnd",
    ),
    "sample_buffer": ("SampleBuffer",),
    "summary": (
        "RunFindings",
        "ReportWriter",
        "RunDescription",
        "parse_arguments",
        "run_summary",
        "write_summary",
    ),
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"diffbot_report.{module}"), name)
    raise AttributeError(f"module 'diffbot_report' has no attribute {name!r}")

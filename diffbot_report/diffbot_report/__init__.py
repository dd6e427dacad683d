# SPDX-License-Identifier: Apache-2.0
"""What a person sees of a run: live table, pictures, animation and summary.json.

    topics -> messages -> a recording (IdentRecording, DriveRecording: buffers of samples)
           -> results (tables, keys of summary.json) and figures -> ReportWriter

Only `messages`, `polled_node`, `watching_node` and the two nodes need ROS. Figures and animation
are not imported here, because matplotlib takes long to load.
"""

from __future__ import annotations

from diffbot_report.drive_recording import DriveRecording, DriveRun
from diffbot_report.ident_recording import IdentRecording, Verdict, Verification
from diffbot_report.quantity import (
    Quantity,
    friction_quantities,
    meanings,
    parameter_quantities,
    physical_quantities,
)
from diffbot_report.run_end import (
    ControllerState,
    Ending,
    IdentState,
    NodeState,
    Outcome,
    Phase,
    RunEnd,
)
from diffbot_report.sample_buffer import SampleBuffer
from diffbot_report.summary import (
    Findings,
    ReportWriter,
    RunDescription,
    parse_arguments,
    run_summary,
    write_summary,
)

__all__ = [
    "ControllerState",
    "DriveRecording",
    "DriveRun",
    "Ending",
    "Findings",
    "IdentRecording",
    "IdentState",
    "NodeState",
    "Outcome",
    "Phase",
    "Quantity",
    "ReportWriter",
    "RunDescription",
    "RunEnd",
    "SampleBuffer",
    "Verdict",
    "Verification",
    "friction_quantities",
    "meanings",
    "parameter_quantities",
    "parse_arguments",
    "physical_quantities",
    "run_summary",
    "write_summary",
]

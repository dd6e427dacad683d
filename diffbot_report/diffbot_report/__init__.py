"""What an identification run shows and leaves behind: live table, pictures and summary.json.

Everything here but `ident_report_node` and `conversions` is plain Python: no ROS needed. Drawing is
in `figures`, which is not imported here because matplotlib takes long to load.
"""

from __future__ import annotations

from diffbot_report.ident_recording import (
    IdentRecording,
    ParameterSample,
    Series,
    StatusSample,
    VerificationSample,
)
from diffbot_report.ident_table import parameter_table
from diffbot_report.quantity import (
    Quantity,
    friction_quantities,
    meanings,
    parameter_quantities,
    physical_quantities,
)
from diffbot_report.run_end import Ending, RunEnd
from diffbot_report.summary import RunDescription, parse_arguments, summary, write_summary

__all__ = [
    "Ending",
    "IdentRecording",
    "ParameterSample",
    "Quantity",
    "RunDescription",
    "RunEnd",
    "Series",
    "StatusSample",
    "VerificationSample",
    "friction_quantities",
    "meanings",
    "parameter_quantities",
    "parameter_table",
    "parse_arguments",
    "physical_quantities",
    "summary",
    "write_summary",
]

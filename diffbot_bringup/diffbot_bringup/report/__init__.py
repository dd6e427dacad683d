"""What an identification run shows and leaves behind: live table, pictures and summary.json.

Everything here but `ident_report_node` and `conversions` is plain Python: no ROS needed. Drawing is
in `figures`, which is not imported here because matplotlib takes long to load.
"""

from diffbot_bringup.report.arguments import parse_arguments
from diffbot_bringup.report.physical import meanings, physical_quantities
from diffbot_bringup.report.quantity import Quantity, friction_quantities, parameter_quantities
from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.run_end import Ending, RunEnd
from diffbot_bringup.report.samples import ParameterSample, StatusSample, VerificationSample
from diffbot_bringup.report.series import Series
from diffbot_bringup.report.summary import RunDescription, summary, write_summary
from diffbot_bringup.report.table import parameter_table

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

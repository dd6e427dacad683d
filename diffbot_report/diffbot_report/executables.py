# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

import os
from functools import partial

from diffbot_node.executables import end_on_interrupt, executable

ident_report = executable("diffbot_report.ident_report_node", "IdentReport")
drive_report = executable("diffbot_report.drive_report_node", "DriveReport")


def calibrate_node() -> int:
    """Run diffbot_ident's calibrate_node with this package's page; return the exit status."""
    end_on_interrupt()
    # The fit's matrices are small: threads would mostly wait for each other. NumPy reads the
    # variable when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from diffbot_ident.calibrate_node import CalibrateNode
    from diffbot_node.running import run_node
    from diffbot_report.calibration_page import write_calibration_page

    return run_node(partial(CalibrateNode, write_calibration_page))

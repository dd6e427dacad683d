# SPDX-License-Identifier: Apache-2.0
"""The calibrate_node of diffbot_ident with this package's page."""

from __future__ import annotations

from diffbot_ident.calibrate_node import CalibrateNode
from diffbot_report.calibration_page import write_calibration_page


class ReportedCalibrateNode(CalibrateNode):
    """A CalibrateNode that writes a page of its results."""

    def __init__(self) -> None:
        super().__init__(write_calibration_page)

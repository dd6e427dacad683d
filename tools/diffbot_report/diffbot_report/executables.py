# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import Executable

ident_report = Executable("diffbot_report.ident_report_node", "IdentReport")
drive_report = Executable("diffbot_report.drive_report_node", "DriveReport")


# For small matrices threads mostly wait for each other.

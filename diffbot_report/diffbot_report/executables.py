# SPDX-License-Identifier: Apache-2.0
"""The executables of this package; see diffbot_node/executables.py."""

from __future__ import annotations

from diffbot_node.executables import executable

ident_report = executable("diffbot_report.ident_report_node", "IdentReport")
drive_report = executable("diffbot_report.drive_report_node", "DriveReport")

"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def ident_report() -> int:
    """Run the ident_report node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_bringup.report.ident_report_node import IdentReport
    from diffbot_node import run_node

    return run_node(IdentReport)


def drive_report() -> int:
    """Run the drive_report node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_bringup.drive_report.drive_report_node import DriveReport
    from diffbot_node import run_node

    return run_node(DriveReport)


def recorder() -> int:
    """Run the recorder node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_bringup.recorder_node import Recorder
    from diffbot_node import run_node

    return run_node(Recorder)

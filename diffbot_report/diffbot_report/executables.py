"""The executables of this package.

A node's module is loaded when it is called, with SIGINT set to end the process: Ctrl-C while it
still loads leaves no traceback.
"""

from __future__ import annotations

import signal


def ident_report() -> int:
    """Run the ident_report node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_report.ident_report_node import IdentReport

    return run_node(IdentReport)


def drive_report() -> int:
    """Run the drive_report node; returns the exit status."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from diffbot_node import run_node
    from diffbot_report.drive_report_node import DriveReport

    return run_node(DriveReport)

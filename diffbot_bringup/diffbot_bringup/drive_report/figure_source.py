"""Where the papers show what a figure shows."""

from __future__ import annotations

from diffbot_bringup.drive_report.drive_run import DriveRun


def source(run: DriveRun, what: str, figures: str) -> str:
    """A subtitle: what is shown, and which figures of Lages (2018) show it for a pose."""
    if run.has_pose_reference:
        return f"{what}; after {figures} of Lages (2018)"
    return f"{what}; velocity loops of Lages (2017), (61)–(72)"

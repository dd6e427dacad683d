"""Where the papers show what a figure shows."""

from __future__ import annotations

from diffbot_bringup.drive_report.controller_topics import VELOCITY
from diffbot_bringup.drive_report.drive_run import DriveRun


def source(run: DriveRun, what: str, figures: str) -> str:
    """A subtitle: what is shown, and which figures of Lages (2018) show it for a pose."""
    if run.commanded is VELOCITY:
        return f"{what}; law (9)–(12) of Siwek et al. (2023)"
    if run.has_pose_reference:
        return f"{what}; after {figures} of Lages (2018)"
    return f"{what}; velocity loops of Lages (2017), (61)–(72)"

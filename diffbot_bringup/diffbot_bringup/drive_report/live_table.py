"""What a driving run shows while it goes on."""

from __future__ import annotations

import numpy as np
from rich.console import RenderableType

from diffbot_bringup.drive_report.drive_recording import ROW, DriveRecording
from diffbot_bringup.drive_report.drive_table import new_table
from diffbot_controllers.tracking_errors import TrackingErrors


def live_table(recording: DriveRecording) -> RenderableType:
    """The newest sample, by odometry."""
    table = new_table("")
    names = (
        "x m",
        "y m",
        "θ °",
        "from reference mm",
        "heading °",
        "v m/s",
        "ω rad/s",
        recording.fields.commanded.what
        + " "
        + ", ".join(dict.fromkeys(recording.fields.commanded.units)),
    )
    for name in names:
        table.add_column(name, justify="right", no_wrap=True, min_width=6)
    if not len(recording.status):
        return table
    reference, pose, _, velocity, command, _ = np.split(recording.status.rows[-1], ROW)
    cells = ["–"] * 5
    if np.isfinite(pose).all():
        errors = TrackingErrors.between([0.0], [pose], [reference])
        cells = [
            f"{pose[0]:.3f}",
            f"{pose[1]:.3f}",
            f"{np.degrees(pose[2]):.1f}",
            f"{1e3 * errors.distance[0]:.2f}",
            f"{np.degrees(errors.error[0, 2]):.2f}",
        ]
    cells += [f"{velocity[0]:.3f}", f"{velocity[1]:.3f}"]
    table.add_row(*cells, f"{command[0]:+.2f} {command[1]:+.2f}")
    return table

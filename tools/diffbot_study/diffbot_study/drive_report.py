# SPDX-License-Identifier: Apache-2.0
"""What simulated drives of both kinds of robots share: how they are followed and reported."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from arc_odometry.number_range import Array
from diffbot_description import Robot
from diffbot_description.robot import Pair
from diffbot_report.drive_findings import drive_findings
from diffbot_report.drive_recording import DriveRecording
from diffbot_report.drive_results import live_table
from diffbot_study.run_arguments import RunArguments
from diffbot_study.run_report import RunReport, SimulatedRun

HOLD = 1.0  # robot time for which the last reference is held, s
STATE_RATE = 10.0  # states noted per second of robot time


class Moving(Protocol):
    """A simulated robot."""

    def pose(self) -> tuple[float, float, float]:
        """Return its true x, y, theta, m, m, rad."""

    def velocity(self) -> Pair:
        """Return its true v and omega, m/s and rad/s."""


class SimulatedDriving(SimulatedRun, Protocol):
    """A simulated drive; `recording` is complete after `execute`."""

    recording: DriveRecording

    @property
    def gains(self) -> dict[str, Any]:
        """Gains of the law, by their names in the summary."""

    @property
    def duration(self) -> float:
        """Robot time of the drive, s."""


def true_rows(robot: Moving) -> Array:
    """Return the true state as DriveRecording.add_truth takes it, shape (1, 6)."""
    x, y, theta = robot.pose()
    return np.array([(x, y, math.sin(0.5 * theta), math.cos(0.5 * theta), *robot.velocity())])


def report_drive(
    run: SimulatedDriving,
    arguments: RunArguments,
    robot: Robot,
    node: str,
    save: Callable[[RunReport], object],
) -> int:
    """Execute a drive and report it; return the exit status.

    `save` writes its recording; `node` is the controller whose drive it simulates.
    """
    with RunReport("drive", arguments, robot, "diffbot_report.drive_figures") as report:
        ending = report.follow(
            run,
            lambda recording: report.show(
                recording.elapsed, run.duration, lambda: live_table(recording)
            ),
        )
        save(report)
        findings = drive_findings(run.recording, report.run, node, run.gains, robot)
        return report.write(findings, ending)

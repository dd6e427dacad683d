# SPDX-License-Identifier: Apache-2.0
"""Export parameters of robot_localization: process noise and limits of the identified model."""

from __future__ import annotations

from typing import Any

from diffbot_export.known_robot import AxisLimits, KnownRobot
from diffbot_export.sourced_value import Entry, to_yaml

FILE = "robot_localization.yaml"
CHECKED = "robot_localization 3.6.0 and 3.5.2"
NODE = "ekf_filter_node"
STATE = (
    "x", "y", "z", "roll", "pitch", "yaw",
    "vx", "vy", "vz", "vroll", "vpitch", "vyaw", "ax", "ay", "az",
)  # fmt: skip
DEFAULT_NOISE = (
    0.05, 0.05, 0.06, 0.03, 0.03, 0.06, 0.025, 0.025, 0.04, 0.01, 0.01, 0.02, 0.01, 0.01, 0.015,
)  # fmt: skip
# Mean square of uniformly distributed accelerations, as a share of the largest's square.
UNIFORM = 1.0 / 3.0


def robot_localization_yaml(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> str:
    """Return the file, to be merged into the user's own; ValueError if nothing was identified."""
    accelerations = [axis.acceleration for axis in limits]
    noise = None if robot.results.calibration is None else robot.results.calibration.path_noise
    if not any(accelerations) and noise is None:
        raise ValueError(
            "neither accelerations nor the odometry's noise are known: give the results of ident, "
            "identify or calibrate, and --robot FILE"
        )
    tree: dict[str, Any] = {
        "two_d_mode": Entry(True),
        "odom0": Entry("odom", "your odometry; its twist only: the pose's covariance grows"),
        "odom0_config": Entry([name in ("vx", "vy", "vyaw") for name in STATE], ", ".join(STATE)),
        **_process_noise(robot, limits),
        **_control(limits),
    }
    if noise is None:
        robot.missing.append("covariance of the odometry: no path noise was calibrated")
    head = [
        f"{robot.head('robot_localization')}; names, types and sizes of {CHECKED}.",
        "Each value: what it is, its 95 % interval [lower, upper], and where it comes from.",
        *_odometry(robot, limits),
        *robot.gaps(),
        "",
    ]
    return to_yaml({NODE: {"ros__parameters": tree}}, head)


def _process_noise(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> dict[str, Any]:
    """Return the process noise; of v and omega by their change in a period, others: default."""
    period = 1.0 / robot.settings.loop_rate
    diagonal, words = list(DEFAULT_NOISE), []
    for name, axis in zip(("vx", "vyaw"), limits, strict=True):
        if axis.acceleration is None or axis.acceleration.assumed:
            words.append(f"{name}: the package's own, no acceleration was identified")
            continue
        largest = max(axis.acceleration.high, (axis.deceleration or axis.acceleration).high)
        diagonal[STATE.index(name)] = UNIFORM * largest**2 * period
        words.append(
            f"{name}: accelerations up to {largest:.4g}, evenly spread, over odometry's period of "
            f"{period:g} s ({axis.acceleration.cited()})"
        )
    matrix = [
        diagonal[row] if row == column else 0.0
        for row in range(len(STATE))
        for column in range(len(STATE))
    ]
    return {
        "process_noise_covariance": Entry(
            matrix, f"per second, of {', '.join(STATE)}; {'; '.join(words)}; others: the package's"
        )
    }


def _control(limits: tuple[AxisLimits, AxisLimits]) -> dict[str, Any]:
    linear, angular = limits
    a, alpha = linear.acceleration, angular.acceleration
    down, yaw_down = linear.deceleration, angular.deceleration
    if not (a and alpha and down and yaw_down):
        return {}
    zeros = [0.0] * 4
    guessed = any(limit.assumed for limit in (a, alpha, down, yaw_down))
    return {
        "use_control": Entry(True, "predict with cmd_vel, within these limits", guessed),
        "control_config": Entry([True, False, False, False, False, True], assumed=guessed),
        "acceleration_limits": Entry(
            [a.low, *zeros, alpha.low], f"{a.cited()}; {alpha.cited()}", guessed
        ),
        "deceleration_limits": Entry(
            [down.low, *zeros, yaw_down.low], f"{down.cited()}; {yaw_down.cited()}", guessed
        ),
    }


def _odometry(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> list[str]:
    """Return comments on covariances that belong into messages, not into these parameters."""
    calibration, track = robot.results.calibration, robot.track
    lines = []
    if calibration is not None and calibration.path_noise is not None and track is not None:
        noise = calibration.path_noise
        lines.append(
            "The filter takes the odometry's covariance from its messages, where it belongs: "
            f"path noise k = {noise.text()} of each wheel makes variances of k |v| / (2 T) of vx "
            f"and 2 k |v| / (T {track.value:.4g}^2) of vyaw over a period T."
        )
    if calibration is not None and calibration.gyro_walk is not None:
        lines.append(
            "The gyro's covariance belongs in its messages, too: angular_velocity_covariance[8] "
            f"= N / T for a reading every T s, with N = {calibration.gyro_walk.text()}."
        )
    return lines

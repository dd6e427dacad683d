# SPDX-License-Identifier: Apache-2.0
"""Information of motions about wheel radii, track and delay: bounds by the Fisher information.

    ./diffbot python benchmarks/calibration_motion.py
    ./diffbot python benchmarks/calibration_motion.py --side 3 --seconds 60 --slip 0

All motions stay in the same square, with the same duration, speed and acceleration limits. The pose
source measures at 20 Hz with 1 cm and 0.5 degrees; its delay, its mounting on the robot and the
pose of its frame are unknown. The wheels slip as a random walk: the variances of length and heading
grow with travelled distance and turned angle. Prints the minimum standard deviations of any
unbiased estimate (Cramer-Rao bounds).
"""

from __future__ import annotations

import argparse
import math

import numpy as np

from arc_odometry.odometry import Array
from pose2d_trajectories import Trajectory, TrajectoryLimits, make_trajectory

RADIUS, TRACK = 0.075, 0.27217  # m, of twil
RATE, POSITION_NOISE, HEADING_NOISE, DELAY = 20.0, 0.01, math.radians(0.5), 0.06
MOUNTING = (0.12, -0.05, 0.35)
STEP = 0.005  # integration step, s
LIMITS = TrajectoryLimits(0.5, 1.5, 0.5, 2.0)  # limits of launch calibrate
NAMES = ("left radius", "right radius", "track", "delay")


def motions(side: float, seconds: float) -> dict[str, Trajectory]:
    """Return motions in a square (side in m) that last at least `seconds`."""
    half = 0.5 * side
    return {
        "calibration": make_trajectory(
            "calibration", side=side, time=seconds, speed=0.5, turn_rate=1.5, limits=LIMITS
        ),
        "figure_eight": make_trajectory(
            "figure_eight", amplitude_x=half, amplitude_y=half, period=1.0, limits=LIMITS
        ),
        "flat figure_eight": make_trajectory(
            "figure_eight", amplitude_x=half, amplitude_y=0.5 * half, period=1.0, limits=LIMITS
        ),
        "umbmark": make_trajectory(
            "umbmark", side=side, laps=9, speed=0.5, turn_rate=1.5, limits=LIMITS
        ),
    }


def wheels(trajectory: Trajectory, seconds: float) -> Array:
    """Return the rotation of the wheels [left, right] in each step, rad, (n, 2)."""
    middles = (np.arange(round(seconds / STEP)) + 0.5) * STEP
    body = np.array([(r.v, r.omega) for r in map(trajectory.at, middles.tolist())])
    turn = 0.5 * TRACK * body[:, 1]
    return np.column_stack((body[:, 0] - turn, body[:, 0] + turn)) / RADIUS * STEP


def path(turns: Array, left: float, right: float, track: float) -> Array:
    """Return the poses x, y (m), theta (rad) at the ends of the steps, (n + 1, 3)."""
    rims = turns * (left, right)
    length, turn = rims.mean(axis=1), (rims[:, 1] - rims[:, 0]) / track
    theta = np.concatenate(([0.0], np.cumsum(turn)))
    middle = theta[:-1] + 0.5 * turn
    x = np.concatenate(([0.0], np.cumsum(length * np.cos(middle))))
    y = np.concatenate(([0.0], np.cumsum(length * np.sin(middle))))
    return np.column_stack((x, y, theta))


def readings(turns: Array, parameters: Array) -> Array:
    """Return the readings of a noise-free pose source, (k, 3).

    Args:
        turns: Rotation of the wheels, (n, 2), rad.
        parameters: Left radius, right radius, track, delay, mounting (3), frame (3).
    """
    left, right, track, delay = parameters[:4].tolist()
    robot = path(turns, left, right, track)
    stamps = np.arange(len(robot)) * STEP
    times = np.arange(0.0, stamps[-1], 1.0 / RATE) - delay
    x, y, theta = (np.interp(times, stamps, column) for column in robot.T)
    mx, my, myaw = parameters[4:7]
    x, y = (
        x + np.cos(theta) * mx - np.sin(theta) * my,
        y + np.sin(theta) * mx + np.cos(theta) * my,
    )
    theta = theta + myaw
    fx, fy, fyaw = parameters[7:]
    return np.column_stack(
        (
            fx + np.cos(fyaw) * x - np.sin(fyaw) * y,
            fy + np.sin(fyaw) * x + np.cos(fyaw) * y,
            theta + fyaw,
        )
    )


def covariance(turns: Array, slip: float) -> Array:
    """Return the covariance of all readings [x, y, yaw], with random-walk slip, (3 k, 3 k)."""
    robot = path(turns, RADIUS, RADIUS, TRACK)
    every = round(1.0 / RATE / STEP)
    poses = robot[:-1:every]
    rims = RADIUS * np.abs(turns[: len(poses) * every]).reshape(-1, every, 2).sum(axis=1)
    count = len(poses)
    noise = np.tile((POSITION_NOISE**2,) * 2 + (HEADING_NOISE**2,), count)
    result = np.diag(noise)
    if slip == 0.0:
        return result
    # Each wheel's path has a variance of slip^2 per m; `moved` is its effect on later readings.
    moved = np.zeros((count, 3, count, 2))
    for side, sign in enumerate((-1.0, 1.0)):
        deviation = slip * np.sqrt(rims[:, side])
        for k in range(count):
            turned, direction = sign * deviation[k] / TRACK, 0.5 * deviation[k]
            later = poses[k + 1 :]
            x, y = (later[:, :2] - poses[k, :2]).T
            moved[k + 1 :, 0, k, side] = direction * math.cos(poses[k, 2]) - turned * y
            moved[k + 1 :, 1, k, side] = direction * math.sin(poses[k, 2]) + turned * x
            moved[k + 1 :, 2, k, side] = turned
    flat = moved.reshape(3 * count, 2 * count)
    return np.asarray(result + flat @ flat.T)


def bounds(trajectory: Trajectory, seconds: float, slip: float) -> Array:
    """Return the minimum standard deviations of NAMES: m, m, m, s."""
    turns = wheels(trajectory, seconds)
    start = np.array([RADIUS, RADIUS, TRACK, DELAY, *MOUNTING, 0.0, 0.0, 0.0])
    steps = np.array([1e-5, 1e-5, 1e-5, 1e-3, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4, 1e-4])
    jacobian = np.column_stack(
        [
            (readings(turns, start + row) - readings(turns, start - row)).ravel() / (2 * step)
            for row, step in zip(np.diag(steps), steps, strict=True)
        ]
    )
    scatter = covariance(turns, slip)[: len(jacobian), : len(jacobian)]
    information = jacobian.T @ np.linalg.solve(scatter, jacobian)
    return np.asarray(np.sqrt(np.diag(np.linalg.inv(information)))[:4])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=float, default=3.0, help="side of the square, m")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of each motion, s")
    parser.add_argument(
        "--slip", type=float, default=1e-3, help="slip of each wheel, m per sqrt(m); 0: none"
    )
    asked = parser.parse_args()
    print(f"square of {asked.side:g} m, {asked.seconds:g} s, slip {asked.slip:g} m per sqrt(m)")
    print(f"{'':20}" + "".join(f"{name + ' %':>16}" for name in NAMES[:3]) + f"{'delay ms':>12}")
    for name, trajectory in motions(asked.side, asked.seconds).items():
        left, right, track, delay = bounds(trajectory, asked.seconds, asked.slip).tolist()
        shares = (left / RADIUS, right / RADIUS, track / TRACK)
        row = "".join(f"{100.0 * fraction:16.4f}" for fraction in shares)
        print(f"{name:20}{row}{1e3 * delay:12.2f}  ({trajectory.duration:.1f} s)")


if __name__ == "__main__":
    main()

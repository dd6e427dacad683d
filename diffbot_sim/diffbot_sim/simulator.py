# SPDX-License-Identifier: Apache-2.0
"""The interface that every physics engine offers, and what the engines share."""

from __future__ import annotations

import math
from typing import Protocol

from diffbot_description import DynamicParameters, Robot
from diffbot_description.robot import Pair
from diffbot_description.robot_parsing import support_span

Triple = tuple[float, float, float]
"""Three numbers; of a pose x and y in m, heading in rad."""
LONGEST_STEP = 1.0
# Time after which a robot put on a floor has come to rest, s.
SETTLING_TIME = 0.5
# Tilt above which a robot that was put on the floor counts as falling, rad.
LARGEST_TILT = math.radians(3.0)


NO_PUSH = (0.0, 0.0)


class Simulator(Protocol):
    """A differential-drive robot on a level floor, driven by wheel torques.

    SI units; pairs are [left, right]. Poses are those of base_link, the midpoint of the axle, in
    odom: x, y and heading theta (counter-clockwise, unwrapped). Do not call `step` while paused.
    """

    time: float
    """Robot time since the last reset, s."""
    paused: bool
    """Whether time must stand still, by the engine's owner or its window."""

    def reset(self, pose: Triple = (0.0, 0.0, 0.0)) -> None:
        """Put the robot at rest at a pose, with wheel angles and time 0; a payload stays on it."""

    def step(self, torque: Pair, duration: float, push: Pair = NO_PUSH) -> None:
        """Advance by a duration, s, in (0, 1], with constant wheel torques [left, right], N m.

        Gears lose a share of the motors' `torque`; `push` acts besides, such as gravity on a slope.

        Raises:
            ValueError: A torque or the duration is outside its range; nothing moved.
            FloatingPointError: The motion exceeds the engine's numerical range.
        """

    def wheel_angles(self) -> Pair:
        """Angles of the wheel joints (left, right), rad, unwrapped."""

    def wheel_velocities(self) -> Pair:
        """Speeds of the wheel joints (left, right), rad/s."""

    def pose(self) -> Triple:
        """True x (m), y (m) and theta (rad, unwrapped) of base_link in odom."""

    def velocity(self) -> Pair:
        """True forward speed v (m/s) and yaw rate omega (rad/s) of base_link."""

    def parameters(self) -> DynamicParameters:
        """Closed-form K5..K8 of (41) of Lages (2017) for the robot with its payload."""

    def set_payload(self, mass: float, x: float, z: float, yaw_inertia: float) -> None:
        """Fix a load to the body, replacing an earlier one; the motion continues without a jump.

        Args:
            mass: Mass, kg, >= 0; 0 removes the load.
            x: Position of its centre of mass ahead of the axle, m, on the centre line.
            z: Height of its centre of mass above the axle, m; without effect in the ideal engine.
            yaw_inertia: Inertia about the load's own centre of mass, kg m^2, >= 0.

        Raises:
            ValueError: A value is outside its range, or the robot would tip over, which the ideal
                engine cannot detect; nothing has changed then.
        """

    def close(self) -> None:
        """Release what belongs to the engine, such as another program; the last call allowed."""


def check_torque(torque: Pair) -> Pair:
    """Return (left, right) as floats; ValueError unless both are finite."""
    left, right = torque
    for side, value in (("left", left), ("right", right)):
        if not math.isfinite(value):
            raise ValueError(f"{side} wheel torque = {value} N m: must be finite; send 0 to stop")
    return float(left), float(right)


def check_duration(duration: float) -> float:
    """Return duration as a float; ValueError unless it lies in (0, 1] s."""
    if not 0.0 < duration <= LONGEST_STEP:
        raise ValueError(
            f"step duration = {duration} s: must be in (0, {LONGEST_STEP}]; "
            "divide a longer time into several steps"
        )
    return float(duration)


def check_pose(pose: Triple) -> Triple:
    """Return (x, y, theta) as floats; ValueError unless all are finite."""
    x, y, theta = (float(value) for value in pose)
    if not all(map(math.isfinite, (x, y, theta))):
        raise ValueError(f"pose = {(x, y, theta)} (m, m, rad): must be finite")
    return x, y, theta


def check_payload(mass: float, x: float, z: float, yaw_inertia: float) -> None:
    """Raise ValueError unless the load is physical; see Simulator.set_payload."""
    for name, value, unit in (("mass", mass, "kg"), ("yaw_inertia", yaw_inertia, "kg m^2")):
        if not (math.isfinite(value) and value >= 0.0):
            raise ValueError(f"payload {name} = {value:g} {unit}: must be finite and >= 0")
    for name, value in (("x", x), ("z", z)):
        if not math.isfinite(value):
            raise ValueError(f"payload {name} = {value:g} m: must be finite")
    if mass == 0.0 and yaw_inertia > 0.0:
        raise ValueError(
            f"payload yaw_inertia = {yaw_inertia:g} kg m^2 without mass: "
            "set it to 0 to remove the payload, or give the payload's mass"
        )


def check_balance(robot: Robot, mass: float, x: float, yaw_inertia: float) -> None:
    """Raise ValueError if the robot would tip over with the load; see Simulator.set_payload."""
    loaded = robot.model.with_payload(mass, x, yaw_inertia)
    total = loaded.mass_body + 2.0 * loaded.wheel_mass
    centre = loaded.mass_body * loaded.com_offset / total
    rear, front = support_span(robot)
    if not rear < centre < front:
        raise ValueError(
            f"a payload of {mass:.3g} kg at x = {x:.3g} m puts the centre of mass of "
            f"{robot.name} at x = {centre:.3g} m, but wheels and casters carry it only "
            f"from {rear:.3g} to {front:.3g} m: it would tip over; bring the load between them"
        )


def roll_pitch_yaw(w: float, x: float, y: float, z: float) -> Triple:
    """Return roll, pitch and yaw, rad, of a body with this quaternion."""
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(max(-1.0, min(1.0, 2 * (w * y - z * x))))
    return roll, pitch, math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

"""Whether the wheels contradict the torque: stuck encoders, flipped torque, swapped wheels.

Two tests, each with its equations: EnergyBalance (wheel_energy.py) finds flipped and swapped
torque, as the wheels gain energy against it; WheelStandstill (wheel_standstill.py) finds an angle
that repeats itself while its wheel must be turning. Both hold for every robot whose masses, radii,
friction, torque delay and floor are within stated bounds of its YAML: what such a robot can do is
never blamed.

Only angles and stamps are looked at: reported speeds may be filtered, or missing. Impossible jumps
of an angle are refused by JointOdometry; here the watch begins anew.
"""

from __future__ import annotations

import math

from arc_odometry import JointSample
from arc_odometry.diff_odometry import MAX_WHEEL_SPEED
from arc_odometry.wheel_turn import wheel_turn
from diffbot_description import Robot
from diffbot_description.identified_robot import described_model
from diffbot_node.pair_limiter import Pair
from diffbot_node.wheel_energy import EnergyBalance
from diffbot_node.wheel_standstill import SIDES, WheelStandstill

# Samples nearer to each other are joined, s: 100 Hz with jitter is left as it is, 1 kHz is not.
STEP = 0.008
# After a longer time nothing is known of the torque in between, s.
LONGEST_GAP = 0.3
# Counts per turn of the coarsest encoder that need not be told.
COARSE = 256
# Smaller changes of an angle are rounding, not counts, rad.
ROUNDING = 1e-6
SIGNS_ADVICE = (
    "check the signs and the order of torque commands and encoders, left and right, "
    "and that nobody pushes the robot"
)
STUCK_ADVICE = "check the encoder's cable, and whether the wheel or the robot is blocked"


class WheelWatch:
    """Tells from joint samples and commanded torque when torque has to stop.

    Args:
        robot: its wheels, masses, friction, limits and encoder.
        limit: largest torque per wheel that will be commanded, N m, > 0; None for the robot's
            traction limit. Three quarters of it may hold a wheel (friction, a slope): the less, the
            sooner a wheel that stands is called stuck.

    Raises:
        ValueError: limit is not finite and > 0.
    """

    def __init__(self, robot: Robot, limit: float | None = None) -> None:
        limit = robot.limits.traction if limit is None else limit
        if not (math.isfinite(limit) and limit > 0.0):
            raise ValueError(f"torque limit of the wheel watch = {limit} N m: must be > 0, finite")
        model = described_model(robot)
        self._energy = EnergyBalance(model, limit)
        self._wheels = [WheelStandstill(robot, model, side, limit) for side in (0, 1)]
        # Found as the least change of an angle that was ever seen.
        self._count = math.tau / min(robot.encoder.counts or COARSE, COARSE)
        self.reset()

    def reset(self) -> None:
        """Begin anew: after a gap, a reset of time, or when torque is enabled again."""
        self._energy.reset()
        for wheel in self._wheels:
            wheel.reset()
        self._last: JointSample | None = None
        self._begin_step()

    def _begin_step(self) -> None:
        self._period, self._turn, self._impulse = 0.0, [0.0, 0.0], [0.0, 0.0]

    def update(self, sample: JointSample, torque: Pair) -> str:
        """Take in a joint sample.

        Args:
            sample: its stamp and its angles count.
            torque: commanded for the period that ends with the sample, [left, right], N m.

        Returns:
            Why torque has to stop, with numbers and what to check; "" otherwise.
        """
        last, self._last = self._last, sample
        if last is None or sample.stamp == last.stamp:
            return ""
        period = sample.stamp - last.stamp
        turn = _turn(last, sample) if 0.0 < period <= LONGEST_GAP else None
        if turn is None:
            self.reset()
            self._last = sample
            return ""
        self._period += period
        for side in (0, 1):
            self._turn[side] += turn[side]
            self._impulse[side] += torque[side] * period
            if abs(turn[side]) > ROUNDING:
                self._count = min(self._count, abs(turn[side]))
        return self._judge() if self._period >= STEP else ""

    def _judge(self) -> str:
        """End a step, and ask both tests."""
        period, turn = self._period, (self._turn[0], self._turn[1])
        torque = (self._impulse[0] / period, self._impulse[1] / period)
        self._begin_step()
        step = (period, turn, torque, self._count)
        for wheel in self._wheels:
            stuck = wheel.update(*step)
            if stuck:
                return f"{stuck}; {STUCK_ADVICE}"
        wrong = self._energy.update(*step)
        return f"{wrong}; {SIGNS_ADVICE}" if wrong else ""


def _turn(last: JointSample, sample: JointSample) -> Pair | None:
    """Changes of the angles [left, right], rad; None where they cannot be told."""
    limit = MAX_WHEEL_SPEED * (sample.stamp - last.stamp)
    try:
        left, right = (
            wheel_turn(side, before, after, limit)
            for side, before, after in zip(SIDES, last.position, sample.position, strict=True)
        )
    except ValueError:
        return None
    return left, right

"""Velocities that bring the robot to a pose at rest: the polar law, made practical."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from arc_odometry import Arc, Pose
from diffbot_controllers.laws import rates
from diffbot_controllers.laws.motion import Reference, Torque, Velocity, check_positive
from diffbot_controllers.laws.rates import Rate

# ---
# Gains and bounds of the approach to a pose.


@dataclass(frozen=True)
class ApproachGains:
    """Gains of the approach.

    Attributes:
        gamma1: rate at which the distance shrinks, 1/s, > 0; gamma_1 of the papers.
        gamma2: rate at which the heading turns to the way, 1/s, > 0; gamma_2.
        ratio: lambda_3 / lambda_2, how much the direction of arrival counts, > 0.
        linear_velocity: largest |v|, m/s, > 0, or infinite.
        angular_velocity: largest |omega|, rad/s, > 0, or infinite.
        deceleration: with which the robot can come to rest at the goal, m/s^2, > 0, or infinite.
        angular_deceleration: likewise when it turns to its way, rad/s^2, > 0, or infinite.
        lateral_acceleration: largest |v omega|, m/s^2, > 0, or infinite: what tyres hold and the
            robot does not tip over at; v gives way to it.
        near: distance, m, > 0, at which the robot has arrived: from there on it only turns to the
            goal's heading and drives on its own axis.

    Raises:
        ValueError: a number is outside its limits.
    """

    gamma1: float = 5.0
    gamma2: float = 12.0
    ratio: float = 2.0
    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    deceleration: float = math.inf
    angular_deceleration: float = math.inf
    lateral_acceleration: float = math.inf
    near: float = 0.004

    def __post_init__(self) -> None:
        check_positive(
            "approach gains",
            gamma1=self.gamma1,
            gamma2=self.gamma2,
            ratio=self.ratio,
            near=self.near,
        )
        check_positive(
            "approach gains",
            unbounded=True,
            linear_velocity=self.linear_velocity,
            angular_velocity=self.angular_velocity,
            deceleration=self.deceleration,
            angular_deceleration=self.angular_deceleration,
            lateral_acceleration=self.lateral_acceleration,
        )


# What the robot's heading is compared with: the way to the goal, or from it (backwards).
FORWARDS, BACKWARDS = 1, -1
DIRECTIONS = {"forwards": (FORWARDS,), "backwards": (BACKWARDS,), "either": (FORWARDS, BACKWARDS)}

LEAVE = 2.0  # times ApproachGains.near, beyond which a robot that has arrived sets out again


class PolarError(NamedTuple):
    """Where the robot is as seen from the goal, (8)-(10) of the 2018 paper, (75)-(77) of 2017.

    Attributes:
        e: distance, m.
        psi: direction of the way, rad, in the goal's frame.
        alpha: heading of the robot relative to that, rad.
    """

    e: float
    psi: float
    alpha: float


class Approach:
    """eta = [v, omega] towards a goal at rest, and its rate of change; (14), (15) made practical.

    What is added to the published law, and why:

    - Both driving directions. psi is the direction of the way to the goal, atan2(-y, -x), when the
      robot drives forwards, and atan2(y, x), as published, when backwards. (14) is the same
      for both: eta_1 = gamma_1 times the distance ahead. With "either", the direction and the
      whole turns are those of the smallest Lyapunov function lambda_2 alpha^2 + lambda_3 psi^2;
      it is left only for one that is smaller by a margin, so that V never grows by a choice.
    - Bounded speed: gamma_1 becomes a function of the distance and gamma_2 one of alpha, such that
      the robot can brake (see braking_gain). (32) holds for any positive gamma_1, gamma_2, so
      stability stays. Where omega is still beyond its bound, v and omega slow down together.
    - Near the goal the direction of the way is noise and its rate grows as 1 / e. A robot that has
      arrived there takes psi for 0: it turns to the goal's heading and drives on its own axis
      until it is beside the goal. What is off sideways then, less than `near`, stays.
    """

    MARGIN = 0.7  # of V, that another choice has to be below

    def __init__(self, gains: ApproachGains, direction: str = "either") -> None:
        if direction not in DIRECTIONS:
            raise ValueError(f"direction = {direction!r}: must be one of {', '.join(DIRECTIONS)}")
        self.gains = gains
        self._directions = DIRECTIONS[direction]
        self.reset()

    def reset(self) -> None:
        """Forget the driving direction, and that the robot has arrived."""
        self._psi: float | None = None
        self._arrived = False
        self.direction = self._directions[0]
        self.error = PolarError(0.0, 0.0, 0.0)

    def velocity(self, x: Rate, y: Rate, theta: Rate, v: float = 0.0) -> tuple[Rate, Rate]:
        """The velocities eta and their rates.

        Args:
            x: of the robot in the goal's frame, (7) or (74), m.
            y: as x, m.
            theta: heading relative to the goal's, rad.
            v: present velocity of the robot, m/s, for the bound of the lateral acceleration.
        """
        gains = self.gains
        e = rates.hypot(x, y)
        ahead = -(x * rates.cos(theta) + y * rates.sin(theta))
        theta = rates.wrap(theta)
        psi, alpha = self._angles(e, x, y, theta)
        self.error = PolarError(e.value, psi.value, alpha.value)
        gamma1 = braking_gain(e, gains.gamma1, gains.deceleration, gains.linear_velocity)
        gamma2 = braking_gain(
            rates.absolute(alpha), gains.gamma2, gains.angular_deceleration, gains.angular_velocity
        )
        eta1 = gamma1 * ahead
        eta2 = -gamma2 * alpha - gamma1 * rates.cos(alpha) * (
            rates.sin(alpha) - gains.ratio * psi * rates.sinc(alpha)
        )
        return self.bounded(eta1, eta2, v)

    def bounded(self, eta1: Rate, eta2: Rate, v: float) -> tuple[Rate, Rate]:
        """Velocities within the bounds; where omega is too much both slow down, on one circle.

        A robot at speed v slows down before it turns: after a step of the reference eta_1 may be
        small long before v is.
        """
        most = self.gains.angular_velocity
        if abs(eta2.value) > most:
            eta1 = eta1 * (most / (eta2 if eta2.value > 0.0 else -eta2))
            eta2 = rates.clamp(eta2, most)
        if abs(eta1.value * eta2.value) > self.gains.lateral_acceleration:
            slower = self.gains.lateral_acceleration / rates.absolute(eta2)
            eta1 = slower if eta1.value > 0.0 else -slower
        if abs(v * eta2.value) > self.gains.lateral_acceleration:
            eta2 = rates.clamp(eta2, self.gains.lateral_acceleration / abs(v))
        return rates.clamp(eta1, self.gains.linear_velocity), eta2

    def _angles(self, e: Rate, x: Rate, y: Rate, theta: Rate) -> tuple[Rate, Rate]:
        """(psi, alpha) of the driving direction chosen."""
        # Not a smooth transition: a robot beside its goal would rest where half a psi holds it.
        self._arrived = e.value <= self.gains.near * (LEAVE if self._arrived else 1.0)
        if self._arrived:
            self._psi = None
            return Rate(0.0), theta
        candidates = []
        for direction in self._directions:
            psi = rates.atan2(-direction * y, -direction * x)
            candidates.append((self._cost(psi, theta), direction, psi))
        cost, direction, psi = min(candidates, key=lambda c: c[0])
        if self._psi is not None:
            # The present choice, continued: its psi may pass +-pi.
            _, own, kept = next(c for c in candidates if c[1] == self.direction)
            turns = math.tau * round((self._psi - kept.value) / math.tau)
            kept = kept + turns
            if cost > self.MARGIN * self._cost(kept, theta):
                direction, psi = own, kept
        self.direction, self._psi = direction, psi.value
        return psi, rates.wrap(theta - psi)

    def _cost(self, psi: Rate, theta: Rate) -> float:
        alpha = math.remainder(theta.value - psi.value, math.tau)
        return alpha * alpha + self.gains.ratio * psi.value * psi.value


def braking_gain(distance: Rate, gain: float, deceleration: float, most: float) -> Rate:
    """Rate at which a distance may shrink, speed / distance, 1/s, that a robot can brake from.

    The speed is gain times the distance near the goal and, where that would ask for more than
    the deceleration a, sqrt(2 a distance - (a / gain)^2), which meets it with the same slope.

    Args:
        distance: >= 0, m or rad.
        gain: near the goal, 1/s.
        deceleration: a, in the distance's unit per s^2, or infinite.
        most: largest speed, or infinite.
    """
    if gain * gain * distance.value <= deceleration:
        if gain * distance.value <= most:
            return Rate(gain)
    else:
        root = rates.sqrt(2.0 * deceleration * distance - (deceleration / gain) ** 2)
        if root.value <= most:
            return root / distance
    return most / distance


# ---
# What the backstepping laws tell about themselves.


@dataclass(frozen=True)
class BackstepRecord:
    """Every variable that Listing 3 publishes, under the names of its status message.

    Attributes:
        set_point: x_r, m, m, rad.
        process_value: pose of the robot, m, m, rad.
        process_value_dot: its rate of change, m/s, m/s, rad/s.
        error: set_point - process_value, m, m, rad; the published law does not wrap the heading.
        time_step: period that the law took, s.
        command: torque [left, right], N m.
        gammas: gamma_i of the law, 1/s: all four (published), or gamma_1, gamma_2 (standard).
        lambdas: lambda_i of the law: all five (published), or lambda_2, lambda_3 (standard, where
            only their ratio counts).
        polar_error: e, psi, alpha.
        backstep_set_point: eta, m/s and rad/s.
        backstep_set_point_dot: its rate of change as the law knows it.
        backstep_process_value: u, m/s and rad/s.
        backstep_error: u - eta, (22), (23).
        backstep_command: v_bar, (30), (31), m/s^2 and rad/s^2.
        linear_dynamics_command: v, (33), (34), m/s^2 and rad/s^2.
        mode: which part of the law was at work.
    """

    set_point: Pose
    process_value: Pose
    process_value_dot: Pose
    error: Pose
    time_step: float
    command: Torque
    gammas: tuple[float, ...]
    lambdas: tuple[float, ...]
    polar_error: PolarError
    backstep_set_point: Velocity
    backstep_set_point_dot: Velocity
    backstep_process_value: Velocity
    backstep_error: Velocity
    backstep_command: Velocity
    linear_dynamics_command: Velocity
    mode: str


def pose_rate(pose: Pose, u: Velocity) -> Pose:
    """Rate of change of a pose, m/s, m/s, rad/s; (1), (2)."""
    return Pose(u.v * math.cos(pose.theta), u.v * math.sin(pose.theta), u.omega)


# ---
# The robot as seen from where it should be.


def offset_to_origin(pose: Pose, reference: Pose) -> Pose:
    """x_bar of (7) in the 2018 and (74) in the 2017 paper: m, m, rad; theta is not wrapped."""
    dx, dy = pose.x - reference.x, pose.y - reference.y
    cos, sin = math.cos(reference.theta), math.sin(reference.theta)
    return Pose(cos * dx + sin * dy, -sin * dx + cos * dy, pose.theta - reference.theta)


def moving_offset(
    pose: Pose, u: Velocity, reference: Pose, motion: Velocity
) -> tuple[Rate, Rate, Rate]:
    """x_bar and its rate while the robot moves with u and the reference with `motion`."""
    x, y, theta = offset_to_origin(pose, reference)
    theta = math.remainder(theta, math.tau)
    return (
        Rate(x, u.v * math.cos(theta) - motion.v + motion.omega * y),
        Rate(y, u.v * math.sin(theta) - motion.omega * x),
        Rate(theta, u.omega - motion.omega),
    )


def pose_of(reference: Reference) -> Pose:
    """The pose of a reference."""
    return Pose(reference.x, reference.y, reference.theta)


def preview(reference: Reference, time: float) -> Pose:
    """Where a reference will be after a time, s, if it goes on along its circle."""
    return Arc(reference.v * time, reference.omega * time).end(pose_of(reference))

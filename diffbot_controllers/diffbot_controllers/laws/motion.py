# SPDX-License-Identifier: Apache-2.0
"""How the robot moves, as a law is told it: from its wheels' samples to a State at the instant.

Encoders give the mean velocity over the last period. VelocityEstimate makes of it the velocity at
the control instant, with what the model says of its change.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from arc_odometry import (
    REST,
    DiffOdometry,
    JointOdometry,
    JointSample,
    Oddity,
    Pose,
    Velocity,
    WheelGeometry,
)
from arc_odometry.geometry import check_finite
from arc_odometry.odometry import MAX_WHEEL_SPEED
from diffbot_description import DynamicParameters, Torque

Array = NDArray[np.float64]


@dataclass(frozen=True)
class State:
    """How the robot moves at one control instant.

    Attributes:
        pose: in the odom frame, m and rad; theta may count whole turns.
        velocity: at this instant, or the mean over the control interval that ends now, as
            differences of encoder positions give it; a law is told which when it is made.
        torque: that acted over the interval that ends now, [left, right], N m, as
            joint_states.effort reports it. None: what the law commanded, which is not so where
            somebody else limits the torque too.

    Raises:
        ValueError: a number is not finite.
    """

    pose: Pose
    velocity: Velocity
    torque: Torque | None = None

    def __post_init__(self) -> None:
        check_finite("state", x=self.pose.x, y=self.pose.y, theta=self.pose.theta)
        check_finite("state", v=self.velocity.v, omega=self.velocity.omega)
        if self.torque is not None:
            check_finite("state", torque_left=self.torque[0], torque_right=self.torque[1])


class Motion(NamedTuple):
    """How the robot moves.

    Attributes:
        pose: in the odom frame, m and rad.
        velocity: m/s and rad/s.
        bias: acceleration that the model does not know, m/s^2 and rad/s^2.
        held: whether friction holds both wheels.
    """

    pose: Pose
    velocity: Velocity
    bias: Velocity = REST
    held: bool = False


# A longer time between two samples tells nothing about the velocity at its end, s.
LONGEST_PERIOD = 0.2


class Reading(NamedTuple):
    """What a joint sample told.

    Attributes:
        state: for a law; None where the sample is a new beginning or was left out.
        dt: time since the sample before, s.
        oddity: what was wrong with the sample; None where nothing was.
    """

    state: State | None
    dt: float
    oddity: Oddity | None


class WheelFeedback:
    """Pose by exact arc odometry and velocity, from the joint samples of a robot.

    Args:
        geometry: radii and separation of the wheels.
        start: pose at the first sample, m, m, rad, in the odom frame.
        path_noise: variance of a wheel's path per path driven, m^2/m, >= 0; see DiffOdometry.
        from_angles: whether velocities are differences of the wheels' angles, means over the
            period that ends; else the speeds that the joint states report.
        max_wheel_speed: faster changes of a wheel's angle are jumps of its encoder, rad/s, > 0.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        start: tuple[float, float, float] = (0.0, 0.0, 0.0),
        path_noise: float = 0.0,
        from_angles: bool = True,
        max_wheel_speed: float = MAX_WHEEL_SPEED,
    ) -> None:
        self.odometry = DiffOdometry(geometry, path_noise, max_wheel_speed, start)
        self._samples = JointOdometry(self.odometry, LONGEST_PERIOD)
        self._from_angles = from_angles

    def update(self, sample: JointSample, torque: Torque) -> Reading:
        """Take in a sample.

        Args:
            sample: the wheels.
            torque: commanded for the period that ends with the sample, [left, right], N m.

        Raises:
            ValueError: angles or stamp are not finite; nothing has changed then.
        """
        before = self.odometry.time
        oddity = self._samples.update(sample)
        if oddity is not None or before is None or self.odometry.time == before:
            return Reading(None, 0.0, oddity)
        velocity = self.odometry.velocity
        if not self._from_angles:
            velocity = Velocity(*self.odometry.geometry.body_velocity(*sample.velocity))
        state = State(self.odometry.pose, velocity, torque)
        return Reading(state, sample.stamp - before, None)


# Time constant, s, with which an estimate comes round from the model to the encoders.
# At 100 Hz it halves the torque's chatter with 4096 counts at rest. An acceleration that the
# model is wrong about by d biases the estimate by 11 ms times d instead of 5 ms.
MEMORY = 0.01


class VelocityEstimate:
    """Velocity now, where encoders give its mean over the last period.

    While u changes at the rate nu, its mean over a period is what it was half a period ago:
    u = u_mean + nu T / 2. A loop closed on the mean instead has half a period more delay.

    Encoders count, so the mean chatters. The model says how u has changed since the last estimate;
    of the difference between that and u_mean + nu T / 2 the estimate takes the share
    1 - e^(-T / MEMORY). Where the model is right and the encoders are exact nothing is left of
    either.

    Args:
        dynamics: of the robot.
        mean: whether the velocity of a State is that mean; else it is taken as it is.
    """

    def __init__(self, dynamics: DynamicParameters, mean: bool) -> None:
        self.dynamics = dynamics
        self._mean = mean
        self.reset()

    @property
    def dynamics(self) -> DynamicParameters:
        """K5..K8 in use."""
        return self._dynamics

    @dynamics.setter
    def dynamics(self, dynamics: DynamicParameters) -> None:
        self._dynamics = dynamics.checked()

    def reset(self) -> None:
        """Forget the past: the robot was at rest, without torque."""
        self.velocity = REST
        self._known = False
        self._commanded: Torque = (0.0, 0.0)

    def acted(self, state: State) -> Torque:
        """Torque over the period that ends now, [left, right], N m."""
        return self._commanded if state.torque is None else state.torque

    def update(self, state: State, dt: float) -> Velocity:
        """The velocity now; dt: time since the update before, s."""
        if not self._mean:
            self.velocity = state.velocity
            return self.velocity
        by_torque = self.dynamics.input_acceleration(self.acted(state))
        # f at the mean velocity is the mean of f but for the square of the change.
        drift = self.dynamics.drift(state.velocity)
        share = -math.expm1(-dt / MEMORY) if self._known else 1.0
        self._known = True
        before = self.velocity
        self.velocity = Velocity(
            _blend(before.v, state.velocity.v, by_torque.v + drift.v, share, dt),
            _blend(before.omega, state.velocity.omega, by_torque.omega + drift.omega, share, dt),
        )
        return self.velocity

    def motion(self, state: State, dt: float) -> Motion:
        """The same with the pose."""
        return Motion(state.pose, self.update(state, dt))

    def command(self, torque: Torque) -> None:
        """Remember the torque of the period that begins, N m."""
        self._commanded = torque


def _blend(before: float, mean: float, rate: float, share: float, dt: float) -> float:
    """A velocity from the one before and its mean since, while it changed at a rate."""
    foretold, measured = before + dt * rate, mean + 0.5 * dt * rate
    return foretold + share * (measured - foretold)


def check_period(dt: float) -> None:
    """Refuse a time since the last update that is not finite and > 0.

    Raises:
        ValueError: names it.
    """
    if not 0.0 < dt < math.inf:
        raise ValueError(
            f"dt = {dt} s: must be finite and > 0; give the time since the last update"
        )


def within(value: float, limit: float) -> float:
    """The value, or +-limit where it is beyond."""
    return max(-limit, min(limit, value))


def within_each(values: Array, low: Array | float, high: Array | float) -> Array:
    """The values, each within its limits; np.clip takes several times as long on short arrays."""
    return np.minimum(np.maximum(values, low), high)


# How far a robot was from its reference over a run.

SETTLED_POSITION = 0.01  # m
SETTLED_HEADING = math.radians(1.0)


@dataclass(frozen=True)
class TrackingErrors:
    """Errors at n instants of a run.

    Attributes:
        time: s, rising, shape (n,), n > 0.
        error: pose minus the reference's, m, m, rad, the heading within +-pi, shape (n, 3).
    """

    time: NDArray[np.float64]
    error: NDArray[np.float64]

    @classmethod
    def between(cls, time: ArrayLike, pose: ArrayLike, reference: ArrayLike) -> TrackingErrors:
        """Errors of poses against references, both x, y, theta in m and rad, shape (n, 3)."""
        error = np.asarray(pose, float) - np.asarray(reference, float)
        error[:, 2] = np.remainder(error[:, 2] + math.pi, math.tau) - math.pi
        return cls(np.asarray(time, float), error)

    @property
    def distance(self) -> NDArray[np.float64]:
        """Distance from the reference, m, shape (n,)."""
        return np.hypot(self.error[:, 0], self.error[:, 1])

    @property
    def heading(self) -> NDArray[np.float64]:
        """Size of the heading error, rad, shape (n,)."""
        return np.abs(self.error[:, 2])

    @property
    def settling_time(self) -> float:
        """First time from which on the robot stays within 1 cm and 1 degree, s; inf if never."""
        outside = np.flatnonzero(
            (self.distance > SETTLED_POSITION) | (self.heading > SETTLED_HEADING)
        )
        if not len(outside):
            return float(self.time[0])
        return float(self.time[outside[-1] + 1]) if outside[-1] + 1 < len(self.time) else math.inf

    def rms(self, since: float) -> tuple[float, float]:
        """Root mean square of distance (m) and heading error (rad) from a time (s) on."""
        late = self.time >= since
        return (
            float(np.sqrt(np.mean(self.distance[late] ** 2))),
            float(np.sqrt(np.mean(self.heading[late] ** 2))),
        )

    def largest(self, since: float) -> tuple[float, float]:
        """Largest distance (m) and heading error (rad) from a time (s) on."""
        late = self.time >= since
        return float(self.distance[late].max()), float(self.heading[late].max())

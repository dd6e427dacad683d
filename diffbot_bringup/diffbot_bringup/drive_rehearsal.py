"""A run of launch/backstepping.launch.xml in one process, without a ROS graph.

The same law, odometry, torque limits, actuators and encoders as the nodes', for tests and
benchmarks over many starts. The law never sees the true pose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample, WheelGeometry
from diffbot_controllers import BodyDynamics, State, Torque
from diffbot_controllers.feedback import WheelFeedback
from diffbot_controllers.tracking_errors import TrackingErrors
from diffbot_description import Robot
from diffbot_node.torque_limiter import TorqueLimiter
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders
from diffbot_sim.simulator import Simulator
from diffbot_sim.virtual_robot import VirtualRobot

PERIOD = 0.01  # control period, s


class PoseReference(Protocol):
    """What a reference has at least; see diffbot_controllers.Reference for what laws want."""

    x: float
    y: float
    theta: float


class Law(Protocol):
    """A control law of diffbot_controllers, made with mean_velocity=True."""

    def update(self, state: State, reference: PoseReference, dt: float) -> Torque:
        """Torque [left, right] in N m for the period that begins."""


@dataclass(frozen=True)
class Drive:
    """Samples of one run at the control instants, n of them.

    Attributes:
        time: s since the first joint state, shape (n,).
        pose: true x, y, theta, m and rad, shape (n, 3).
        odometry: the same as the law saw it, shape (n, 3).
        velocity: true v, omega, m/s and rad/s, shape (n, 2).
        torque: commanded for the period that begins, after all limits, [left, right], N m, (n, 2).
        reference: x, y, theta, m and rad, shape (n, 3).
    """

    time: NDArray[np.float64]
    pose: NDArray[np.float64]
    odometry: NDArray[np.float64]
    velocity: NDArray[np.float64]
    torque: NDArray[np.float64]
    reference: NDArray[np.float64]

    @property
    def true(self) -> TrackingErrors:
        """Errors of the true pose: settling_time, rms(since), largest(since)."""
        return TrackingErrors.between(self.time, self.pose, self.reference)

    @property
    def by_odometry(self) -> TrackingErrors:
        """Errors of the pose that the law saw."""
        return TrackingErrors.between(self.time, self.odometry, self.reference)

    @property
    def drift(self) -> TrackingErrors:
        """What odometry has wrong: its pose minus the true one."""
        return TrackingErrors.between(self.time, self.odometry, self.pose)

    @property
    def peak_torque(self) -> float:
        """Largest torque of a wheel, N m."""
        return float(np.abs(self.torque).max())

    @property
    def peak_speeds(self) -> NDArray[np.float64]:
        """Largest true |v| in m/s and |omega| in rad/s, shape (2,)."""
        return np.abs(self.velocity).max(axis=0)


def rehearse_drive(
    engine: Simulator,
    robot: Robot,
    law: Law,
    reference: Callable[[float], PoseReference],
    duration: float,
    *,
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    encoder_counts: int | None = None,
    torque_limit: float | None = None,
    torque_noise: float = 0.0,
    seed: int = 0,
    period: float = PERIOD,
    on_sample: Callable[[JointSample], None] | None = None,
) -> Drive:
    """Put the robot at rest at its start and drive it.

    The first joint state is answered with zero torque, as the nodes do: the time since the one
    before is not known.

    Args:
        engine: simulates this robot; it is reset.
        robot: its wheels, its limits and its encoders.
        law: new or reset, with mean_velocity=True.
        reference: what the law gets at a time of the run, s.
        duration: s.
        start: true pose at the start, m, m, rad; odometry begins with it.
        encoder_counts: per wheel revolution; 0 for exact angles; None for the robot's own.
        torque_limit: that the node keeps to, N m; None for the robot's traction limit.
        torque_noise: standard deviation of the acting torque, as a share of it.
        seed: of the encoders' phases and the noise.
        period: control period, s.
        on_sample: called with each joint sample before the law is asked, such as AdaptiveRehearsal.
    """
    counts = robot.encoder.counts if encoder_counts is None else encoder_counts
    limit = robot.limits.traction if torque_limit is None else torque_limit
    engine.reset(start)
    virtual = VirtualRobot(
        engine,
        Actuator(robot.limits.torque, 0, torque_noise, seed),
        Encoders(counts, period, seed),
        period,
    )
    geometry = WheelGeometry(robot.wheels.radius, robot.wheels.radius, robot.wheels.separation)
    # The published law spins the wheels faster than any encoder would be believed.
    feedback = WheelFeedback(geometry, start, max_wheel_speed=math.inf)
    limiter = TorqueLimiter(limit, robot.limits.torque_rate)
    rows, sample = [], virtual.sample
    for _ in range(round(duration / period)):
        if on_sample is not None:
            on_sample(sample)
        state = feedback.update(sample, limiter.torque).state
        wanted = reference(sample.stamp)
        if state is not None:
            limiter.apply(law.update(state, wanted, period), period)
        rows.append(
            (
                sample.stamp,
                *engine.pose(),
                *feedback.odometry.pose,
                *engine.velocity(),
                *limiter.torque,
            )
            + (wanted.x, wanted.y, wanted.theta)
        )
        sample = virtual.advance(limiter.torque)
    columns = np.array(rows)
    return Drive(columns[:, 0], *np.split(columns[:, 1:], (3, 6, 8, 10), axis=1))


def dynamics_of(engine: Simulator) -> BodyDynamics:
    """True K5..K8 of the simulated robot, its payload included."""
    k = engine.parameters()
    return BodyDynamics(k.k5, k.k6, k.k7, k.k8)

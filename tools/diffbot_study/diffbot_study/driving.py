# SPDX-License-Identifier: Apache-2.0
"""A torque-driven robot under a control law in one process, without a ROS graph.

`simulate_drive` corresponds to launch/backstepping.launch.xml, with a `LiveAdaptation` to
launch/adaptive.launch.xml. Law, estimator and gates use only the joint states.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from arc_odometry import JointSample
from arc_odometry.number_range import Array
from diffbot_controllers import State
from diffbot_controllers.adaptation import Adaptation, AdaptationSettings, LiveEstimate
from diffbot_controllers.friction_adaptation import (
    FrictionAdaptation,
    friction_laws,
    friction_values,
    is_adaptable,
)
from diffbot_controllers.laws.drivetrain import DrivetrainLaw
from diffbot_controllers.laws.motion import WheelFeedback
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_description import DynamicParameters, Robot, Torque, load_robot, wheel_friction
from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.estimators import LiveSettings, make_live_estimator
from diffbot_node.command_guard import TorqueLimiter
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.virtual_robot import (
    Actuator,
    Encoders,
    SlopedFloor,
    VirtualRobot,
    as_received,
    periods_in,
)
from pose2d_trajectories import Reference

PERIOD = 0.01  # control period, s
CHATTER = 10.0  # frequency from which a torque chatters, Hz


class Law(Protocol):
    """A control law: your own, or one of diffbot_controllers made with mean_velocity=True."""

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Return the torque [left, right] in N m for the period of dt s that begins.

        `state` is the pose by odometry, and the mean velocity over the period that ends.
        """


@dataclass(frozen=True)
class DriveSamples:
    """Samples of one run at the n control instants.

    Attributes:
        time: Time since the first joint state, s, shape (n,).
        pose: True x, y, theta, m and rad, shape (n, 3).
        odometry: Same by odometry, as the law receives it, shape (n, 3).
        velocity: True v, omega, m/s and rad/s, shape (n, 2).
        torque: Commanded torque for the period that begins, after all limits, [left, right], N m,
            (n, 2).
        reference: Reference x, y, theta, m and rad, shape (n, 3).
    """

    time: Array
    pose: Array
    odometry: Array
    velocity: Array
    torque: Array
    reference: Array

    @property
    def true(self) -> TrackingErrors:
        """Errors of the true pose: settling_time, rms(since), largest(since)."""
        return TrackingErrors.between(self.time, self.pose, self.reference)

    @property
    def by_odometry(self) -> TrackingErrors:
        """Errors of the pose by odometry, which the law receives."""
        return TrackingErrors.between(self.time, self.odometry, self.reference)

    @property
    def drift(self) -> TrackingErrors:
        """Error of odometry: its pose minus the true one."""
        return TrackingErrors.between(self.time, self.odometry, self.pose)

    @property
    def peak_torque(self) -> float:
        """Maximum torque of a wheel, N m."""
        return float(np.abs(self.torque).max())

    def chatter(self, limit: float, since: float = 0.0) -> float:
        """Return the torque above 10 Hz from `since`, s, root mean square over a limit in N m."""
        torque = self.torque[self.time >= since]
        spectrum = np.fft.rfft(torque, axis=0)
        spectrum[np.fft.rfftfreq(len(torque), self.time[1] - self.time[0]) <= CHATTER] = 0.0
        fast = np.fft.irfft(spectrum, len(torque), axis=0)
        return float(np.sqrt(np.mean(fast**2))) / limit

    def sign_changes(self, since: float) -> float:
        """Return the sign changes per s of the torque from `since` (s) on, for the worse wheel."""
        late = self.torque[self.time >= since].T
        changes = [np.count_nonzero(np.diff(np.sign(wheel[wheel != 0.0]))) for wheel in late]
        return float(max(changes) / (self.time[-1] - since))

    @property
    def peak_speeds(self) -> Array:
        """Maximum true |v| in m/s and |omega| in rad/s, shape (2,)."""
        return np.asarray(np.abs(self.velocity).max(axis=0))


def simulate_drive(
    engine: str | Simulator,
    robot: str | Robot,
    law: Law,
    reference: Callable[[float], Reference],
    duration: float,
    *,
    start: tuple[float, float, float] = (0.0, 0.0, 0.0),
    encoder_counts: int | None = None,
    torque_limit: float | None = None,
    torque_noise: float = 0.0,
    torque_delay: int = 0,
    seed: int = 0,
    period: float = PERIOD,
    on_sample: Callable[[JointSample], None] | None = None,
    on_command: Callable[[JointSample, Torque], None] | None = None,
    like_nodes: bool = False,
    floor: SlopedFloor | None = None,
) -> DriveSamples:
    """Place the robot at rest at its start pose and drive it.

    The first joint state is answered with zero torque, as in the nodes: the time since the previous
    one is unknown.

    Args:
        engine: "ideal", "mujoco" or "gazebo"; or an engine of this robot, which is reset.
        robot: The robot, for its wheels, limits and encoders; or its name, or the path of its YAML.
        law: Control law, new or reset.
        reference: Returns the reference at a time of the run, s.
        duration: Duration, s, at least one control period.
        start: True start pose, m, m, rad; odometry starts from it.
        encoder_counts: Counts per wheel revolution; 0 for exact angles; None for the robot's own.
        torque_limit: Torque limit of the node, N m; None for the robot's traction limit.
        torque_noise: Standard deviation of the acting torque as a fraction of it.
        torque_delay: Delay of the motors, control periods.
        seed: Seed of the encoders' phases and the noise.
        period: Control period, s.
        on_sample: Called with each joint sample before the law, such as a LiveAdaptation.
        on_command: Called with each joint sample and the torque that answers it.
        like_nodes: Whether stamps are whole nanoseconds, and periods their differences, so that
            results equal those of the nodes to the last digit.
        floor: Floor with a slope; None: it is level.

    Raises:
        ValueError: An argument is outside its range, there is no such robot or engine, or the law
            does not return two finite torques.
    """
    robot = robot if isinstance(robot, Robot) else load_robot(robot)
    if isinstance(engine, str):
        with closing(make_simulator(engine, robot)) as made:
            return simulate_drive(
                made, robot, law, reference, duration,
                start=start, encoder_counts=encoder_counts, torque_limit=torque_limit,
                torque_noise=torque_noise, torque_delay=torque_delay, seed=seed,
                period=period, on_sample=on_sample, on_command=on_command,
                like_nodes=like_nodes, floor=floor,
            )  # fmt: skip
    counts = robot.encoder.counts if encoder_counts is None else encoder_counts
    limit = robot.limits.traction if torque_limit is None else torque_limit
    engine.reset(start)
    encoders = Encoders(counts, period, seed)
    steps = periods_in("duration", duration, period)
    virtual = VirtualRobot(
        engine,
        Actuator(robot.limits.torque, torque_delay, torque_noise, seed, robot.drive.dead_band),
        encoders,
        period,
        floor=floor,
    )
    # Without a speed limit: the published law spins the wheels faster than encoders are trusted.
    feedback = WheelFeedback(robot.geometry, start, max_wheel_speed=math.inf)
    if isinstance(law, DrivetrainLaw):
        feedback.correct_by(law.drivetrain.first_reading())
    limiter = TorqueLimiter(limit, robot.limits.torque_rate)
    rows: list[tuple[float, ...]] = []
    sample = virtual.sample
    for _ in range(steps):
        sample = as_received(sample) if like_nodes else sample
        if on_sample is not None:
            on_sample(sample)
        reading = feedback.update(sample, limiter.torque)
        wanted = reference(sample.stamp)
        if reading.state is not None:
            dt = reading.dt if like_nodes else period
            limiter.apply(_pair(law.update(reading.state, wanted, dt)), dt)
        if on_command is not None:
            on_command(sample, limiter.torque)
        rows.append(
            (sample.stamp, *engine.pose(), *feedback.odometry.pose, *engine.velocity())
            + (*limiter.torque, wanted.x, wanted.y, wanted.theta)
        )
        sample = virtual.advance(limiter.torque)
    columns = np.array(rows)
    return DriveSamples(columns[:, 0], *np.split(columns[:, 1:], (3, 6, 8, 10), axis=1))


def _pair(torque: Torque) -> Torque:
    try:
        left, right = torque
    except (TypeError, ValueError):
        raise ValueError(
            f"the law returned {torque!r}: must be two torques [left, right] in N m"
        ) from None
    return left, right


# Defaults of the nodes' parameters `period` and `estimate_delay`, s.
ESTIMATE_PERIOD, ESTIMATE_DELAY = 0.2, 0.1
STAMP_ROUNDING = 1e-6  # tolerance of stamps, s


class LiveAdaptation:
    """The dynamics_estimator node and the gates of a controller; pass it as `on_sample`.

    Args:
        nominal: K5..K8 as known without adaptation.
        law: Control law that receives the parameters in use.
        also: Called first with each joint sample, for example to add a payload.
        settings: Settings of the estimator.
    """

    def __init__(
        self,
        robot: Robot,
        nominal: DynamicParameters,
        law: DrivetrainLaw,
        also: Callable[[JointSample], None] | None = None,
        settings: LiveSettings = LiveSettings(),  # noqa: B008  (frozen)
    ) -> None:
        self.adaptation = Adaptation(nominal, robot.geometry.half_track, AdaptationSettings())
        self._estimator = make_live_estimator(robot, self.adaptation.in_use, settings)
        self._law, self._dead_band = law, robot.drive.dead_band
        self._known = wheel_friction(robot)
        self.friction = FrictionAdaptation(
            friction_values(self._known), robot.limits.torque, robot.wheel_speed
        )
        self._also = also
        self._offers: deque[LiveEstimate] = deque()
        self._published = -ESTIMATE_PERIOD
        self._rows: list[tuple[float, ...]] = []

    def __call__(self, sample: JointSample) -> None:
        """Process a sample, and give the law the parameters that apply from its stamp on."""
        if self._also is not None:
            self._also(sample)
        self._estimator.update(sample.beyond(self._dead_band))
        if sample.stamp - self._published >= ESTIMATE_PERIOD - STAMP_ROUNDING:
            self._published = sample.stamp
            self._offers.append(offer_of(self._estimator.estimate(), sample.stamp))
        until = sample.stamp - ESTIMATE_DELAY + STAMP_ROUNDING
        while self._offers and self._offers[0].stamp <= until:
            offer = self._offers.popleft()
            refused = self.adaptation.judge(offer).refused
            self._law.dynamics = self.adaptation.in_use
            if not (refused or self._law.friction is None) and is_adaptable(self._known):
                self.friction.judge(
                    offer.friction, offer.friction_variances, self.adaptation.elapsed
                )
                self._law.friction = friction_laws(self._known, self.friction.in_use)
            self._rows.append(
                (offer.stamp, *self.adaptation.in_use, *offer.values, *offer.deviations, refused)
            )

    @property
    def rows(self) -> Array:
        """One row per judgement: stamp in s, K5..K8 in use, offered, std of the latter; refused."""
        return np.array(self._rows, dtype=float).reshape(-1, 14)


def offer_of(estimate: Estimate, stamp: float) -> LiveEstimate:
    """Convert an estimate to the form that the gates receive."""
    result = estimate.friction
    return LiveEstimate(
        stamp=stamp,
        values=estimate.values,
        variances=estimate.variances,
        estimated=estimate.state is EstimateState.ESTIMATED,
        reason=estimate.explanation,
        coverage=estimate.coverage,
        friction=(math.nan,) * 4 if result is None else result.values,
        friction_variances=(math.inf,) * 4 if result is None else result.variances,
    )

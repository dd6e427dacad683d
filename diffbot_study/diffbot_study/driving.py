# SPDX-License-Identifier: Apache-2.0
"""A torque-driven robot under a control law in one process, without a ROS graph.

`simulate_drive` is launch/backstepping.launch.xml: the same odometry, torque limits, actuators and
encoders as the nodes', for tests and benchmarks over many starts. With a `LiveAdaptation` it is
launch/adaptive.launch.xml. Law, estimator and gates know what the joint states say, never what is
true.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample
from diffbot_controllers import DynamicParameters, Reference, State, Torque
from diffbot_controllers.adaptation import Adaptation, AdaptationSettings, LiveEstimate
from diffbot_controllers.friction_adaptation import (
    FrictionAdaptation,
    friction_laws,
    friction_values,
)
from diffbot_controllers.laws.drivetrain import DrivetrainLaw
from diffbot_controllers.laws.friction import Laws
from diffbot_controllers.laws.motion import WheelFeedback
from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_description import Robot, load_robot, wheel_friction
from diffbot_ident.torque.estimate import Estimate, EstimateState
from diffbot_ident.torque.estimators import LiveSettings, make_live_estimator
from diffbot_node.command_guard import TorqueLimiter
from diffbot_sim.engines import make_simulator
from diffbot_sim.simulator import Simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot, periods_in

Array = NDArray[np.float64]

PERIOD = 0.01  # control period, s


class Law(Protocol):
    """A control law: your own, or one of diffbot_controllers made with mean_velocity=True."""

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right] in N m for the period of dt seconds that begins.

        Args:
            state: pose by odometry, and the mean velocity over the period that ends.
            reference: what the run's reference gives at this time.
            dt: control period, s.
        """


@dataclass(frozen=True)
class DriveSamples:
    """Samples of one run at the control instants, n of them.

    Attributes:
        time: s since the first joint state, shape (n,).
        pose: true x, y, theta, m and rad, shape (n, 3).
        odometry: the same as the law saw it, shape (n, 3).
        velocity: true v, omega, m/s and rad/s, shape (n, 2).
        torque: commanded for the period that begins, after all limits, [left, right], N m, (n, 2).
        reference: x, y, theta, m and rad, shape (n, 3).
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

    def chatter(self, limit: float, since: float = 0.0, above: float = 10.0) -> float:
        """Root mean square of the torque above a frequency, as a share of a limit.

        Args:
            limit: of a wheel's torque, N m.
            since: from this time on, s.
            above: Hz.
        """
        torque = self.torque[self.time >= since]
        spectrum = np.fft.rfft(torque, axis=0)
        spectrum[np.fft.rfftfreq(len(torque), self.time[1] - self.time[0]) <= above] = 0.0
        fast = np.fft.irfft(spectrum, len(torque), axis=0)
        return float(np.sqrt(np.mean(fast**2))) / limit

    def sign_changes(self, since: float) -> float:
        """How often a second the torque of the worse wheel turns round from a time (s) on."""
        late = self.torque[self.time >= since].T
        changes = [np.count_nonzero(np.diff(np.sign(wheel[wheel != 0.0]))) for wheel in late]
        return float(max(changes) / (self.time[-1] - since))

    @property
    def peak_speeds(self) -> Array:
        """Largest true |v| in m/s and |omega| in rad/s, shape (2,)."""
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
) -> DriveSamples:
    """Put the robot at rest at its start and drive it.

    The first joint state is answered with zero torque, as the nodes do: the time since the one
    before is not known.

    Args:
        engine: "ideal", "mujoco" or "gazebo"; or one that simulates this robot: it is reset.
        robot: its wheels, its limits and its encoders; or its name, or the path of its YAML.
        law: new or reset.
        reference: what the law gets at a time of the run, s.
        duration: s, one control period at least.
        start: true pose at the start, m, m, rad; odometry begins with it.
        encoder_counts: per wheel revolution; 0 for exact angles; None for the robot's own.
        torque_limit: that the node keeps to, N m; None for the robot's traction limit.
        torque_noise: standard deviation of the acting torque, as a share of it.
        torque_delay: of the motors, control periods.
        seed: of the encoders' phases and the noise.
        period: control period, s.
        on_sample: called with each joint sample before the law is asked, such as LiveAdaptation.

    Raises:
        ValueError: an argument is outside its range, there is no such robot or engine, or what the
            law gives is not two finite torques.
    """
    robot = robot if isinstance(robot, Robot) else load_robot(robot)
    if isinstance(engine, str):
        with closing(make_simulator(engine, robot)) as made:
            return simulate_drive(
                made, robot, law, reference, duration,
                start=start, encoder_counts=encoder_counts, torque_limit=torque_limit,
                torque_noise=torque_noise, torque_delay=torque_delay, seed=seed,
                period=period, on_sample=on_sample,
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
    )
    # The published law spins the wheels faster than any encoder would be believed.
    feedback = WheelFeedback(robot.geometry, start, max_wheel_speed=math.inf)
    if isinstance(law, DrivetrainLaw):
        feedback.correct_by(law.drivetrain.first_reading())
    limiter = TorqueLimiter(limit, robot.limits.torque_rate)
    rows: list[tuple[float, ...]] = []
    sample = virtual.sample
    for _ in range(steps):
        if on_sample is not None:
            on_sample(sample)
        state = feedback.update(sample, limiter.torque).state
        wanted = reference(sample.stamp)
        if state is not None:
            limiter.apply(_pair(law.update(state, wanted, period)), period)
        rows.append(
            (sample.stamp, *engine.pose(), *feedback.odometry.pose, *engine.velocity())
            + (*limiter.torque, wanted.x, wanted.y, wanted.theta)
        )
        sample = virtual.advance(limiter.torque)
    columns = np.array(rows)
    return DriveSamples(columns[:, 0], *np.split(columns[:, 1:], (3, 6, 8, 10), axis=1))


def _pair(torque: Torque) -> Torque:
    """What a law gave; ValueError where it is no pair."""
    try:
        left, right = torque
    except (TypeError, ValueError):
        raise ValueError(
            f"the law gave {torque!r}: must be two torques [left, right] in N m"
        ) from None
    return left, right


def dynamics_of(engine: Simulator) -> DynamicParameters:
    """True K5..K8 of the simulated robot, its payload included."""
    return engine.parameters()


# Live parameters.

# Defaults of the nodes' parameters `period` and `estimate_delay`, s.
ESTIMATE_PERIOD, ESTIMATE_DELAY = 0.2, 0.1
STAMP_ROUNDING = 1e-6  # s


class AdaptableLaw(Protocol):
    """A control law whose parameters may be replaced between two updates."""

    dynamics: DynamicParameters

    @property
    def friction(self) -> Laws | None:
        """Of the wheels; None: the law knows nothing of it."""

    @friction.setter
    def friction(self, laws: Laws) -> None: ...


class LiveAdaptation:
    """The dynamics_estimator node and the gates of a controller; give it as `on_sample`.

    Args:
        robot: that is driven.
        nominal: its K5..K8 as they are known without adaptation.
        law: gets the parameters in use.
        also: called with each joint sample first, such as what puts a payload on.
        settings: of the estimator.
    """

    def __init__(
        self,
        robot: Robot,
        nominal: DynamicParameters,
        law: AdaptableLaw,
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
        """Take a sample in, and give the law what counts from its stamp on."""
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
            if not refused and self._law.friction is not None:
                self.friction.judge(
                    offer.friction, offer.friction_variances, self.adaptation.elapsed
                )
                self._law.friction = friction_laws(self._known, self.friction.in_use)
            self._rows.append(
                (offer.stamp, *self.adaptation.in_use, *offer.values, *offer.deviations, refused)
            )

    @property
    def rows(self) -> Array:
        """One per judgement: stamp in s, K5..K8 in use, offered, and std of those; refused."""
        return np.array(self._rows, dtype=float).reshape(-1, 14)


def offer_of(estimate: Estimate, stamp: float) -> LiveEstimate:
    """An estimate as the gates get it."""
    found = estimate.friction
    return LiveEstimate(
        stamp=stamp,
        values=estimate.values,
        variances=estimate.variances,
        estimated=estimate.state is EstimateState.ESTIMATED,
        reason=estimate.reason,
        coverage=estimate.coverage,
        friction=(math.nan,) * 4 if found is None else found.values,
        friction_variances=(math.inf,) * 4 if found is None else found.variances,
    )

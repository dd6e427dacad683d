# SPDX-License-Identifier: Apache-2.0
"""Estimators by name, and the live estimator for a robot that is driven rather than excited.

Why it is held without excitation: docs/theory/integral_estimator.md#live-estimates.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.sample_check import SampleCheck
from diffbot_description import Robot
from diffbot_ident.estimate import Estimate, Estimator
from diffbot_ident.rls import PositionRegression, RlsEstimator, VelocityRegression
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.learning import MotionScale
from diffbot_ident.torque.regression import Prior

ESTIMATORS = ("integral", "rls")


def make_estimator(
    name: str,
    geometry: WheelGeometry,
    scale: MotionScale,
    *,
    window: float = 0.1,
    forgetting: float = 1.0,
    prior: Prior | None = None,
    velocity_source: str = "position",
    turning: bool = False,
    steady: bool = True,
) -> Estimator:
    """Return a new estimator that knows nothing but its prior.

        >>> from diffbot_description import load_robot
        >>> scale = MotionScale(0.5, 2.0, 0.4)
        >>> estimator = make_estimator("rls", load_robot("twil").geometry, scale)
        >>> estimator.estimate().explanation
        '0 of 100 samples; wait'

    Args:
        name: "integral" (windowed integral regressors with friction, recommended) or "rls" (Lages
            2017, for comparison), which supports only `velocity_source`.
        scale: Size of the expected motions and torques.
        window: Length of a window, s.
        forgetting: Factor on the weight of past data after each window, (0, 1].
        velocity_source: "position" (differences of angles) or "velocity" (as reported; rls only).
        turning: Whether to estimate a resistance against turning (skid steer).
        steady: Whether the samples are of one robot, see IntegralEstimator.

    Raises:
        ValueError: There is no such estimator, or it does not support an argument.
    """
    if name not in ESTIMATORS:
        raise ValueError(
            f"estimator = {name!r}: no such estimator; choose one of {', '.join(ESTIMATORS)}"
        )
    if name != "rls" and velocity_source != "position":
        raise ValueError(
            f"velocity_source = {velocity_source!r}: estimator {name} works on the wheels' angles; "
            "use position, or estimator rls"
        )
    if name != "integral" and forgetting != 1.0:
        raise ValueError(
            f"forgetting = {forgetting}: estimator {name} does not forget; use 1, or estimator "
            "integral"
        )
    if name == "rls":
        regression = PositionRegression if velocity_source == "position" else VelocityRegression
        return RlsEstimator(regression(geometry))
    return IntegralEstimator(
        geometry,
        scale,
        window=window,
        forgetting=forgetting,
        prior=prior,
        turning=turning,
        steady=steady,
    )


@dataclass(frozen=True)
class LiveSettings:
    """Settings of a live estimator, each > 0.

    Attributes:
        memory: Robot time in which past data lose 63 % of their weight, s.
        window: Length of a window, s.
        spread: Relative standard deviations of the prior around the nominal K5..K8.
        friction_spread: Those of the described friction; at least KNOWN_FRICTION, or
            UNKNOWN_FRICTION if none is described.
        velocity, yaw_rate: Size of motions that count as excitation, m/s and rad/s.
        torque: Size of one wheel's torque that counts, as a share of limits.traction.
        acceleration, yaw_acceleration: rms of dv/dt, m/s^2, and domega/dt, rad/s^2, over 2.5 s
            below which nothing is learnt.
    """

    memory: float = 2.5
    window: float = 0.1
    spread: float = 0.5
    friction_spread: float = 0.1
    velocity: float = 0.3
    yaw_rate: float = 1.0
    torque: float = 0.02
    acceleration: float = 0.02
    yaw_acceleration: float = 0.03


# Least deviation of described, and undescribed, friction over limits.traction (viscous: per rad/s).
KNOWN_FRICTION, UNKNOWN_FRICTION = 3e-4, 0.05
# Time over which a speed is averaged, s: an encoder of 4096 counts then resolves 0.2 mm/s.
SPEED_TIME = 0.25
# Averages are compared with those SPEED_LAG before; the last COMPARISONS count.
SPEED_LAG, COMPARISONS = 2, 8


class ExcitationMonitor:
    """Root mean squares of dv/dt and domega/dt over the last 2.5 s, from the wheels' angles.

    `acceleration`, m/s^2, and `yaw_acceleration`, rad/s^2, > 0, are the least that excites.
    """

    def __init__(
        self, geometry: WheelGeometry, acceleration: float, yaw_acceleration: float
    ) -> None:
        self._geometry = geometry
        self._least = (acceleration, yaw_acceleration)
        self._check = SampleCheck()
        self.reset()

    def reset(self) -> None:
        self._check.reset()
        self._last: JointSample | None = None
        self._begin = 0.0
        self._turned = [0.0, 0.0]
        self._speeds: deque[tuple[float, float]] = deque(maxlen=SPEED_LAG)
        self._squares: deque[tuple[float, float]] = deque(maxlen=COMPARISONS)

    def update(self, sample: JointSample) -> None:
        """Process a sample.

        Raises:
            ValueError: After a pause, a step back in time, or a jump of an encoder: the motion
                restarts with this sample. Also for absurd values: the state is unchanged.
        """
        self._check.values(sample)
        try:
            self._check.follows(sample)
        except ValueError:
            self.reset()
            self._check.follows(sample)
            self._last, self._begin = sample, sample.stamp
            raise
        last, self._last = self._last, sample
        if last is None:
            self._begin = sample.stamp
            return
        for i in (0, 1):
            change = sample.position[i] - last.position[i]
            self._turned[i] += math.remainder(change, math.tau)
        if sample.stamp - self._begin >= SPEED_TIME - 1e-6:
            self._end_batch(sample.stamp - self._begin)
            self._begin, self._turned = sample.stamp, [0.0, 0.0]

    def _end_batch(self, span: float) -> None:
        v, omega = self._geometry.body_velocity(*(angle / span for angle in self._turned))
        if len(self._speeds) == SPEED_LAG:
            before_v, before_omega = self._speeds[0]
            time = SPEED_LAG * span
            self._squares.append(
                (((v - before_v) / time) ** 2, ((omega - before_omega) / time) ** 2)
            )
        self._speeds.append((v, omega))

    def lacks(self) -> str | None:
        """Return what the motion lacks; None when both speeds change enough."""
        if not self._squares:
            return "too short a motion"
        for i, (name, unit) in enumerate((("speed", "m/s^2"), ("yaw rate", "rad/s^2"))):
            rms = math.sqrt(sum(square[i] for square in self._squares) / len(self._squares))
            if not rms >= self._least[i]:
                return (
                    f"too little change of {name}: {rms:.2g} {unit} rms, limit {self._least[i]:g}"
                )
        return None


class LiveEstimator:
    """An estimator that is held while the motion does not excite the robot.

        >>> from diffbot_description import closed_form, load_robot
        >>> robot = load_robot("twil")
        >>> estimate = make_live_estimator(robot, closed_form(robot.model)).estimate()
        >>> estimate.warnings[-1]
        'held as it was: too short a motion'

    The gears' losses of torque, [left, right] shares, are taken off: the friction is without load.
    """

    def __init__(
        self,
        estimator: Estimator,
        monitor: ExcitationMonitor,
        gear_loss: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        self._estimator = estimator
        self._monitor = monitor
        self._gear_loss = gear_loss
        self._angles: tuple[float, float] | None = None
        self._stuck = True

    def update(self, sample: JointSample) -> bool:
        try:
            self._monitor.update(sample)
        except ValueError:
            self._stuck, self._angles = True, None
            raise
        sample = self._behind_gears(sample)
        stuck, self._stuck = self._stuck, self._monitor.lacks() is not None
        if self._stuck:
            return False
        try:
            return self._estimator.update(sample)
        except ValueError:
            # The first sample after a hold follows a gap.
            if stuck:
                return False
            raise

    def _behind_gears(self, sample: JointSample) -> JointSample:
        before, self._angles = self._angles, sample.position
        if before is None or not any(self._gear_loss):
            return sample
        left, right = (
            torque - loss * abs(torque) * float(np.sign(math.remainder(now - last, math.tau)))
            for torque, loss, now, last in zip(
                sample.effort, self._gear_loss, sample.position, before, strict=True
            )
        )
        return replace(sample, effort=(left, right))

    def estimate(self) -> Estimate:
        """Return the estimate; while it is held, with a warning and a coverage of 0."""
        estimate = self._estimator.estimate()
        if not self._stuck:
            return estimate
        why = f"held as it was: {self._monitor.lacks()}"
        return replace(estimate, warnings=(*estimate.warnings, why), coverage=(0.0, 0.0, 0.0, 0.0))


def make_live_estimator(
    robot: Robot,
    nominal: Sequence[float],
    settings: LiveSettings = LiveSettings(),
) -> LiveEstimator:
    """Return an integral estimator that falls back to the nominal parameters as it forgets.

        >>> from diffbot_description import closed_form, load_robot
        >>> robot = load_robot("twil")
        >>> make_live_estimator(robot, closed_form(robot.model)).estimate().coverage
        (0.0, 0.0, 0.0, 0.0)

    `nominal` are K5..K8 of the robot's description, or the last good ones.
    """
    k5, k6, k7, k8 = nominal
    largest = robot.limits.traction
    friction = (*robot.friction.viscous, *robot.friction.coulomb)
    least = (KNOWN_FRICTION if any(friction) else UNKNOWN_FRICTION) * largest
    c_left, c_right, f_left, f_right = (max(settings.friction_spread * f, least) for f in friction)
    estimator = make_estimator(
        "integral",
        robot.geometry,
        MotionScale(settings.velocity, settings.yaw_rate, settings.torque * largest),
        window=settings.window,
        forgetting=math.exp(-settings.window / settings.memory),
        prior=Prior(
            values=(k5, k6, k7, k8),
            relative=(settings.spread,) * 4,
            friction=friction,
            friction_std=(c_left, c_right, f_left, f_right),
        ),
        turning=robot.turning is not None,
    )
    monitor = ExcitationMonitor(robot.geometry, settings.acceleration, settings.yaw_acceleration)
    return LiveEstimator(estimator, monitor, robot.friction.gear_loss)

"""Extended Kalman filter on the wheels' angles that finds K5..K8 and the friction as it goes.

An integral estimator runs along: the filter starts from its values, since a linearised filter
needs to be near the truth, and leaves to it the delay, the coverage and the wiring. Where readings
do not fit the motion the filter leaves them out, and starts again after several.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.coverage import MotionScale
from diffbot_ident.estimate import Estimate, Friction, State
from diffbot_ident.integral_estimator import FLOOR, IntegralEstimator, Prior
from diffbot_ident.integral_rows import DELAYS, Array
from diffbot_ident.judgement import conclude
from diffbot_ident.kalman_filter import KalmanFilter

# Samples before the first start, and between two attempts to start. Starts after 200 samples left
# K8 up to 9 stated standard deviations off with 5 % torque noise.
LEARN, ATTEMPT = 500, 50
# The start's covariance counts several times: its correlations are left out.
START_INFLATION = 9.0
# Readings in a row that did not fit after which the filter starts again.
MOST_SKIPPED = 10
# Samples without a change of either angle after which the robot is parked and teaches nothing.
PARKED = 20
# Changes of an angle below this are rounding, rad.
ROUNDING = 1e-9


class KalmanEstimator:
    """Estimates K5..K8 and the wheels' friction from joint samples.

    Args:
        geometry: of the wheels.
        scale: of the motions and torques to expect.
        prior: what is known beforehand.
        resolution: of the encoders, rad; None: the smallest change of an angle so far.
        min_samples: fewer tell nothing.

    Attributes:
        skipped: readings that were left out.
        restarts: how often the filter started again.

    Raises:
        ValueError: the resolution is not finite or negative.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale,
        prior: Prior | None = None,
        resolution: float | None = None,
        min_samples: int = 100,
    ) -> None:
        if resolution is not None and not (math.isfinite(resolution) and resolution >= 0.0):
            raise ValueError(
                f"resolution = {resolution} rad: must be finite and >= 0; 2 pi / counts per turn"
            )
        self._geometry = geometry
        self._scale = scale
        self._given_resolution = resolution
        self._min_samples = min_samples
        self._companion = IntegralEstimator(geometry, scale, prior=prior, min_samples=min_samples)
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._companion.reset()
        self.filter: KalmanFilter | None = None
        self._resolution = math.inf if self._given_resolution is None else self._given_resolution
        self._samples = self._delay = 0
        self.skipped = self.restarts = 0
        self._interrupt()

    def _interrupt(self) -> None:
        """The next sample does not follow those before."""
        self._last: JointSample | None = None
        self._torques: deque[tuple[float, float]] = deque(maxlen=DELAYS)
        self._placed = False
        self._still = self._in_a_row = 0

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""
        return self._companion.velocity

    def update(self, sample: JointSample) -> bool:
        """Take in one joint sample; see Estimator.update."""
        try:
            self._companion.update(sample)
        except ValueError:
            self._interrupt()
            raise
        self._samples += 1
        last, self._last = self._last, sample
        self._torques.append(sample.effort)
        if last is None:
            return False
        turned = [
            math.remainder(now - before, math.tau)
            for now, before in zip(sample.position, last.position, strict=True)
        ]
        self._still = 0 if any(turned) else self._still + 1
        if self._given_resolution is None:
            changes = [abs(t) for t in turned if abs(t) > ROUNDING]
            self._resolution = min(self._resolution, *changes, math.inf)
        if self.filter is None and self._samples >= LEARN and self._samples % ATTEMPT == 0:
            self._start()
        if self.filter is None:
            return False
        return self._follow(np.array(turned), sample.stamp - last.stamp)

    def suspicion(self) -> str:
        """The companion's; see Estimator.suspicion."""
        return self._companion.suspicion()

    def _start(self) -> None:
        """Take over the companion's values once it is sure of K7 and K8."""
        found = self._companion.estimate()
        sure = all(state is State.ESTIMATED for state in found.parameter_states[2:])
        if not sure or found.friction is None:
            return
        self._delay = 0 if math.isnan(found.delay) else round(found.delay)
        b, torque = self._geometry.half_track, self._scale.torque
        viscous = torque * self._geometry.left_radius / self._scale.velocity
        # Where little is known, the size of what robots have.
        size = np.array([b, 1.0 / b, *map(abs, found.values[2:]), viscous, viscous, torque, torque])
        covariance = np.zeros((8, 8))
        # K5 K8 = b K6 K7 leaves the companion's covariance without an inverse, which rounding
        # would make indefinite here: what stands for discretisation holds across it, too.
        floor = np.diag(np.square(FLOOR * np.array(found.values)))
        covariance[:4, :4] = found.covariance + floor
        covariance[4:, 4:] = np.diag(found.friction.variances)
        shrink = np.minimum(1.0, size / np.sqrt(np.diag(covariance)))
        covariance = START_INFLATION * covariance * np.outer(shrink, shrink)
        theta = np.array((*found.values, *found.friction.values))
        self.filter = KalmanFilter(self._geometry, torque, theta, covariance)
        self._placed = False

    def _follow(self, turned: Array, period: float) -> bool:
        """Let the filter learn from a period unless the robot is parked."""
        if self._still > PARKED or len(self._torques) <= self._delay:
            self._placed = False
            return False
        if not self._placed:
            self.filter.place(turned, period, self._resolution)
            self._placed = True
            return False
        torque = self._torques[-1 - self._delay]
        if self.filter.follow(turned, torque, period, self._resolution):
            self._in_a_row = 0
            return True
        self.skipped += 1
        self._in_a_row += 1
        self._placed = False
        if self._in_a_row >= MOST_SKIPPED:
            self.restarts += 1
            self.filter, self._in_a_row = None, 0
        return False

    def estimate(self) -> Estimate:
        """The estimate as it stands; the companion's until the filter has started."""
        companion = self._companion.estimate()
        warnings = (*companion.warnings, *self._warnings())
        if self.filter is None:
            return replace(companion, warnings=warnings)
        theta, variances = self.filter.state[4:], self.filter.covariance.diagonal()[4:]
        values, covariance, found = conclude(
            theta[:4],
            self.filter.covariance[4:8, 4:8] + np.diag((FLOOR * theta[:4]) ** 2),
            self._geometry.half_track,
            companion.reason if companion.state is State.INVALID else "",
            self._samples,
            self._min_samples,
        )
        return replace(
            companion,
            values=tuple(values.tolist()),
            covariance=tuple(map(tuple, covariance.tolist())),
            parameter_states=found.parameter_states,
            parameter_reasons=found.parameter_reasons,
            state=found.state,
            reason=found.reason,
            warnings=warnings,
            residual_std=tuple(np.sqrt(self.filter.errors).tolist()),
            friction=Friction(tuple(theta[4:].tolist()), tuple(variances[4:].tolist())),
        )

    def _warnings(self) -> list[str]:
        if not self.skipped:
            return []
        return [
            f"{self.skipped} readings did not fit the motion and were left out, {self.restarts} "
            "restarts; check the encoders for jumps and the torques for what really acts"
        ]

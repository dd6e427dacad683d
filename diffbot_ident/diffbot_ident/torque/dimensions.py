# SPDX-License-Identifier: Apache-2.0
"""What K5..K8 owe to wheel radius and track, with a gyro and without.

Wheels tell angles, not metres. With r, b of the robot's file, r_t, b_t of the robot (b half the
track), rho = r / r_t and beta = b / b_t, the file's odometry reads v' = rho v and
omega' = (rho / beta) omega. Put into (41) of Lages (2017), what is identified from it is

    K5' = K5 beta^2 / rho,   K6' = K6 / rho,   K7' = K7 rho,   K8' = K8 rho / beta.

K6 and K7 hang on the radius alone, K5 and K8 on the track too; K5' K8' = b K6' K7' holds whatever
r and b are, so that no such check finds them wrong. Friction is one of wheels' speeds and torques:
it owes nothing to either.

A gyro gives omega itself, that is gamma = omega / omega' = beta / rho (yaw_gyro). With omega from
it, and v from the wheels,

    K5'' = K5' / gamma^2 = K5 rho,   K6'' = K6 / rho,   K7'' = K7 rho,   K8'' = K8' gamma = K8:

the track has gone, and the radius from K8. That is an estimate with the track b / gamma, "effective
track", which wheels that slip sideways have, too. Rates of the gyro are not put into the rows: the
encoders' are far less noisy, and only their scale is in doubt.

Small errors, with eps_r and eps_b the shares by which radius and track are larger than in the file:

    dK5 / K5 = -eps_r + 2 eps_b,  dK6 / K6 = -eps_r,  dK7 / K7 = eps_r,  dK8 / K8 = eps_r - eps_b,

and with the gyro eps_b = eps_r + (error of gamma, and of the gyro's own scale).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_description.robot import Uncertainty
from diffbot_ident.torque.estimate import (
    NAMES,
    NORMAL_95,
    Estimate,
    EstimateState,
    Estimator,
    Four,
    GyroFit,
)
from diffbot_ident.torque.judgement import MAX_HALF_WIDTH
from diffbot_ident.torque.yaw_gyro import GyroError, YawGyro

# Shares of K5..K8 by which they change with radius and track.
BY_RADIUS = np.array([-1.0, -1.0, 1.0, 1.0])
BY_TRACK = np.array([2.0, 0.0, 0.0, -1.0])
# Beyond so many standard deviations, and this share, a difference from the robot's file is named.
SURE_STDS, NOTABLE = 3.0, 0.005
PERCENT = 0.01
EXACT = Uncertainty()


def effective_track(fit: GyroFit, geometry: WheelGeometry) -> float:
    """Track (m) with which the file's radius gives the gyro's yaw rate."""
    return geometry.separation / fit.scale


def with_gyro(estimate: Estimate, fit: GyroFit) -> Estimate:
    """An estimate by the wheels alone as it is with the gyro's yaw rate; values and covariance."""
    factors = np.array([fit.scale**-2, 1.0, 1.0, fit.scale])
    v, omega = estimate.residual_std
    scaled = estimate.with_values(
        factors * estimate.values, factors[:, None] * np.array(estimate.covariance) * factors
    )
    return replace(scaled, residual_std=(v, omega * abs(fit.scale)), gyro=fit)


def as_wheels_see(estimate: Estimate) -> Four:
    """K5..K8 that predict the odometry of the file's radius and track, undoing `with_gyro`."""
    if estimate.gyro is None:
        return estimate.values
    k5, k6, k7, k8 = estimate.values
    return k5 * estimate.gyro.scale**2, k6, k7, k8 / estimate.gyro.scale


def widened(estimate: Estimate, uncertainty: Uncertainty) -> Estimate:
    """An estimate whose covariance knows what radius, track and gyro leave uncertain.

    It is no longer ESTIMATED where K7 or K8 are too uncertain by that.
    """
    radius, track = PERCENT * uncertainty.radius, PERCENT * uncertainty.track
    by_radius = BY_RADIUS
    if estimate.gyro is not None:
        fit = estimate.gyro
        track = math.hypot(PERCENT * uncertainty.gyro, fit.scale_std / fit.scale)
        by_radius = BY_RADIUS + BY_TRACK
    if radius == 0.0 and track == 0.0:
        return estimate
    values = np.array(estimate.values)
    columns = np.column_stack((values * by_radius * radius, values * BY_TRACK * track))
    found = estimate.with_values(values, np.array(estimate.covariance) + columns @ columns.T)
    if found.state is not EstimateState.ESTIMATED:
        return found
    for i in (2, 3):
        half = NORMAL_95 * math.sqrt(found.covariance[i][i])
        if half > MAX_HALF_WIDTH * abs(values[i]):
            return replace(
                found,
                state=EstimateState.UNESTIMATED,
                reason=f"{NAMES[i].upper()} = {values[i]:.4g} +- {half:.2g} is not precise enough: "
                "uncertainty in the robot's file leaves that; measure radius and track better "
                "(diffbot calibrate), or use a gyro for the track",
            )
    return found


class DimensionedEstimator:
    """An estimator whose K5..K8 know of radius and track, and take the yaw rate from a gyro.

    With a gyro that is not what it should be the estimate is INVALID, and says why; before the
    robot has turned enough to compare it, UNESTIMATED. Without a gyro and with uncertainties of 0
    it is the inner estimator's estimate.

    Args:
        estimator: by the wheels alone.
        geometry: of the wheels, as the estimator has it.
        uncertainty: of radius, track and the gyro's scale.
        gyro: gets the joint samples from here, its readings by `YawGyro.add`; None: there is none.
    """

    def __init__(
        self,
        estimator: Estimator,
        geometry: WheelGeometry,
        uncertainty: Uncertainty = EXACT,
        gyro: YawGyro | None = None,
    ) -> None:
        self._estimator = estimator
        self._geometry = geometry
        self._uncertainty = uncertainty
        self._gyro = gyro

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity by the wheels; see Estimator.velocity."""
        return self._estimator.velocity

    def reset(self) -> None:
        """Forget everything."""
        self._estimator.reset()
        if self._gyro is not None:
            self._gyro.reset()

    def update(self, sample: JointSample) -> bool:
        """Take in one joint sample; see Estimator.update."""
        try:
            changed = self._estimator.update(sample)
        except ValueError:
            if self._gyro is not None:
                self._gyro.interrupt()
            raise
        if self._gyro is not None:
            self._gyro.add_wheels(sample)
        return changed

    def interrupt(self) -> None:
        """See Estimator.interrupt."""
        self._estimator.interrupt()
        if self._gyro is not None:
            self._gyro.interrupt()

    def suspicion(self) -> str | None:
        """See Estimator.suspicion."""
        return self._estimator.suspicion()

    def estimate(self) -> Estimate:
        """The estimate as it stands."""
        found = self._estimator.estimate()
        if self._gyro is not None and found.state is not EstimateState.INVALID:
            try:
                fit = self._gyro.fit()
            except GyroError as error:
                return found.as_a_whole(EstimateState.INVALID, f"{error}; or go without it")
            if fit is None:
                if found.state is EstimateState.UNESTIMATED:
                    return found
                why = "the robot has not turned enough to compare the gyro with the wheels; wait"
                return found.as_a_whole(EstimateState.UNESTIMATED, why)
            found = with_gyro(found, fit)
        found = widened(found, self._uncertainty)
        if found.state is not EstimateState.ESTIMATED:
            return found
        remarks = self._remarks(found.gyro)
        return replace(found, warnings=(*found.warnings, *remarks)) if remarks else found

    def _remarks(self, fit: GyroFit | None) -> list[str]:
        """What the values rest on, and where the gyro contradicts the robot's file."""
        doubt = self._uncertainty
        if fit is None:
            if doubt.radius == 0.0 and doubt.track == 0.0:
                return []
            return [
                "the intervals of K5 to K8 include standard deviations (robot file) of "
                f"{doubt.radius:g} % of the radius and {doubt.track:g} % of the track"
            ]
        track, file = effective_track(fit, self._geometry), self._geometry.separation
        doubtful = math.hypot(fit.scale_std / fit.scale, PERCENT * doubt.gyro)
        found = [
            f"K5 and K8 rest on the gyro's yaw rate: with the file's radius the track is "
            f"{track:.4g} m +- {NORMAL_95 * doubtful * track:.2g} m; the intervals include "
            f"standard deviations of {doubt.radius:g} % of the radius and {doubt.gyro:g} % of the "
            "gyro's scale (robot file)"
        ]
        if abs(track / file - 1.0) > max(SURE_STDS * doubtful, NOTABLE):
            size, side = 100.0 * abs(file / track - 1.0), "small" if track > file else "large"
            found.append(
                f"wheels.separation = {file:g} m in the robot's file is {size:.1f} % too {side} by "
                "the gyro: K5 and K8 hold for odometry with the corrected track, as in the "
                "identified robot's file"
            )
        uneven, std = fit.radius_difference, fit.radius_difference_std
        if abs(uneven) > max(SURE_STDS * std, NOTABLE):
            share = f"{100.0 * abs(uneven):.1f} % {'larger' if uneven > 0.0 else 'smaller'}"
            found.append(
                f"the right wheel is {share} than the left one by the gyro; calibrate (diffbot "
                "calibrate)"
            )
        return found


def wants_dimensions(uncertainty: Uncertainty, *, gyro: bool) -> bool:
    """Whether an estimator has to be told of radius, track and gyro at all."""
    return gyro or uncertainty.radius > 0.0 or uncertainty.track > 0.0

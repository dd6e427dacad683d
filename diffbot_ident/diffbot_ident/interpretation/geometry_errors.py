# SPDX-License-Identifier: Apache-2.0
"""Dependence of K5..K8 on wheel radius and track, with a gyro and without.

With eps_r and eps_b the shares by which radius and track exceed the file's:

    dK5 / K5 = -eps_r + 2 eps_b,  dK6 / K6 = -eps_r,  dK7 / K7 = eps_r,  dK8 / K8 = eps_r - eps_b

With a gyro eps_b = eps_r + its error of scale; docs/theory/estimates.md#radius-track-and-gyro.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_description.robot import Uncertainty
from diffbot_ident.estimate import (
    NAMES,
    NORMAL_95,
    Advice,
    Estimate,
    EstimateState,
    Estimator,
    Four,
    GyroFit,
)
from diffbot_ident.interpretation.yaw_gyro import GyroError, YawGyro
from diffbot_ident.torque.judgement import MAX_HALF_WIDTH

# Relative changes of K5..K8 per relative change of radius and of track.
BY_RADIUS = np.array([-1.0, -1.0, 1.0, 1.0])
BY_TRACK = np.array([2.0, 0.0, 0.0, -1.0])
# A difference from the file is reported beyond so many deviations and this share.
SIGNIFICANT_STDS, NOTABLE = 3.0, 0.005
PERCENT = 0.01
EXACT = Uncertainty()


def effective_track(fit: GyroFit, geometry: WheelGeometry) -> float:
    """Return the track (m) that gives the gyro's yaw rate with the file's radius."""
    return geometry.separation / fit.scale


def with_gyro(estimate: Estimate, fit: GyroFit) -> Estimate:
    """Convert an estimate from the wheels alone to the gyro's yaw rate."""
    factors = np.array([fit.scale**-2, 1.0, 1.0, fit.scale])
    v, omega = estimate.residual_std
    scaled = estimate.with_values(
        factors * estimate.values, factors[:, None] * np.array(estimate.covariance) * factors
    )
    return replace(scaled, residual_std=(v, omega * abs(fit.scale)), gyro=fit)


def as_wheels_see(estimate: Estimate) -> Four:
    """Return K5..K8 that predict the odometry of the file's radius and track: undo `with_gyro`."""
    if estimate.gyro is None:
        return estimate.values
    k5, k6, k7, k8 = estimate.values
    return k5 * estimate.gyro.scale**2, k6, k7, k8 / estimate.gyro.scale


def widened(estimate: Estimate, uncertainty: Uncertainty) -> Estimate:
    """Return an estimate that includes the uncertainty of radius, track and gyro.

    It is no longer ESTIMATED if K7 or K8 are too uncertain then.
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
    result = estimate.with_values(values, np.array(estimate.covariance) + columns @ columns.T)
    if result.state is not EstimateState.ESTIMATED:
        return result
    for i in (2, 3):
        half = NORMAL_95 * math.sqrt(result.covariance[i][i])
        if half > MAX_HALF_WIDTH * abs(values[i]):
            return replace(
                result,
                state=EstimateState.UNESTIMATED,
                reason=f"{NAMES[i].upper()} = {values[i]:.4g} +- {half:.2g} is not precise "
                "enough because of the uncertainty in the robot's file; measure radius "
                "and track better (diffbot calibrate), or use a gyro for the track",
            )
    return result


class DimensionedEstimator:
    """An estimator that includes the uncertainty of radius and track, and may use a gyro.

    With a faulty gyro the estimate is INVALID; before the robot has turned enough it is
    UNESTIMATED. The gyro gets the joint samples from here, its readings by `YawGyro.add`.
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
        return self._estimator.velocity

    def update(self, sample: JointSample) -> bool:
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
        self._estimator.interrupt()
        if self._gyro is not None:
            self._gyro.interrupt()

    def suspicion(self) -> str | None:
        return self._estimator.suspicion()

    def estimate(self) -> Estimate:
        gyro = self._estimator.estimate()
        if self._gyro is not None and gyro.state is not EstimateState.INVALID:
            try:
                fit = self._gyro.fit()
            except GyroError as error:
                return gyro.as_a_whole(EstimateState.INVALID, f"{error}; or do not use the gyro")
            if fit is None:
                if gyro.state is EstimateState.UNESTIMATED:
                    return gyro
                why = "the robot has not turned enough to compare the gyro with the wheels"
                return gyro.as_a_whole(EstimateState.UNESTIMATED, why, Advice.WAIT)
            gyro = with_gyro(gyro, fit)
        gyro = widened(gyro, self._uncertainty)
        if gyro.state is not EstimateState.ESTIMATED:
            return gyro
        remarks = self._remarks(gyro.gyro)
        return replace(gyro, warnings=(*gyro.warnings, *remarks)) if remarks else gyro

    def _remarks(self, fit: GyroFit | None) -> list[str]:
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
        results = [
            f"K5 and K8 rest on the gyro's yaw rate: with the file's radius the track is "
            f"{track:.4g} m +- {NORMAL_95 * doubtful * track:.2g} m; the intervals include "
            f"standard deviations of {doubt.radius:g} % of the radius and {doubt.gyro:g} % of the "
            "gyro's scale (robot file)"
        ]
        if abs(track / file - 1.0) > max(SIGNIFICANT_STDS * doubtful, NOTABLE):
            size, side = 100.0 * abs(file / track - 1.0), "small" if track > file else "large"
            results.append(
                f"wheels.separation = {file:g} m in the robot's file is {size:.1f} % too {side} by "
                "the gyro: K5 and K8 hold for odometry with the corrected track, as in the "
                "identified robot's file"
            )
        uneven, std = fit.radius_difference, fit.radius_difference_std
        if abs(uneven) > max(SIGNIFICANT_STDS * std, NOTABLE):
            fraction = f"{100.0 * abs(uneven):.1f} % {'larger' if uneven > 0.0 else 'smaller'}"
            results.append(
                f"the right wheel is {fraction} than the left one by the gyro; calibrate (diffbot "
                "calibrate)"
            )
        return results


def wants_dimensions(uncertainty: Uncertainty, *, gyro: bool) -> bool:
    """Whether a DimensionedEstimator is needed for radius, track and gyro at all."""
    return gyro or uncertainty.radius > 0.0 or uncertainty.track > 0.0

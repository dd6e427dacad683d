# SPDX-License-Identifier: Apache-2.0
"""Settings of the velocity tracker for a robot: what is known of it, its limits, its estimator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from arc_odometry import UNLIMITED_RIMS, MotionLimits, Velocity
from diffbot_controllers.laws.polar_approach import DIRECTIONS
from diffbot_controllers.velocity_tracking.dead_band_compensation import BandPair
from diffbot_controllers.velocity_tracking.law import (
    KinematicGains,
    TrackerSettings,
    VelocityTracker,
)
from diffbot_description import Sigma, load_robot
from diffbot_description.dead_band import DeadBand, DeadBandKind
from diffbot_description.velocity_parameters import IdentifiedSigma, read_sigma, sigma_from
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings
from diffbot_node.parameter_fields import SpeedLimitParameters, parameter

FROM_PARAMETER = "sigma"
NO_ROBOT = "none"
DEFAULTS = TrackerSettings()


@dataclass(frozen=True)
class TrackerParameters(SpeedLimitParameters):
    """Parameters of the tracker, and of what it knows of its robot."""

    robot: str = parameter(
        NO_ROBOT,
        "robot of the suite, or a robot's YAML, URDF or xacro file, whose limits of velocity and "
        "wheels the commands keep to; none: those of linear_velocity and angular_velocity alone",
    )
    parameters: str = parameter(
        FROM_PARAMETER,
        "sigma of the robot: 'sigma' (the parameter of that name), or the path of a "
        "velocity_parameters.yaml, which holds dead times, dead bands and limits of acceleration "
        "too",
    )
    sigma: tuple[float, ...] = parameter(
        (), "sigma1 in s, sigma2 in s, sigma3, sigma4 of the robot; each > 0", above=0.0
    )
    adaptive: bool = parameter(
        False, "whether sigma is identified while driving, starting from the given one"
    )
    direction: str = parameter(
        DEFAULTS.direction,
        "direction in which the robot arrives at a set point",
        choices=tuple(DIRECTIONS),
    )
    damping: float = parameter(DEFAULTS.gains.damping, "epsilon of (11)", above=0.0, maximum=10.0)
    b: float = parameter(DEFAULTS.gains.b, "b of (11), 1/m^2", above=0.0)
    k_v: float = parameter(DEFAULTS.k_v, "k_v of (12), 1/s", above=0.0)
    k_w: float = parameter(DEFAULTS.k_w, "k_omega of (12), 1/s", above=0.0)
    dead_time: float = parameter(
        -1.0,
        "time from a command to its effect, s; negative: that of the file of `parameters`, else "
        "identified while driving if adaptive, else 0",
        maximum=1.0,
    )
    dead_band: tuple[float, ...] = parameter(
        (-1.0, -1.0),
        "largest commands of [v, omega] that do not move the robot, m/s, rad/s, below the largest "
        "commanded; negative: that of the file of `parameters`, else 0, none",
        maximum=10.0,
    )
    dead_band_kind: str = parameter(
        DeadBandKind.OFFSET.value,
        "effect on larger commands if dead_band is given: offset (the dead band is subtracted), "
        "threshold (none)",
        choices=tuple(kind.value for kind in DeadBandKind),
    )
    linear_acceleration: float = parameter(
        0.0,
        "largest |dv/dt| of the law, m/s^2; 0: limits.linear_acceleration of robot, if any",
        minimum=0.0,
    )
    angular_acceleration: float = parameter(
        0.0,
        "largest |domega/dt| of the law, rad/s^2; 0: limits.angular_acceleration of robot, if any",
        minimum=0.0,
    )


def identified(values: TrackerParameters) -> IdentifiedSigma:
    """Return the robot's properties given by the parameters.

    Raises:
        ValueError: sigma is missing or is not that of a robot, or the file cannot be used.
    """
    if values.parameters != FROM_PARAMETER:
        return read_sigma(values.parameters)
    try:
        return IdentifiedSigma(sigma_from(values.sigma))
    except ValueError as error:
        raise ValueError(
            f"parameter 'sigma': {error}; give sigma, or the file of identified ones as parameters"
        ) from None


def motion_limits(values: TrackerParameters) -> MotionLimits:
    """Return the limits of commands: those of the parameters, and of the robot if there is one.

    Raises:
        ValueError: Its file is wrong, a parameter exceeds its limit, or there is neither.
    """
    v, omega, rims = values.linear_velocity, values.angular_velocity, UNLIMITED_RIMS
    dv, domega = values.linear_acceleration or math.inf, values.angular_acceleration or math.inf
    if values.robot != NO_ROBOT:
        robot = load_robot(values.robot)
        v, omega = robot.speed_limits(v, omega)
        rims = robot.rim_limit
        dv, domega = robot.acceleration_limits(
            values.linear_acceleration, values.angular_acceleration
        )
    elif not (v and omega):
        raise ValueError(
            f"parameters 'linear_velocity' = {v} m/s and 'angular_velocity' = {omega} rad/s: must "
            "be > 0 without a robot; give robot, whose limits are then used, or both"
        )
    return MotionLimits(
        # The wheels bound v and omega alone; a larger limit could never be reached.
        min(v, rims.speed),
        min(omega, rims.turning(0.0)),
        dv,
        domega,
        rims,
    )


def known_dead_time(
    values: TrackerParameters, known: IdentifiedSigma
) -> tuple[float, float] | None:
    """Return the given dead times of v and omega, s; None: not known."""
    if values.dead_time >= 0.0:
        return values.dead_time, values.dead_time
    return known.dead_time


def tracker_settings(
    values: TrackerParameters, known: IdentifiedSigma, longest_gap: float
) -> TrackerSettings:
    """Return the settings of the tracker; `longest_gap` between two samples, s."""
    if len(values.dead_band) != 2:
        raise ValueError(f"parameter 'dead_band' = {list(values.dead_band)}: must be 2 numbers")
    kind = DeadBandKind.named(values.dead_band_kind)
    v, omega = (
        DeadBand(width, kind) if width >= 0.0 else of_file
        for width, of_file in zip(values.dead_band, known.dead_band, strict=True)
    )
    return TrackerSettings(
        gains=KinematicGains(values.damping, values.b),
        k_v=values.k_v,
        k_w=values.k_w,
        limits=motion_limits(values),
        dead_time=known_dead_time(values, known) or (0.0, 0.0),
        dead_band=(v, omega),
        ramp=known.ramp,
        direction=values.direction,
        # After a longer gap the sample is rejected, and zero is commanded.
        longest_gap=longest_gap,
    )


def fastest(limits: MotionLimits, known: IdentifiedSigma) -> Velocity:
    """Return the speeds that the robot reaches at the limits of its commands, m/s and rad/s.

    By (3), command / sigma3 or sigma4; at least the command, as sigma may still be wrong.
    """
    (_, drag), (_, turning_drag) = known.sigma.axis(0), known.sigma.axis(1)
    return Velocity(
        limits.linear_velocity / min(drag, 1.0), limits.angular_velocity / min(turning_drag, 1.0)
    )


def estimator(
    values: TrackerParameters, known: IdentifiedSigma, settings: TrackerSettings
) -> RecursiveFit:
    """Return the estimator that identifies sigma while driving, starting from known values."""
    variances = np.array(known.variances)
    significant = bool((np.isfinite(variances) & (variances > 0.0)).all())
    return RecursiveFit(
        known.sigma,
        np.diag(variances) if significant else None,
        RecursiveSettings(
            dead_time=known_dead_time(values, known),
            longest_gap=settings.longest_gap,
            dead_band=settings.dead_band,
            largest_dead_band=(
                settings.limits.linear_velocity / 3.0,
                settings.limits.angular_velocity / 3.0,
            ),
        ),
    )


class InUse(NamedTuple):
    """What the tracker assumes of the robot, and estimates of it while driving.

    Attributes:
        variances: Of sigma1..sigma4; NaN where unknown.
        dead_band: Of the commands of (v, omega).
        bands: Estimated dead bands, m/s and rad/s; NaN where nothing is identified.
        band_variances: NaN likewise, infinite where not identifiable.
        dead_times: Of v and omega, s.
        dead_time_variances: 0 where given, NaN or infinite where not known.
    """

    sigma: Sigma
    variances: Sequence[float]
    dead_band: BandPair
    bands: Sequence[float]
    band_variances: Sequence[float]
    dead_times: Sequence[float]
    dead_time_variances: Sequence[float]

    @classmethod
    def of(
        cls,
        values: TrackerParameters,
        known: IdentifiedSigma,
        tracker: VelocityTracker,
        result: RecursiveFit | None,
    ) -> InUse:
        """Return what a tracker assumes now; `result` is its estimator, if it has one."""
        nothing = (math.nan, math.nan)
        if result is None:
            late = known_dead_time(values, known)
            return cls(
                tracker.sigma,
                known.variances,
                tracker.dead_band,
                nothing,
                nothing,
                late or (0.0, 0.0),
                nothing if late is None else (0.0, 0.0),
            )
        return cls(
            tracker.sigma,
            result.covariance.diagonal().tolist(),
            tracker.dead_band,
            result.dead_band_values.tolist(),
            result.dead_band_variances.tolist(),
            result.dead_time,
            result.dead_time_variances.tolist(),
        )

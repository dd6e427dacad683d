# SPDX-License-Identifier: Apache-2.0
"""Calibrate odometry from wheels and a gyro, a pose source, or both.

What no sensor measures is reported as not identified; see docs/theory/calibration.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import scipy

from arc_odometry import WheelGeometry
from diffbot_calibration.drive_model import GEOMETRY, Fit
from diffbot_calibration.held_out import HeldOut, held_out_drift
from diffbot_calibration.wheel_geometry import WheelGeometryFit
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.sensor_readings import (
    CalibrationReadings,
    CommonPoseErrors,
    GyroReadings,
    PoseReadings,
    ReadingsError,
    Subject,
    WheelTurns,
)
from diffbot_recordings.sensor_turns import CalibrationError

GYRO_SCALE_STD = 0.005
"""Default standard deviation of a gyro's scale about 1: 1 % in 19 of 20 gyros."""
HELD_OUT = 0.3
"""Share of the drive, at its end, that is held out to prove the calibration."""
# Largest half widths of an identified value's 95 % interval, by unit.
WIDEST = {"m": 0.05, "rad": math.radians(5.0), "s": 0.05, "1": 0.05, "lever": 0.05}
# Largest standard deviation of the path noise's logarithm.
MOST_DOUBT = 3.0
# Least overlap of stamps with those of the wheels, s, and as a share of the shorter.
SHORTEST, OVERLAP = 10.0, 0.5
# Clock drifts above both these standard deviations and this rate, s/s, are fitted.
DRIFTS, DRIFT_RATE = 4.0, 3e-4
# Refused if held-out drift is worse by more standard deviations.
WORSE_SIGMAS = 2.0
# Factor that widens the intervals in which given sizes are confirmed, if held-out motion is alike:
# in one of ten correct robots a size misses one of them.
NEAR = 2.0
# A pose source with less noise, m and rad, is the wheels' own odometry.
OWN_ODOMETRY = 3e-5
# Sizes that a gyro cannot tell.
ABSOLUTE = ("left_radius", "right_radius", "track", "linear_scale")
# Least turn each way, rad, and least distance, m, of a sufficient motion.
TURNED, DRIVEN = math.pi, 1.0


SCALES_BEFORE = {"linear_scale": 1.0, "angular_scale": 1.0, "heading_drift": 0.0}
"""Scales of an odometry that is right: true over published motion, and yaw per metre, rad/m."""


def sizes_of(geometry: WheelGeometry) -> dict[str, float]:
    """Return radii and track, m, and their ratios, by the names of a calibration's quantities."""
    mean = 0.5 * (geometry.left_radius + geometry.right_radius)
    return {
        "left_radius": geometry.left_radius,
        "right_radius": geometry.right_radius,
        "track": geometry.separation,
        "track_over_mean_radius": geometry.separation / mean,
        "radius_ratio": geometry.right_radius / geometry.left_radius,
    }


class CalibrationOutcome(Enum):
    """Outcome of a calibration."""

    CALIBRATED = "calibrated"
    CONFIRMED = "confirmed"
    REFUSED = "refused"


@dataclass(frozen=True)
class CalibratedValue:
    """A value with its 95 % interval.

    Attributes:
        lower: -inf or 0 if not identified.
        upper: inf if not identified.
        unit: Such as "m", "rad", "s", "rad/s", "m^2/m" or "1".
        reason: Why it is not identified.
    """

    value: float
    lower: float
    upper: float
    unit: str
    identified: bool = True
    reason: str | None = None

    def holds(self, value: float, widening: float = 1.0) -> bool:
        """Whether a value lies in the interval widened by a factor."""
        more = widening - 1.0
        low = self.lower - more * (self.value - self.lower)
        return low <= value <= self.upper + more * (self.upper - self.value)


@dataclass(frozen=True)
class Calibration:
    """Result of a calibration.

    Attributes:
        outcome: CONFIRMED if the given sizes lie within all intervals, or so near that held-out
            motion shows no difference.
        source: "pose source", "gyro", "gyro and pose source" or "tape".
        given: Radii and track before; of an odometry, those of wheels that would have caused it.
        geometry: Radii and track after; a size that no sensor determines is the given one.
        quantities: By name; left_radius, right_radius and track, or the scales, first.
        notes: For the user, one sentence each.
        fit: The fit, for pictures; None for a tape.
    """

    outcome: CalibrationOutcome
    reason: str
    source: str
    given: WheelGeometry
    geometry: WheelGeometry
    quantities: Mapping[str, CalibratedValue]
    held_out: HeldOut | None = None
    notes: tuple[str, ...] = ()
    fit: Fit | None = field(default=None, repr=False)
    subject: Subject = Subject.WHEELS

    @property
    def usable(self) -> bool:
        return self.outcome is not CalibrationOutcome.REFUSED

    @property
    def absolute(self) -> bool:
        """Whether all sizes are identified, not only ratios or the angular scale."""
        return all(self.quantities[name].identified for name in self.before)

    @property
    def before(self) -> dict[str, float]:
        """The sizes, or scales, before the calibration, by name."""
        return SCALES_BEFORE if self.subject is Subject.ODOMETRY else sizes_of(self.given)


def calibrate(
    wheels: WheelTurns,
    *,
    geometry: WheelGeometry,
    gyro: GyroReadings | None = None,
    poses: PoseReadings | None = None,
    gyro_scale_std: float = GYRO_SCALE_STD,
    subject: Subject = Subject.WHEELS,
    pose_errors: CommonPoseErrors | None = None,
) -> Calibration:
    """Calibrate radii and track, or the scales of an odometry, by a fit to the whole drive.

    As a proof, another fit leaves out the last HELD_OUT of it, and must drift less there than
    `geometry`.

    Args:
        wheels: Angles of both wheels, preferably at 50 Hz or more; those of an odometry's
            `odometry_turns` for Subject.ODOMETRY.
        geometry: Radii and track assumed so far.
        gyro: Yaw rates.
        poses: Poses of a pose source; it or the gyro is needed.
        gyro_scale_std: Standard deviation of the gyro's scale about 1, from its data sheet.
        pose_errors: Errors that all poses have in common, which no fit can see; None: none.

    Raises:
        CalibrationError: The readings do not belong together.
        ReadingsError: There are too few readings.
    """
    readings = CalibrationReadings(wheels, gyro, poses, subject, pose_errors or CommonPoseErrors())
    fit, drift = fit_drive(readings, geometry, gyro_scale_std)
    notes = _drifts(fit) if drift else []
    begin, end = wheels.stamps[0], wheels.stamps[-1]
    if poses is not None:
        end = min(end, poses.stamps[-1])
        begin = max(begin, poses.stamps[0])
    cut = float(end - HELD_OUT * (end - begin))
    held_out = _proof(readings, geometry, gyro_scale_std, cut, drift)
    quantities = fitted_values(fit, readings, geometry, readings.pose_errors)
    return _judged(fit, geometry, quantities, held_out, notes, subject)


def fit_drive(
    readings: CalibrationReadings, geometry: WheelGeometry, gyro_scale_std: float
) -> tuple[Fit, bool]:
    """Fit a whole drive; return the fit, and whether clocks drift. Raises as `calibrate`."""
    if not 0.0 < gyro_scale_std < 1.0:
        raise CalibrationError(
            f"gyro_scale_std = {gyro_scale_std}: must be > 0 and < 1; 0.005 means 1 % in 19 of 20"
        )
    wheels, gyro, poses = readings.wheels, readings.gyro, readings.poses
    for name, source in (("gyro", gyro), ("pose source", poses)):
        if source is not None:
            _check_overlap(wheels, name, source)
    fitter = WheelGeometryFit(wheels, geometry, gyro, poses, gyro_scale_std)
    fit = fitter.run()
    drift = _clocks_drift(fitter)
    if drift:
        fit = WheelGeometryFit(wheels, geometry, gyro, poses, gyro_scale_std, drift).run()
    return fit, drift


def fitted_values(
    fit: Fit, readings: CalibrationReadings, given: WheelGeometry, errors: CommonPoseErrors
) -> dict[str, CalibratedValue]:
    """Return what a fit tells, by name: sizes or scales first, then sensors and noise."""
    lacks = _lacks(readings.wheels, fit, given)
    return _quantities(fit, given, lacks, readings.subject, errors)


def _check_overlap(wheels: WheelTurns, name: str, source: GyroReadings | PoseReadings) -> None:
    for what, stamps in (("wheels", wheels.stamps), (name, source.stamps)):
        if len(stamps) < 20:
            raise ReadingsError(
                f"{what}: {len(stamps)} readings: must be 20 or more; record longer"
            )
    a, b = wheels.stamps, source.stamps
    common = min(a[-1], b[-1]) - max(a[0], b[0])
    shorter = min(a[-1] - a[0], b[-1] - b[0])
    if common < OVERLAP * shorter:
        raise CalibrationError(
            f"clocks differ: the stamps of the {name} are {b[0]:.2f} to {b[-1]:.2f} s, those of "
            f"the wheels {a[0]:.2f} to {a[-1]:.2f} s; both must use one clock (use_sim_time the "
            "same for all nodes, computers synchronised)"
        )
    if common < SHORTEST:
        raise CalibrationError(
            f"too little motion: wheels and {name} have {common:.1f} s in common, must be at "
            f"least {SHORTEST:g} s; record about 60 s"
        )


def _clocks_drift(fitter: WheelGeometryFit) -> bool:
    result = fitter.clock_drift().values()
    return any(abs(value) > max(DRIFTS * std, DRIFT_RATE) for value, std in result)


def _drifts(fit: Fit) -> list[str]:
    return [
        f"clocks differ: the {source}'s clock runs {1e3 * fit.value(name):+.2f} ms per s against "
        "that of the wheels; its drift was fitted with the rest, but synchronise the computers "
        "(chrony, PTP) or stamp by one clock"
        for name, source in (("pose_delay_rate", "pose source"), ("gyro_delay_rate", "gyro"))
        if abs(fit.value(name)) > DRIFT_RATE
    ]


def _proof(
    readings: CalibrationReadings,
    geometry: WheelGeometry,
    gyro_scale_std: float,
    cut: float,
    drift: bool,
) -> HeldOut | None:
    early = readings.until(cut)
    try:
        fit = WheelGeometryFit(
            early.wheels, geometry, early.gyro, early.poses, gyro_scale_std, drift
        ).run()
    except ValueError:
        return None
    return held_out_drift(readings, cut, geometry, fit)


def _lacks(wheels: WheelTurns, fit: Fit, geometry: WheelGeometry) -> str:
    left = geometry.left_radius * np.diff(wheels.left)
    right = geometry.right_radius * np.diff(wheels.right)
    turns, path = (right - left) / geometry.separation, 0.5 * np.abs(left + right)
    ccw, cw = float(turns[turns > 0.0].sum()), -float(turns[turns < 0.0].sum())
    lacks = []
    if float(path.sum()) < DRIVEN:
        lacks.append(f"only {float(path.sum()):.2g} m driven")
    if ccw + cw < TURNED:
        lacks.append(f"only {ccw + cw:.2g} rad turned")
    elif min(ccw, cw) < TURNED:
        lacks.append(f"turned {'left' if ccw > cw else 'right'} only")
    if not lacks:
        return "too little motion for the noise: drive longer, straight legs and turns both ways"
    return f"too little motion: {' and '.join(lacks)}; drive straight legs, and turns both ways"


_NO_SCALE = (
    "from a gyro only track over mean radius and the ratio of the radii are identifiable; for "
    "radii and track give a pose source, or measure a straight leg with a tape"
)
_NO_LINEAR_SCALE = (
    "from a gyro only the angular scale and the drift of heading are identifiable; for the linear "
    "scale give a pose source, or measure a straight leg with a tape"
)


def _quantities(
    fit: Fit, given: WheelGeometry, lacks: str, subject: Subject, errors: CommonPoseErrors
) -> dict[str, CalibratedValue]:
    after = fit.geometry(0.5 * (given.left_radius + given.right_radius))
    sizes = SizeIntervals(fit, lacks, _NO_SCALE, errors)
    if subject is Subject.ODOMETRY:
        sizes = SizeIntervals(fit, lacks, _NO_LINEAR_SCALE, errors)
        results = scale_values(sizes, after, given)
    else:
        results = size_values(sizes, after)
    return results | _sensor_quantities(fit, lacks, errors) | _noise_quantities(fit)


class LogIntervals(ABC):
    """Intervals of functions of three logarithms: mean radius, ratio of radii, track over it."""

    @abstractmethod
    def half_width(self, *weights: float) -> float:
        """Return the half width of the 95 % interval of a sum of the three, so weighted."""

    @abstractmethod
    def refusal(self, half: float) -> str:
        """Return why a value with this half width is not identified; empty if it is."""

    def relative(self, value: float, unit: str, *weights: float) -> CalibratedValue:
        """Return a value whose logarithm is a sum of the three, with these weights."""
        half = self.half_width(*weights)
        if why := self.refusal(half):
            return CalibratedValue(value, -math.inf, math.inf, unit, False, why)
        return CalibratedValue(value, value / math.exp(half), value * math.exp(half), unit)

    def absolute(self, value: float, unit: str, *weights: float) -> CalibratedValue:
        """Return a value whose derivatives by the three are the weights."""
        half = self.half_width(*weights)
        if why := self.refusal(half):
            return CalibratedValue(value, -math.inf, math.inf, unit, False, why)
        return CalibratedValue(value, value - half, value + half, unit)


@dataclass(frozen=True)
class SizeIntervals(LogIntervals):
    """Intervals of a fit; `lacks`: what its motion lacked, `no_scale`: why it has no radius."""

    fit: Fit
    lacks: str
    no_scale: str
    errors: CommonPoseErrors = CommonPoseErrors()

    def half_width(self, *weights: float) -> float:
        fit = self.fit
        row = np.zeros(len(fit.names))
        for name, weight in zip(GEOMETRY, weights, strict=True):
            if name in fit.names:
                row[fit.names.index(name)] = weight
            elif weight:
                return math.inf
        variance = max(0.0, float(row @ fit.covariance @ row))
        of_slip = float(row @ fit.slip_covariance @ row)
        common = np.multiply(weights, (self.errors.scale, self.errors.skew, self.errors.turn))
        return math.hypot(
            _quantile(variance, of_slip, fit) * math.sqrt(variance),
            NORMAL_95 * float(np.linalg.norm(common)),
        )

    def refusal(self, half: float) -> str:
        if half <= WIDEST["1"]:
            return ""
        return self.no_scale if math.isinf(half) else self.lacks


def size_values(sizes: LogIntervals, after: WheelGeometry) -> dict[str, CalibratedValue]:
    """Return radii and track, and their ratios, with intervals, by name."""
    left, right, relative = after.left_radius, after.right_radius, sizes.relative
    mean, skew = 0.5 * (left + right), (right - left) / (right + left)
    # d log r_l = d log r - (1 + s) / 2 d log ratio, with s = (r_r - r_l) / (r_r + r_l).
    return {
        "left_radius": relative(left, "m", 1.0, -0.5 * (1.0 + skew), 0.0),
        "right_radius": relative(right, "m", 1.0, 0.5 * (1.0 - skew), 0.0),
        "track": relative(after.separation, "m", 1.0, 0.0, 1.0),
        "track_over_mean_radius": relative(after.separation / mean, "1", 0.0, 0.0, 1.0),
        "radius_ratio": relative(right / left, "1", 0.0, 1.0, 0.0),
    }


def scale_values(
    sizes: LogIntervals, after: WheelGeometry, given: WheelGeometry
) -> dict[str, CalibratedValue]:
    """Return the scales of an odometry, and the driver's multipliers, with intervals, by name.

    With given wheels of radius r and separation b, and true ones of r' (1 -+ s) and b', the true
    velocities are v' = r'/r (v + s b w / 2) and w' = r' b / (r b') (w + 2 s v / b), and a straight
    line by odometry turns by the drift, rad/m.
    """
    relative = sizes.relative
    left, right = after.left_radius / given.left_radius, after.right_radius / given.right_radius
    linear = (after.left_radius + after.right_radius) / (given.left_radius + given.right_radius)
    skew, track = (right - left) / (right + left), after.separation / given.separation
    angular = linear / track
    drift = angular * 2.0 * skew / given.separation
    per_ratio = angular * (1.0 - skew**2) / given.separation  # by the logarithm of the ratio
    return {
        "linear_scale": relative(linear, "1", 1.0, 0.0, 0.0),
        "angular_scale": relative(angular, "1", 0.0, 0.0, -1.0),
        "heading_drift": sizes.absolute(drift, "rad/m", 0.0, per_ratio, -drift),
        "left_wheel_radius_multiplier": relative(left, "1", 1.0, -0.5 * (1.0 + skew), 0.0),
        "right_wheel_radius_multiplier": relative(right, "1", 1.0, 0.5 * (1.0 - skew), 0.0),
        "wheel_separation_multiplier": relative(track, "1", 1.0, 0.0, 1.0),
    }


def _quantile(variance: float, of_slip: float, fit: Fit) -> float:
    """Return Student's quantile for a variance whose part by slip is itself uncertain.

    As by Satterthwaite (1946); `of_slip` is its derivative by the logarithm of the path noise.
    """
    doubt = abs(of_slip) * min(fit.noise_std["path"], MOST_DOUBT)
    if doubt <= 0.0 or variance <= 0.0:
        return NORMAL_95
    return float(scipy.special.stdtrit(max(2.0 * (variance / doubt) ** 2, 1.0), 0.975))


_SENSOR = {
    "pose_delay": ("s", "s"),
    "mount_x": ("m", "lever"),
    "mount_y": ("m", "lever"),
    "mount_yaw": ("rad", "rad"),
    "gyro_delay": ("s", "s"),
    "gyro_scale": ("1", "1"),
    "pose_delay_rate": ("1", "1"),
    "gyro_delay_rate": ("1", "1"),
}


def _sensor_quantities(
    fit: Fit, lacks: str, errors: CommonPoseErrors
) -> dict[str, CalibratedValue]:
    results, noise = {}, fit.noise.position
    for name, (unit, width) in _SENSOR.items():
        if name not in fit.names:
            continue
        value, half = fit.value(name), NORMAL_95 * fit.std(name)
        if name in ("mount_x", "mount_y"):
            half = NORMAL_95 * math.hypot(fit.std(name), errors.scale * value, errors.place * noise)
        if name == "mount_yaw":
            half = NORMAL_95 * math.hypot(fit.std(name), errors.yaw * noise)
            value = math.remainder(value, math.tau)
        if half > WIDEST[width]:
            results[name] = CalibratedValue(value, -math.inf, math.inf, unit, False, lacks)
        else:
            results[name] = CalibratedValue(value, value - half, value + half, unit)
    if fit.drive.gyro is not None:
        if "log_radius" not in fit.names:
            scale = results["gyro_scale"]
            why = (
                "track and radius of the wheels are known no better than the gyro's scale; 1 is "
                "assumed"
            )
            results["gyro_scale"] = CalibratedValue(1.0, scale.lower, scale.upper, "1", False, why)
        bias = fit.walk[:, -1]
        middle, spread = float(np.mean(bias)), float(np.ptp(bias))
        time = float(fit.drive.stamps[-1] - fit.drive.stamps[0])
        half = NORMAL_95 * math.sqrt(
            fit.noise.gyro_walk / time + fit.noise.bias_walk * time / 3.0 + (0.5 * spread) ** 2
        )
        results["gyro_bias"] = CalibratedValue(middle, middle - half, middle + half, "rad/s")
    return results


def _noise_quantities(fit: Fit) -> dict[str, CalibratedValue]:
    shown = {
        "path_noise": ("path", "m^2/m"),
        "pose_position_noise": ("position", "m"),
        "pose_yaw_noise": ("yaw", "rad"),
        "gyro_angle_random_walk": ("gyro_walk", "rad^2/s"),
        "gyro_bias_walk": ("bias_walk", "(rad/s)^2/s"),
    }
    results = {}
    for name, (level, unit) in shown.items():
        if level not in fit.noise_std:
            continue
        value, std = getattr(fit.noise, level), fit.noise_std[level]
        if NORMAL_95 * std > 2.5:  # a factor of 12 both ways
            why = (
                "not identifiable: too small compared to the other noise; the value is a rough "
                "upper bound"
            )
            results[name] = CalibratedValue(value, 0.0, math.inf, unit, False, why)
        else:
            width = math.exp(NORMAL_95 * std)
            results[name] = CalibratedValue(value, value / width, value * width, unit)
    return results


def _judged(
    fit: Fit,
    given: WheelGeometry,
    quantities: dict[str, CalibratedValue],
    held_out: HeldOut | None,
    notes: list[str],
    subject: Subject,
) -> Calibration:
    after = fit.geometry(0.5 * (given.left_radius + given.right_radius))
    has_gyro, has_poses = fit.drive.gyro is not None, fit.drive.poses is not None
    source = " and ".join(["gyro"] * has_gyro + ["pose source"] * has_poses)
    before = SCALES_BEFORE if subject is Subject.ODOMETRY else sizes_of(given)
    sizes = [name for name in before if has_poses or name not in ABSOLUTE]
    unknown = [name for name in sizes if not quantities[name].identified]
    same, near = (
        all(quantities[name].holds(before[name], widening) for name in sizes)
        for widening in (1.0, NEAR)
    )
    left_out = int(np.count_nonzero(~fit.used))
    if left_out:
        notes.append(
            f"{left_out} of {len(fit.used)} poses deviate from the path by more than white noise "
            "and were ignored"
        )
    jumps = int(np.count_nonzero(fit.drive.breaks))
    if jumps:
        notes.append(f"{jumps} jumps or gaps of the pose source; motion across them was ignored")
    if fit.correlation > 4.0 / math.sqrt(len(fit.used)):
        notes.append(
            "the pose source's noise is not white (neighbours correlate by "
            f"{fit.correlation:.2f}); intervals are wider for it"
        )
    outcome, reason = _verdict(unknown, quantities, same, near, held_out, subject)
    if has_poses and max(fit.noise.position, fit.noise.yaw) < OWN_ODOMETRY:
        outcome = CalibrationOutcome.REFUSED
        reason = (
            "the pose source agrees with the wheels to 0.03 mm: it is computed from them "
            "(odometry); give one that measures independently (--pose, --tf), such as SLAM or "
            "motion capture"
        )
    return Calibration(
        outcome, reason, source, given, after, quantities, held_out, tuple(notes), fit, subject
    )


def _verdict(
    unknown: list[str],
    quantities: dict[str, CalibratedValue],
    same: bool,
    near: bool,
    held_out: HeldOut | None,
    subject: Subject,
) -> tuple[CalibrationOutcome, str]:
    if unknown:
        why = quantities[unknown[0]].reason
        return CalibrationOutcome.REFUSED, f"{', '.join(unknown)} not identified: {why}"
    if held_out is None:
        return CalibrationOutcome.REFUSED, (
            "not verified by held-out motion: the last 30 % of the recording hold less than 9 s "
            "of motion; record 60 s with motion until the end"
        )
    changes = (
        f"drift on {held_out.windows} held-out windows of {held_out.window:g} s: heading "
        f"{math.degrees(held_out.before.heading):.2g} to {math.degrees(held_out.after.heading):.2g}"
        " deg"
    )
    if held_out.before.position is not None and held_out.after.position is not None:
        changes += (
            f", position {1e3 * held_out.before.position:.3g} to "
            f"{1e3 * held_out.after.position:.3g} mm"
        )
    worse = held_out.worse > WORSE_SIGMAS
    better = held_out.after.nees < held_out.before.nees
    if same and not worse:
        return CalibrationOutcome.CONFIRMED, (
            f"the given {subject.words} lie within all intervals; {changes}"
        )
    if near and not (worse or better):
        return CalibrationOutcome.CONFIRMED, (
            f"the given {subject.words} are so close to all intervals that held-out motion shows "
            f"no difference; {changes}"
        )
    if worse or not better:
        return CalibrationOutcome.REFUSED, (
            f"odometry does not improve on held-out motion ({changes}): the wheels slip, or a "
            "sensor moved; see the picture of the drift"
        )
    return CalibrationOutcome.CALIBRATED, changes

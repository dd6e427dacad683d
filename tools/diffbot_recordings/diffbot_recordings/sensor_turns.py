# SPDX-License-Identifier: Apache-2.0
"""Turns of a gyro or a pose source beside those of the wheels; refusal of readings that disagree.

Over a window a heading turns by (r_r dphi_r - r_l dphi_l) / 2b, linear in the ratios r / 2b.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_recordings.sensor_readings import Array, GyroReadings, PoseReadings, WheelTurns, angles

Complex = NDArray[np.complex128]

# Windows over which headings are compared, s.
TURN_WINDOW = 0.4
# Delays to try, s: coarse, and fine around the best.
DELAYS, FINE = np.arange(-1.0, 1.0001, 0.05), np.arange(-0.05, 0.0501, 0.005)
# Least share of turns that the wheels explain, and range of their ratio.
EXPLAINED, RATIO = 0.5, (0.2, 5.0)
# Minimum sum of all turns, rad.
LEAST_TURN = 1.0
# Prior standard deviations: radii over track, as a share; a gyro's bias, rad/s.
PRIOR, BIAS = 0.3, 0.2
# Penalty on the residual for a second of delay.
PATIENCE = 0.1
DEGREE = np.pi / 180.0


class CalibrationError(ValueError):
    """The readings do not belong together; the message states why, and what to change."""


@dataclass(frozen=True)
class Turns:
    """Ratios r_l / 2b and r_r / 2b, and the delay of the sensor's stamps, s."""

    left: float
    right: float
    delay: float


def gyro_turns(wheels: WheelTurns, gyro: GyroReadings, geometry: WheelGeometry) -> Turns:
    """Return a first guess from a gyro; CalibrationError if it does not turn as the wheels do."""
    turns, nominal = _by_gyro(wheels, gyro, geometry)
    refuse_reversed(turns)
    refuse_turns("gyro", *nominal, unit=("rad/s", "rate"))
    return turns


def follows(wheels: WheelTurns, gyro: GyroReadings, geometry: WheelGeometry) -> tuple[float, float]:
    """Return the ratio of a gyro's turns to the wheels', and the share explained, 0 to 1."""
    return _by_gyro(wheels, gyro, geometry)[1][:2]


def _by_gyro(
    wheels: WheelTurns, gyro: GyroReadings, geometry: WheelGeometry
) -> tuple[Turns, tuple[float, float, float]]:
    times, steps = windows(gyro.stamps, TURN_WINDOW)
    source = np.diff(turned_by(gyro)[times], axis=1)[:, 0]
    stamps = gyro.stamps[times]
    turns = _turns(wheels, stamps, source, geometry, bias=steps)
    return turns, _slope(wheels, stamps, source, geometry, turns.delay, bias=steps)


def turned_by(gyro: GyroReadings) -> Array:
    """Return the integral of the gyro's rate from its first reading on, rad, (m,)."""
    pieces = 0.5 * (gyro.rate[1:] + gyro.rate[:-1]) * np.diff(gyro.stamps)
    return np.concatenate(([0.0], np.cumsum(pieces)))


def pose_turns(wheels: WheelTurns, poses: PoseReadings, geometry: WheelGeometry) -> Turns:
    """Return a first guess from the headings of poses; CalibrationError as gyro_turns."""
    times, _ = windows(poses.stamps, TURN_WINDOW)
    stamps = poses.stamps[times]
    source = _wrapped(np.diff(poses.yaw[times], axis=1)[:, 0])
    turns = _turns(wheels, stamps, source, geometry)
    slope, explained, turned = _slope(wheels, stamps, source, geometry, turns.delay)
    if explained < EXPLAINED and turned > LEAST_TURN:
        degrees = _wrapped(np.diff(poses.yaw[times], axis=1)[:, 0] * DEGREE)
        other = _turns(wheels, stamps, degrees, geometry)
        again = _slope(wheels, stamps, degrees, geometry, other.delay)
        if again[1] > max(EXPLAINED, explained):
            slope, explained = again[0] / DEGREE, again[1]
    refuse_reversed(turns)
    refuse_turns("pose source", slope, explained, turned, unit=("rad", "yaw"))
    return turns


def refuse_reversed(turns: Turns) -> None:
    """Refuse a wheel whose angle falls as it rolls forward. Raises CalibrationError."""
    low, high = sorted((turns.left, turns.right))
    if low > 0.0 or not RATIO[0] * high < -low < RATIO[1] * high:
        return  # both are right, or neither is, or the sensor does not follow the wheels at all
    side = "left" if turns.left < 0.0 else "right"
    raise CalibrationError(
        f"the sign of the {side} wheel is reversed: its angle falls as the wheel rolls forward; "
        "change its sign in joints.signs of the robot's file, or that of the encoder"
    )


def refuse_turns(
    name: str, slope: float, explained: float, turned: float, unit: tuple[str, str]
) -> None:
    """Refuse a sensor that does not turn as the wheels do. Raises CalibrationError.

    Args:
        slope: Ratio of its turns to those of the wheels with the given geometry.
        explained: Share of its turns that the wheels' turns explain.
        turned: Sum of all turns by the wheels, rad.
        unit: Unit that it should have, and the quantity in that unit.
    """
    if turned < LEAST_TURN:
        raise CalibrationError(
            f"too little motion: the wheels turned the robot by {turned:.2g} rad in all, less than "
            f"{LEAST_TURN:g} rad; drive turns both ways and straight legs"
        )
    if explained < EXPLAINED:
        raise CalibrationError(
            f"the turns of the {name} do not match those of the wheels (they explain "
            f"{100.0 * explained:.0f} % of them, must be at least {100.0 * EXPLAINED:.0f} %): "
            "check its clock and stamps, its axes (z must point up), and the wheels' signs and "
            "joints"
        )
    degrees = 1.0 / DEGREE
    if RATIO[0] * degrees < abs(slope) < RATIO[1] * degrees:
        raise CalibrationError(
            f"the {name}'s {unit[1]} is {abs(slope):.3g} times that of the wheels: it is in "
            f"degrees; convert it to {unit[0]}"
        )
    if -RATIO[1] < slope < -RATIO[0]:
        frame = (
            "its axis points down, or its frame is mirrored (y down)"
            if name == "pose source"
            else "its axis points down"
        )
        raise CalibrationError(
            f"the {name} turns opposite to the wheels: {frame}, or left and right wheel are "
            "swapped; change that sign or the joints' names"
        )
    if not RATIO[0] < slope < RATIO[1]:
        raise CalibrationError(
            f"the {name}'s {unit[1]} is {slope:.3g} times that of wheels of this radius and "
            f"track, must be {RATIO[0]:g} to {RATIO[1]:g}: check its unit ({unit[0]}), and the "
            "wheels' radius and track in the robot file"
        )


def windows(stamps: Array, length: float) -> tuple[NDArray[np.int64], Array]:
    """Return pairs of readings about `length` s apart, (n, 2), and the times between, s."""
    end = np.searchsorted(stamps, stamps + length)
    begin = np.flatnonzero(end < len(stamps))
    pairs = np.stack((begin, end[begin]), axis=1)
    steps = stamps[pairs[:, 1]] - stamps[pairs[:, 0]]
    near = steps < 2.0 * length
    return pairs[near], steps[near]


def _wrapped(turn: Array) -> Array:
    wrapped: Array = (turn + np.pi) % (2.0 * np.pi) - np.pi
    return wrapped


def _turns(
    wheels: WheelTurns,
    stamps: Array,
    source: Array,
    geometry: WheelGeometry,
    bias: Array | None = None,
) -> Turns:
    ratios = np.array([-geometry.left_radius, geometry.right_radius]) / geometry.separation
    mean, std = ratios, PRIOR * np.abs(ratios)
    if bias is not None:
        mean, std = np.append(mean, 0.0), np.append(std, BIAS)

    def fit(delay: float) -> tuple[float, Array]:
        columns = _wheel_turns(wheels, stamps, delay)
        if bias is not None:
            columns = np.column_stack((columns, bias))
        result, residual = robust_regression(columns, source, (mean, std))
        # Without changes, all delays have equal residuals: prefer the smallest.
        return residual * (1.0 + PATIENCE * abs(delay)), result

    coarse = min(DELAYS, key=lambda d: fit(float(d))[0])
    delay = float(min(coarse + FINE, key=lambda d: fit(float(d))[0]))
    _, result = fit(delay)
    return Turns(-float(result[0]), float(result[1]), delay)


def _wheel_turns(wheels: WheelTurns, stamps: Array, delay: float) -> Array:
    begin, end = (angles(wheels, stamps[:, i] - delay) for i in (0, 1))
    turned: Array = end - begin
    return turned


def _slope(
    wheels: WheelTurns,
    stamps: Array,
    source: Array,
    geometry: WheelGeometry,
    delay: float,
    bias: Array | None = None,
) -> tuple[float, float, float]:
    """Return the ratio of turns to the wheels', the share explained, and all turns' sum, rad."""
    columns = _wheel_turns(wheels, stamps, delay)
    left, right = geometry.left_radius * columns[:, 0], geometry.right_radius * columns[:, 1]
    nominal = (right - left) / geometry.separation
    design = np.stack([nominal] if bias is None else [nominal, bias], axis=1)
    # A slope may have any sign, and be large for degrees.
    prior = None if bias is None else (np.array([1.0, 0.0]), np.array([1e3, BIAS]))
    result, _ = robust_regression(design, source, prior)
    rest = source - design @ result
    moving = np.abs(nominal) > 0.25 * float(np.max(np.abs(nominal)))
    spread = source[moving] - (0.0 if bias is None else result[1] * bias[moving])
    unexplained = float(np.median(np.abs(rest[moving]))) if moving.any() else 0.0
    size = float(np.median(np.abs(spread))) if moving.any() else 0.0
    # A sensor that reads nothing explains nothing.
    usual = float(np.median(np.abs(nominal[moving]))) if moving.any() else 0.0
    explained = max(0.0, 1.0 - unexplained / max(size, 1e-12)) if size > 0.01 * usual else 0.0
    rims = geometry.right_radius * wheels.right - geometry.left_radius * wheels.left
    in_all = float(np.sum(np.abs(np.diff(rims)))) / geometry.separation
    return float(result[0]), explained, in_all


def robust_regression(
    design: Array | Complex, values: Array | Complex, prior: tuple[Array, Array] | None = None
) -> tuple[Any, float]:
    """Solve values (n,) = design (n, p) by reweighted least squares.

    Args:
        prior: Means and standard deviations of the solution, (p,).

    Returns:
        The solution, and 1.48 times the median size of the residuals.
    """
    weight = np.ones(len(values))
    result: Any = np.zeros(design.shape[1])
    rows: Any
    wanted: Any
    scale = 0.1 * float(np.median(np.abs(values)))
    for _ in range(8):
        rows, wanted = design * weight[:, None], values * weight
        if prior is not None:
            pull = (scale + 1e-9) / prior[1]
            rows = np.concatenate((rows, np.diag(pull)))
            wanted = np.concatenate((wanted, pull * prior[0]))
        result = np.linalg.lstsq(rows, wanted, rcond=None)[0]
        size = np.abs(values - design @ result)
        scale = 1.4826 * float(np.median(size)) + 1e-12
        weight = np.sqrt(1.0 / (1.0 + (size / (2.0 * scale)) ** 2))
    return result, scale

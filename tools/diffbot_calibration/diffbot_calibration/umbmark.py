# SPDX-License-Identifier: Apache-2.0
"""UMBmark: radii and track from the ends of squares driven both ways, measured with a tape.

Borenstein and Feng (1996), and an exact fit: docs/theory/calibration.md#umbmark.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from arc_odometry import Arc, Pose, WheelGeometry
from diffbot_calibration.calibration import (
    SCALES_BEFORE,
    CalibratedValue,
    Calibration,
    CalibrationOutcome,
    LogIntervals,
    scale_values,
    size_values,
    sizes_of,
)
from diffbot_recordings.sensor_readings import Array, Subject

FEWEST = 2
"""Minimum number of runs of each direction, for a scatter; Borenstein and Feng drove five."""
# Standard deviation of a measurement with a tape and a mark on the floor, m.
TAPE = 0.001
# Largest plausible error of an end, as a share of the side.
FARTHEST = 1.5
# Misfit (chi^2, 2 degrees of freedom) that is exceeded once in 1000.
UNEXPLAINED = 13.8


class UmbmarkError(ValueError):
    """An input cannot be used; the message states which number, and what to change."""


@dataclass(frozen=True)
class Squares:
    """Measurements of squares; UmbmarkError if they are implausible.

    Attributes:
        side: Side of the square, L, m.
        cw, ccw: Ends of the clockwise and counter-clockwise runs minus those by odometry, (n, 2),
            m; x along the first leg, y left.
        straight: Lengths [by odometry, measured] of straight legs, (k, 2), m; may be empty.
    """

    side: float
    cw: Array
    ccw: Array
    straight: Array

    def __post_init__(self) -> None:
        if not 0.5 <= self.side <= 100.0:
            raise UmbmarkError(f"side = {self.side} m: must be 0.5 to 100 m; 4 m are usual")
        for name in ("cw", "ccw", "straight"):
            table = np.array(getattr(self, name), dtype=float).reshape(-1, 2)
            if not np.isfinite(table).all():
                raise UmbmarkError(f"{name}: must be finite numbers, two for each run")
            if name != "straight" and len(table) < FEWEST:
                raise UmbmarkError(
                    f"{name}: {len(table)} runs: must be at least {FEWEST}, as the intervals "
                    "follow from their scatter; five are usual"
                )
            far = np.hypot(*table.T) > FARTHEST * self.side
            if name != "straight" and far.any():
                run = int(np.flatnonzero(far)[0]) + 1
                raise UmbmarkError(
                    f"{name} run {run}: its end is {np.hypot(*table[run - 1]):.3g} m off, more "
                    f"than {FARTHEST:g} of the side ({self.side:g} m): enter metres, with y to "
                    "the left of the first leg"
                )
            object.__setattr__(self, name, table)
        for commanded, measured in self.straight:
            if not (commanded > 0.0 and 0.5 < measured / commanded < 2.0):
                raise UmbmarkError(
                    f"straight {commanded:g},{measured:g}: must be the length by odometry and the "
                    "measured one, in m, and alike within a factor of 2"
                )


@dataclass(frozen=True)
class Umbmark:
    """Results by Borenstein and Feng's formulas, and the residual of the exact fit.

    Attributes:
        e_b: True over given track.
        e_d: Right over left wheel diameter.
        error: Their measure E_max,syst, the larger distance of the two mean ends, m.
        residual: Root mean square of the runs' ends after the exact fit, m.
    """

    e_b: float
    e_d: float
    error: float
    residual: float


def umbmark_formulas(squares: Squares, geometry: WheelGeometry) -> tuple[float, float]:
    """Return E_b and E_d of Borenstein and Feng."""
    cw, ccw = squares.cw.mean(axis=0), squares.ccw.mean(axis=0)
    alpha = (cw[0] + ccw[0]) / (-4.0 * squares.side)
    beta = (cw[0] - ccw[0]) / (-4.0 * squares.side)
    half = 0.5 * geometry.separation
    inverse = 2.0 * math.sin(0.5 * beta) / squares.side  # 1 / R, which may be 0
    ratio = (1.0 + half * inverse) / (1.0 - half * inverse)
    return 0.5 * math.pi / (0.5 * math.pi - alpha), ratio


def square_end(
    side: float, clockwise: bool, given: WheelGeometry, true: WheelGeometry
) -> tuple[float, float]:
    """Return the end, m, of a square by odometry of `given` wheels, with `true` ones."""
    turn = (-0.5 if clockwise else 0.5) * math.pi
    pose = Pose(0.0, 0.0, 0.0)
    for _ in range(4):
        for length, angle in ((side, 0.0), (0.0, turn)):
            wheels = given.wheel_velocity(length, angle)
            pose = Arc(*true.body_velocity(*wheels)).end(pose)
    return pose.x, pose.y


def calibrate_umbmark(
    squares: Squares, geometry: WheelGeometry, subject: Subject = Subject.WHEELS
) -> tuple[Calibration, Umbmark]:
    """Calibrate radii and track, or the odometry's scales, from squares and straight legs, if any.

    The squares were driven with `geometry`, or by an odometry that wheels of this geometry cause.
    """
    formulas = umbmark_formulas(squares, geometry)
    means = np.concatenate((squares.cw.mean(axis=0), squares.ccw.mean(axis=0)))
    covariance = np.zeros((4, 4))
    for i, runs in enumerate((squares.cw, squares.ccw)):
        at = slice(2 * i, 2 * i + 2)
        # A few runs do not determine the covariance of x and y.
        scatter = np.diag(np.var(runs, axis=0, ddof=1)) + TAPE**2 * np.eye(2)
        covariance[at, at] = scatter / len(runs)
    beta = np.array([math.log(formulas[1]), math.log(formulas[0])])
    information: Array = np.asarray(np.linalg.inv(covariance), dtype=np.float64)
    for _ in range(3):
        scale, scale_std, scale_dof = _scale(squares, geometry, beta)
        beta, square = _fitted(squares.side, geometry, beta, scale, means, information)
    rest = means - _ends(squares.side, geometry, beta, scale)
    spread: Array = np.asarray(np.linalg.inv(square), dtype=np.float64)
    dof = len(squares.cw) + len(squares.ccw) - 2
    unexplained = float(rest @ information @ rest)
    runs = np.concatenate((squares.cw - (means - rest)[:2], squares.ccw - (means - rest)[2:]))
    umbmark = Umbmark(
        *formulas,
        error=float(max(np.hypot(*means[:2]), np.hypot(*means[2:]))),
        residual=float(np.sqrt(np.mean(np.sum(runs**2, axis=1)))),
    )
    true = _geometry(geometry, beta, scale)
    intervals = _Intervals(spread, dof, scale_std, scale_dof, len(squares.straight))
    if subject is Subject.ODOMETRY:
        quantities = scale_values(intervals, true, geometry)
    else:
        quantities = size_values(intervals, true)
    notes = [
        f"Borenstein and Feng's formulas: E_b {umbmark.e_b:.5f}, E_d {umbmark.e_d:.5f}; systematic "
        f"error of the squares {1e3 * umbmark.error:.0f} mm, scatter {1e3 * umbmark.residual:.1f} "
        "mm"
    ]
    if unexplained > UNEXPLAINED * max(1.0, 4.0 / dof):
        notes.append(
            "radii and track explain the ends poorly: the wheels may have slipped in one "
            "direction, or an end was entered with the wrong sign (x along the first leg, y to "
            "its left)"
        )
    outcome, reason = _verdict(quantities, geometry, true, subject)
    return Calibration(
        outcome, reason, "tape", geometry, true, quantities, None, tuple(notes), None, subject
    ), umbmark


def _fitted(
    side: float, given: WheelGeometry, beta: Array, scale: float, means: Array, information: Array
) -> tuple[Array, Array]:
    square = np.eye(2)
    for _ in range(20):
        rest = means - _ends(side, given, beta, scale)
        jacobian = np.empty((4, 2))
        for i in range(2):
            step = np.zeros(2)
            step[i] = 1e-5
            ahead, behind = (_ends(side, given, beta + s * step, scale) for s in (1, -1))
            jacobian[:, i] = (ahead - behind) / 2e-5
        square = jacobian.T @ information @ jacobian
        move = np.linalg.solve(square, jacobian.T @ information @ rest)
        beta = beta + move
        if np.all(np.abs(move) < 1e-10):
            break
    return beta, square


def _ends(side: float, given: WheelGeometry, beta: Array, scale: float) -> Array:
    true = _geometry(given, beta, scale)
    return np.array([*square_end(side, True, given, true), *square_end(side, False, given, true)])


def _geometry(given: WheelGeometry, beta: Array, scale: float) -> WheelGeometry:
    """Return the geometry of beta (log E_d, log E_b) and scale (true over given mean radius)."""
    mean = 0.5 * (given.left_radius + given.right_radius) * scale
    ratio = given.right_radius / given.left_radius * math.exp(beta[0])
    left = 2.0 * mean / (1.0 + ratio)
    return WheelGeometry(left, ratio * left, given.separation * scale * math.exp(beta[1]))


def _scale(squares: Squares, given: WheelGeometry, beta: Array) -> tuple[float, float, int]:
    """Return true over given mean radius, its standard deviation, and degrees of freedom."""
    if not len(squares.straight):
        return 1.0, math.inf, 1
    true = _geometry(given, beta, 1.0)
    ends = [
        Arc(*true.body_velocity(*given.wheel_velocity(length, 0.0))).end(Pose(0.0, 0.0, 0.0))
        for length in squares.straight[:, 0]
    ]
    lengths = np.array([math.hypot(end.x, end.y) for end in ends])
    scales = squares.straight[:, 1] / lengths
    if len(scales) < 2:
        return float(scales[0]), math.inf, 1
    std = math.hypot(float(np.std(scales, ddof=1)), TAPE / float(np.mean(lengths)))
    return float(np.mean(scales)), std / math.sqrt(len(scales)), len(scales) - 1


@dataclass(frozen=True)
class _Intervals(LogIntervals):
    """See calibration.LogIntervals; `spread` is the covariance of ratio and track over radius."""

    spread: Array
    dof: int
    scale_std: float
    scale_dof: int
    straight: int

    def half_width(self, *weights: float) -> float:
        row = np.array(weights[1:])
        half = _student(self.dof) * math.sqrt(float(row @ self.spread @ row))
        if not weights[0]:
            return half
        return math.hypot(half, weights[0] * _student(self.scale_dof) * self.scale_std)

    def refusal(self, half: float) -> str:
        if math.isfinite(half):
            return ""
        if self.straight == 1:
            return "one straight leg has no scatter: measure two or more (--straight)"
        return (
            "from squares only track over radius and the ratio of the radii are identifiable: "
            "drive a straight leg of 3 m or more, twice, and give its lengths (--straight "
            "BY_ODOMETRY,MEASURED)"
        )


def _student(dof: int) -> float:
    return float(scipy.special.stdtrit(dof, 0.975))


def _verdict(
    quantities: dict[str, CalibratedValue],
    given: WheelGeometry,
    true: WheelGeometry,
    subject: Subject,
) -> tuple[CalibrationOutcome, str]:
    before = SCALES_BEFORE if subject is Subject.ODOMETRY else sizes_of(given)
    if all(quantities[name].holds(before[name]) for name in before if name != "track"):
        return (
            CalibrationOutcome.CONFIRMED,
            f"the given {subject.words} lie within all intervals",
        )
    after = sizes_of(true)
    changes = ", ".join(
        f"{label} {100.0 * (after[name] / sizes_of(given)[name] - 1.0):+.2f} %"
        for label, name in (
            ("left radius", "left_radius"),
            ("right radius", "right_radius"),
            ("track", "track"),
        )
    )
    return CalibrationOutcome.CALIBRATED, (
        f"{changes}; drive the squares again with these values to verify them"
    )


def read_squares(texts: Sequence[str], name: str) -> Array:
    """Parse pairs such as "0.12,-0.03" to (n, 2). Raises UmbmarkError."""
    pairs = []
    for text in texts:
        try:
            pair = [float(part) for part in text.split(",")]
        except ValueError:
            pair = []
        if len(pair) != 2 or not all(map(math.isfinite, pair)):
            raise UmbmarkError(
                f"{name} {text.strip()!r}: must be two numbers, as in 0.12,-0.03 (m)"
            )
        pairs.append(pair)
    return np.array(pairs).reshape(-1, 2)

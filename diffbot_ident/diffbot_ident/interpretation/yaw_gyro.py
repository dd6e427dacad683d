# SPDX-License-Identifier: Apache-2.0
"""Comparison of a gyro with the wheels, fitted to angles over windows.

    g(t) = gamma omega_w(t - delay) + kappa v_w(t - delay) + bias(t) + noise

with v_w and omega_w from the wheels; docs/theory/estimates.md#radius-track-and-gyro.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, MutableSequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.estimate import Array, GyroFit

Flags = NDArray[np.bool_]

# Length of a window, s: within one bit of an excitation.
WINDOW = 0.2
# Time between two knots of the bias, s.
KNOTS = 10.0
# Range of delays, s, and the steps of the search.
DELAY_MIN, DELAY_MAX, COARSE, FINE = -0.1, 0.3, 0.01, 0.001
# Minimum number of windows and yaw rate (root mean square, rad/s) to judge the gyro.
MIN_WINDOWS, MIN_TURNING = 25, 0.05
# Minimum share of the gyro's rotation that the wheels must explain.
MIN_AGREEMENT = 0.8
# Range of gamma; skid steer turns half as fast as its wheels indicate. Outside, unit or axis
# differ.
SCALE_MIN, SCALE_MAX = 0.3, 1.5
DEGREES = 180.0 / math.pi
DEGREES_TOLERANCE = 0.5
# Intervals longer than so many usual ones, and than this time (s), are gaps.
GAP_PERIODS, GAP_TIME = 4.0, 0.03
# The fit is repeated once its time span has grown by this share.
REFIT_FRACTION = 0.05
# Memory beside a control loop, s: a longer one improves little, and fits must end between commands.
LIVE_MEMORY = 120.0
# Readings are dropped once the oldest are older than so many times the memory.
FORGET = 1.25
# Lags, in windows, of the residuals' correlation.
LAGS = 3
# Time beyond MIN_WINDOWS windows in which the gyro's readings must have arrived, s.
ENOUGH_WHEELS = 5.0
# Deviation of the integration error, as a share of its correction,
LOST_FRACTION = 0.5
# and of the delay due to sampled angles, as a share of their period.
DELAY_FRACTION = 0.005


class GyroError(ValueError):
    """The gyro is faulty or misconfigured; the message states what to change."""


@dataclass(frozen=True)
class _Windows:
    """Windows without gaps, (n,): stamps, s, rotation by the gyro less its error `lost`, rad."""

    begin: Array
    end: Array
    turned: Array
    lost: Array


class YawGyro:
    """Compares a gyro with the wheels.

    Args:
        window: Length of a window, s, > 0.
        delays: Minimum and maximum delay of the gyro in the search, s.
        memory: Minimum time that readings are kept, s, > 0.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        window: float = WINDOW,
        delays: tuple[float, float] = (DELAY_MIN, DELAY_MAX),
        memory: float = math.inf,
    ) -> None:
        self._geometry = geometry
        self._window = window
        self._delays = delays
        self._memory = memory
        self._gyro: list[tuple[float, float]] = []
        # Stamp, turn and path since the beginning, and 1 where the step to it is no good.
        self._wheels: list[tuple[float, float, float, float]] = []
        self._angles: tuple[float, float] | None = None
        self._interrupted = False
        self._fit: GyroFit | None = None
        self._fitted = -math.inf  # stamp of the last fit

    @property
    def readings(self) -> int:
        return len(self._gyro)

    def add(self, stamp: float, rate: float) -> None:
        """Add a reading of the yaw rate (rad/s, counter-clockwise) at a stamp (s).

        Raises:
            ValueError: Not finite, or the stamp does not increase; the reading is ignored.
        """
        if not (math.isfinite(stamp) and math.isfinite(rate)):
            raise ValueError(f"gyro: rate {rate} rad/s at {stamp} s: must be finite")
        if self._gyro and stamp <= self._gyro[-1][0]:
            raise ValueError(
                f"gyro: stamp {stamp:.6f} s after {self._gyro[-1][0]:.6f} s: must rise; check "
                "that only one driver publishes it"
            )
        self._gyro.append((stamp, rate))
        self._forget(self._gyro)

    def add_wheels(self, sample: JointSample) -> None:
        """Add a joint sample that continues the previous one, except after `interrupt`."""
        last, self._angles = self._angles, sample.position
        if last is None:
            self._wheels.append((sample.stamp, 0.0, 0.0, 1.0))
            return
        before, turn, path, _ = self._wheels[-1]
        if sample.stamp <= before:
            return
        left, right = (
            math.remainder(new - old, math.tau)
            for new, old in zip(sample.position, last, strict=True)
        )
        step, turned = self._geometry.body_velocity(left, right)
        bad = 1.0 if self._interrupted else 0.0
        self._interrupted = False
        self._wheels.append((sample.stamp, turn + turned, path + step, bad))
        self._forget(self._wheels)

    def _forget(self, readings: MutableSequence[Any]) -> None:
        newest = readings[-1][0]
        if newest - readings[0][0] > FORGET * self._memory:
            del readings[: bisect_left(readings, newest - self._memory, key=itemgetter(0))]

    def interrupt(self) -> None:
        """The next joint sample does not continue the previous one."""
        self._interrupted = True

    def fit(self, anew: bool = False) -> GyroFit | None:
        """Return the current fit, `anew` if asked; None while the robot has not turned enough.

        Raises:
            GyroError: The gyro is faulty or misconfigured.
        """
        if len(self._gyro) < 2 or len(self._wheels) < 2:
            self._check_presence()
            return None
        newest = min(self._gyro[-1][0], self._wheels[-1][0])
        due = self._fitted + REFIT_FRACTION * (self._fitted - self._gyro[0][0])
        if self._fit is not None and newest < due and not anew:
            return self._fit
        windows, wheels = self._usable()
        if len(windows.begin) < MIN_WINDOWS:
            self._check_presence()
            return None
        self._fit, self._fitted = self._solve(windows, wheels), newest
        return self._fit

    def explained_by(self, fit: GyroFit) -> tuple[float, float, int]:
        """Test a fit to other data on these readings; only the bias is fitted to them.

        Returns:
            Share of the rotation that it explains; rms error of a window, rad; number of windows.
            NaN if there are too few.
        """
        if len(self._gyro) < 2 or len(self._wheels) < 2:
            return math.nan, math.nan, 0
        windows, wheels = self._usable()
        bias = _BiasLine(windows)
        if len(windows.begin) < 2 * bias.knots:
            return math.nan, math.nan, len(windows.begin)
        moved = _moved(windows, wheels, np.array([fit.delay]))[0]
        uneven = fit.scale * fit.radius_difference / self._geometry.separation
        left = windows.turned - moved @ np.array((fit.scale, uneven))
        turned, left = (bias.taken_off(each[:, None])[:, 0] for each in (windows.turned, left))
        squares = float(left @ left)
        return 1.0 - squares / float(turned @ turned), math.sqrt(squares / len(left)), len(left)

    def _usable(self) -> tuple[_Windows, Array]:
        """Return the windows without gaps for any delay in the range, and the wheels."""
        wheels = np.array(self._wheels)
        return _covered(self._windows(np.array(self._gyro)), wheels, self._delays), wheels

    def _check_presence(self) -> None:
        if not self._wheels:
            return
        first, last = self._wheels[0][0], self._wheels[-1][0]
        if last - first < ENOUGH_WHEELS + self._window * MIN_WINDOWS:
            return
        if len(self._gyro) < 2:
            raise GyroError("no reading of the gyro received; check that its driver publishes it")
        begin, end = self._gyro[0][0], self._gyro[-1][0]
        if begin > last or end < first:
            raise GyroError(
                f"the gyro's stamps ({begin:.3f} to {end:.3f} s) and the joint states' "
                f"({first:.3f} to {last:.3f} s) do not overlap; let both drivers use one clock"
            )

    def _windows(self, gyro: Array) -> _Windows:
        stamps, rate = gyro.T
        steps = np.diff(stamps)
        usual = float(np.median(steps))
        turned = np.concatenate(([0.0], np.cumsum(0.5 * (rate[1:] + rate[:-1]) * steps)))
        # Euler-Maclaurin: by this term's difference the trapezoidal sum exceeds the integral.
        cut = usual**2 / 12.0 * np.gradient(rate, stamps)
        gaps = np.concatenate(([0], np.cumsum(_is_gap(steps, usual))))
        edges = np.arange(0, len(stamps), max(1, round(self._window / usual)))
        begin, end = edges[:-1], edges[1:]
        good = gaps[begin] == gaps[end]
        begin, end = begin[good], end[good]
        lost = cut[end] - cut[begin]
        return _Windows(stamps[begin], stamps[end], turned[end] - turned[begin] - lost, lost)

    def _solve(self, windows: _Windows, wheels: Array) -> GyroFit | None:
        bias = _BiasLine(windows)
        turned = bias.taken_off(windows.turned[:, None])[:, 0]

        def seen(delays: Array) -> Array:
            """Return turns and paths less what a bias explains, (delays, n, 2)."""
            return bias.taken_off(_moved(windows, wheels, delays))

        now = seen(np.zeros(1))[0]
        span = float(np.mean(windows.end - windows.begin))
        turning = math.sqrt(float(np.mean(now[:, 0] ** 2))) / span
        if turning < MIN_TURNING:
            return None
        power = float(turned @ turned)
        if power <= 1e-18 * len(turned):
            raise GyroError(
                "the gyro reads a constant value while the wheels turn the robot with "
                f"{turning:.2g} rad/s; it is defective, or not fixed to the robot"
            )
        delay = self._find_delay(lambda delays: _left(seen(delays), turned))
        # The derivative by the delay is a regressor: its uncertainty reduces the precision.
        pair = seen(np.array((delay - FINE, delay, delay + FINE)))
        theta = np.linalg.lstsq(pair[1], turned, rcond=None)[0]
        shift = ((pair[2] - pair[0]) @ theta)[:, None] / (2.0 * FINE)
        columns = np.hstack((pair[1], shift))
        residuals = turned - pair[1] @ theta
        agreement = 1.0 - float(residuals @ residuals) / power
        _check_agreement(float(theta[0]), agreement, turning)
        self._check_delay(delay)
        variance = _variances(columns, residuals, bias.knots)
        # Known only to about a half where a motion has kinks.
        rough = np.linalg.lstsq(pair[1], windows.lost, rcond=None)[0]
        variance[:2] += (LOST_FRACTION * rough) ** 2
        variance[2] += (DELAY_FRACTION * float(np.median(np.diff(wheels[:, 0])))) ** 2
        raw = windows.turned - _moved(windows, wheels, np.array([delay]))[0] @ theta
        gamma = float(theta[0])
        track = self._geometry.separation
        return GyroFit(
            scale=gamma,
            scale_std=math.sqrt(variance[0]),
            radius_difference=track * float(theta[1]) / gamma,
            radius_difference_std=track * math.sqrt(variance[1]) / gamma,
            bias=float(raw.sum() / (windows.end - windows.begin).sum()),
            delay=delay,
            delay_std=math.sqrt(variance[2]),
            agreement=agreement,
            windows=len(turned),
        )

    def _find_delay(self, costs: Callable[[Array], Array]) -> float:
        """Return the delay of minimum cost, s; searched near the last one first."""
        shortest, longest = self._delays
        everywhere = np.arange(shortest, longest + 0.5 * COARSE, COARSE)

        def beside(middle: float) -> tuple[Array, Array]:
            near = np.clip(middle + FINE * np.arange(-10, 11), shortest, longest)
            return near, costs(near)

        if self._fit is not None:
            near, left = beside(everywhere[np.argmin(np.abs(everywhere - self._fit.delay))])
            if 0 < np.argmin(left) < len(left) - 1:
                return _lowest(near, left)
        return _lowest(*beside(everywhere[np.argmin(costs(everywhere))]))

    def _check_delay(self, delay: float) -> None:
        shortest, longest = self._delays
        if not shortest + COARSE < delay < longest - COARSE:
            raise GyroError(
                f"the gyro is {delay:.2f} s late or more: must be {shortest:g} to {longest:g} s; "
                "let both drivers use one clock"
            )


def _is_gap(steps: Array, usual: float) -> Flags:
    gaps: Flags = steps > max(GAP_PERIODS * usual, GAP_TIME)
    return gaps


def _covered(windows: _Windows, wheels: Array, delays: tuple[float, float]) -> _Windows:
    stamps = wheels[:, 0]
    steps = np.diff(stamps)
    bad = _is_gap(steps, float(np.median(steps))) | (wheels[1:, 3] > 0.0)
    count = np.concatenate(([0.0], np.cumsum(bad)))
    first, last = windows.begin - delays[1], windows.end - delays[0]
    good = (first >= stamps[0]) & (last <= stamps[-1])
    good &= np.interp(last, stamps, count) == np.interp(first, stamps, count)
    fields = (windows.begin, windows.end, windows.turned, windows.lost)
    return _Windows(*(values[good] for values in fields))


def _moved(windows: _Windows, wheels: Array, delays: Array) -> Array:
    """Return turn (rad) and path (m) in windows earlier by each delay, (d, n, 2)."""
    stamps, values = wheels[:, 0], wheels[:, 1:3]
    slopes = np.gradient(values, stamps, axis=0)

    def at(times: Array) -> Array:
        """Interpolate by cubic Hermite splines."""
        i = np.clip(np.searchsorted(stamps, times, side="right") - 1, 0, len(stamps) - 2)
        step = (stamps[i + 1] - stamps[i])[..., None]
        fraction = (times - stamps[i])[..., None] / step
        rest = 1.0 - fraction
        begin, end = values[i], values[i + 1]
        bend = fraction * rest * step * (rest * slopes[i] - fraction * slopes[i + 1])
        result: Array = begin + fraction**2 * (1.0 + 2.0 * rest) * (end - begin) + bend
        return result

    late = delays[:, None]
    return at(windows.end - late) - at(windows.begin - late)


class _BiasLine:
    """A piecewise linear bias, and what it explains; a window has two knots beside it."""

    def __init__(self, windows: _Windows) -> None:
        middle = 0.5 * (windows.begin + windows.end)
        span = middle[-1] - middle[0]
        self.knots = max(2, 1 + round(span / KNOTS))
        at = (middle - middle[0]) * ((self.knots - 1) / span)
        self._before = np.minimum(at.astype(int), self.knots - 2)
        width = windows.end - windows.begin
        after = (at - self._before) * width
        self._weights = width - after, after
        information = np.zeros((self.knots, self.knots))
        for i, one in enumerate(self._weights):
            for j, other in enumerate(self._weights):
                np.add.at(information, (self._before + i, self._before + j), one * other)
        # Knots in a long gap have no window.
        seen = np.maximum(information.diagonal(), 1e-12 * information.max())
        np.fill_diagonal(information, seen)
        self._inverse = np.linalg.inv(information)

    def taken_off(self, values: Array) -> Array:
        """Return values, (..., n, c), less the bias that fits them best."""
        along = np.zeros((*values.shape[:-2], self.knots, values.shape[-1]))
        first = np.flatnonzero(np.diff(self._before, prepend=-1))
        for i, weight in enumerate(self._weights):
            sums = np.add.reduceat(weight[:, None] * values, first, axis=-2)
            along[..., self._before[first] + i, :] += sums
        fitted = self._inverse @ along
        less = values.copy()
        for i, weight in enumerate(self._weights):
            less -= weight[:, None] * fitted[..., self._before + i, :]
        return less


def _left(columns: Array, turned: Array) -> Array:
    """Return the sums of squared residuals by d sets of regressors, (d, n, 2)."""
    information = np.einsum("dna,dnb->dab", columns, columns)
    information += 1e-12 * np.eye(2) * np.trace(information, axis1=1, axis2=2)[:, None, None]
    along = np.einsum("dna,n->da", columns, turned)
    theta = np.linalg.solve(information, along[:, :, None])[:, :, 0]
    left: Array = turned @ turned - np.sum(theta * along, axis=1)
    return left


def _lowest(at: Array, costs: Array) -> float:
    """Return the place of the minimum of a parabola through the lowest cost and its neighbours."""
    best = int(np.argmin(costs))
    if not 0 < best < len(at) - 1:
        return float(at[best])
    before, here, after = costs[best - 1 : best + 2]
    bend = before - 2.0 * here + after
    step = 0.5 * (before - after) / bend if bend > 0.0 else 0.0
    return float(at[best] + step * (at[best + 1] - at[best]))


def _variances(columns: Array, residuals: Array, others: int) -> Array:
    """Return the variances of n residuals' 3 parameters; infinite for a regressor of zeros.

    The larger ones of those for independent and correlated residuals; `others` parameters were
    fitted before.
    """
    scale = np.sqrt(np.sum(columns**2, axis=0))
    known = scale > 0.0
    scaled = columns / np.where(known, scale, 1.0)
    inverse = np.linalg.pinv(scaled.T @ scaled)
    count = len(residuals)
    free = max(count - others - columns.shape[1], 1)
    plain = inverse * float(residuals @ residuals) / free
    weighted = scaled * residuals[:, None]
    meat = weighted.T @ weighted
    for lag in range(1, LAGS + 1):
        shared = weighted[lag:].T @ weighted[:-lag]
        meat += (1.0 - lag / (LAGS + 1.0)) * (shared + shared.T)
    robust = inverse @ meat @ inverse * count / free
    result = np.full(len(scale), np.inf)
    result[known] = np.maximum(np.diag(plain), np.diag(robust))[known] / scale[known] ** 2
    return result


def _check_agreement(gamma: float, agreement: float, turning: float) -> None:
    if agreement < MIN_AGREEMENT:
        raise GyroError(
            f"the gyro does not follow the wheels, which turn the robot with {turning:.2g} "
            f"rad/s: they explain {100.0 * max(agreement, 0.0):.0f} % of what it reads; check "
            "that angular_velocity.z is about the vertical axis, that the gyro works and is "
            "fixed to the robot, and that both drivers use one clock"
        )
    for unit in (DEGREES, -DEGREES):
        if abs(gamma / unit - 1.0) < DEGREES_TOLERANCE:
            flipped = "" if unit > 0.0 else ", and its axis points down: flip its sign"
            raise GyroError(
                f"the gyro reads {gamma:.1f} times the yaw rate of the wheels: it is in degrees "
                f"per second; publish rad/s{flipped}"
            )
    if -SCALE_MAX < gamma < -SCALE_MIN:
        raise GyroError(
            f"the gyro reads {gamma:.2f} times the yaw rate of the wheels: its axis points down; "
            "flip the sign of angular_velocity.z, or swap the wheels' names if those are wrong"
        )
    if not SCALE_MIN < gamma < SCALE_MAX:
        raise GyroError(
            f"the gyro reads {gamma:.3g} times the yaw rate of the wheels: must be {SCALE_MIN:g} "
            f"to {SCALE_MAX:g}; check its unit (rad/s) and axis, and wheels.radius and "
            "wheels.separation in the robot's file"
        )

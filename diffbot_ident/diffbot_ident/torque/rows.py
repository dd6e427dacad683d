# SPDX-License-Identifier: Apache-2.0
"""Rows of the integrated model from joint samples; docs/theory/integral_estimator.md#rows.

(41) of Lages (2017) with the wheels' friction, integrated over a window, each end averaged:

    v(t+h) - v(t)         = K5 int omega^2 + K7 int (T_l + T_r)
    omega(t+h) - omega(t) = K6 int v omega + K8 int (T_l - T_r),    T = tau - c w - f sign(w)
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_description.dynamics import accelerations
from diffbot_ident.estimate import Array
from diffbot_ident.samples.series import differences, halves, moving_sum
from diffbot_ident.samples.wheel_speeds import (
    SUM_AND_DIFFERENCE,
    UNKNOWN_RESPONSE,
    TorqueResponse,
    each_wheel,
    level_side,
    turns,
    wheel_speeds,
)
from diffbot_ident.torque.columns import (
    DOMEGA,
    DV,
    OMEGA,
    OMEGA_SQUARED,
    ONE,
    SIGN_LEFT,
    SIGN_RIGHT,
    V_OMEGA,
    V,
)
from diffbot_ident.torque.effects import TORQUES, StepMotion, fill_columns
from diffbot_ident.torque.torque_delay import (
    BATCHES,
    DELAYS,
    FINE_DELAYS,
    REACH,
    delay_columns,
    delayed,
)

Flags = NDArray[np.bool_]

# Low speed of a wheel, as a share of the expected one.
SLOW_FRACTION = 0.05
# A sample was lost if the time between two exceeds this many periods.
LONG_STEP = 1.5


class IntegralRows:
    """Turns a segment of joint samples into rows, one starting at each sample.

    Args:
        window: Control periods from one end of a window to the other, >= 1.
        smoothing: Control periods over which each end is averaged, >= 1.
        fine: Samples per control period, >= 1: the torques of all, the angles of the last are used.
        period: Control period, s.
        slow: Wheel speed below which friction may differ, rad/s.
        turning: Whether the floor resists turning (skid steer); it may be set later.

    Attributes:
        overlap: Control periods by which segments must overlap so that no row is lost.
        columns: Number of columns of a row.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        window: int,
        smoothing: int,
        fine: int = 1,
        period: float = 0.01,
        slow: float = 1.0,
        turning: bool = False,
    ) -> None:
        self._geometry = geometry
        self.turning = turning
        self.window = window
        self.smoothing = smoothing
        self.fine = fine
        self._period = period
        self._slow = slow
        self._side = level_side(period)
        # Near the ends of a segment both guesses of reversals are worse.
        self.first = max(FINE_DELAYS, 2 * self._side)
        self._back = 2 * self._side + 1
        self.overlap = window + smoothing + self.first + self._back - 1
        self.columns = TORQUES + 2 * delay_columns(fine)

    def make(
        self,
        samples: Array,
        response: TorqueResponse = UNKNOWN_RESPONSE,
        past: Array | None = None,
    ) -> tuple[Array, Flags, Flags]:
        """Build the rows of a segment of consecutive samples.

        Args:
            samples: Stamp (s), angles [left, right] (rad), torques [left, right] (N m) that acted
                over the period that ends with the sample, and heading (rad), shape (n fine, 6).
            past: Samples before these, whose torques may still act.

        Returns:
            Rows, shape (max(n - overlap, 0), columns), 0 where friction may hold a wheel, or the
            floor the robot; whether all directions are kept in each; whether no sample was lost.
        """
        if len(samples) <= self.overlap * self.fine:
            return np.empty((0, self.columns)), np.empty(0, dtype=bool), np.empty(0, dtype=bool)
        if past is None:
            past = samples[:0]
        steps, flags, period = self._steps(samples, response, past)
        ends = _means(steps, period, self.smoothing)
        rows = ends[self.window :] - ends[: -self.window]
        within = moving_sum(flags.astype(float), self.window + self.smoothing - 1) > 0.0
        reverses, stuck, lost = within.T
        rows[stuck] = 0.0
        return rows, ~reverses, ~lost

    def _steps(
        self, samples: Array, response: TorqueResponse, past: Array
    ) -> tuple[Array, Flags, Array]:
        """Return the columns from each period's middle to that of the next, flags, and periods, s.

        Flags (n, 3): a direction reverses, friction may hold, a sample was lost.
        """
        fine = self.fine
        kept = samples[fine - 1 :: fine]
        period = differences(kept[:, 0])
        turned = turns(kept[:, 1:3])
        speed = turned / period[:, None]
        moved = np.array(self._geometry.body_velocity(*turned.T))  # [path, angle]
        lasting = differences(samples[fine - 1 :, 0])
        impulse = samples[fine:, 3:5] * lasting[:, None]
        every = np.concatenate((self._impulses_before(past, samples[:fine]), impulse))
        late, size = self._acting(every, period, response)
        first, last = self.first, len(period) - self._back  # steps from period k to k + 1
        at = slice(first, last)
        steps = np.empty((last - first, self.columns))
        steps[:, ONE] = halves(period)[at]
        steps[:, V : OMEGA + 1] = halves(moved.T)[at]
        v_squared = self._add_products(steps, moved / period, late, response, first)
        wheels = wheel_speeds(speed, period, late, response, self._geometry, self._side)
        rising, falling = wheels.sign_integrals()
        steps[:, SIGN_LEFT : SIGN_RIGHT + 1] = (rising[:-1] + falling[1:])[at]
        torques = each_wheel(late)
        dry = response.dry_friction(torques, period)
        torques /= period[:, None]
        expected = self._expected_gains(steps, wheels.middle, torques, dry, response, period, at)
        yaw = wheels.of_yaw(self._geometry, response)
        motion = StepMotion(
            geometry=self._geometry,
            response=response,
            slow=self._slow,
            sampling=self._period / fine,
            fine=fine,
            first=first,
            at=at,
            period=period,
            gap=steps[:, ONE],
            angles=kept[first : last + 2, 1:3],
            heading=kept[1:-1, 5][at],
            v_squared=v_squared,
            wheels=wheels,
            yaw=yaw,
            signs=(rising, falling),
            unexpected=differences(speed)[at] - expected,
            torques=torques,
            size=size,
            dry=dry,
            pull=response.pull(halves(kept[:, 5])),
            impulse=every,
            reach=REACH,
        )
        fill_columns(steps, motion)
        _add_torques(steps, every @ SUM_AND_DIFFERENCE, first, fine)
        return steps, self._flags(motion, late, lasting), period[first : last + 1]

    def _acting(self, every: Array, period: Array, response: TorqueResponse) -> tuple[Array, Array]:
        """Return the torques' acting integrals in n periods, (2, n), N m s, and sizes, (n, 2), N m.

        `every` has the integrals of [left, right] over the samples, from REACH periods before on.
        """
        fine = self.fine
        reported = (every @ SUM_AND_DIFFERENCE).reshape(-1, fine, 2).sum(axis=1)
        sizes = np.abs(every).reshape(-1, fine, 2).sum(axis=1)
        both = np.concatenate((reported, sizes), axis=1).T
        acting = delayed(both, response.delay, response.lag)[:, REACH:]
        return acting[:2], acting[2:].T / period[:, None]

    def _add_products(
        self, steps: Array, mean: Array, late: Array, response: TorqueResponse, first: int
    ) -> Array:
        """Fill in the outputs and products of velocities of the steps; return the means of v^2.

        `mean` [v, omega] of n periods, and `late`, the acting impulse, are (2, n).
        """
        end = first + len(steps)
        steps[:, DV : DOMEGA + 1] = differences(mean.T)[first:end]
        gains = np.array([[response.k7], [response.k8]])
        products = _mean_products(mean, gains * (late[:, 1:] - late[:, :-1]))
        (v_squared, v_omega), (_, omega_squared) = products[:, :, first - 1 : end - 1]
        steps[:, OMEGA_SQUARED] = steps[:, ONE] * omega_squared
        steps[:, V_OMEGA] = steps[:, ONE] * v_omega
        result: Array = v_squared
        return result

    def _flags(self, motion: StepMotion, late: Array, lasting: Array) -> Flags:
        """Return the flags of `_steps`; `lasting`: time from each sample to the next, (n fine,)."""
        response, period, at, speeds = motion.response, motion.period, motion.at, motion.wheels
        stuck = stuck_wheels(motion)
        if self.turning:
            stuck |= stuck_turning(motion, response.k8 * late[1] / period)
            speeds = speeds.beside(motion.yaw)
        sign = np.sign(speeds.begin) + np.sign(speeds.end)
        lost = _lost(lasting, response.delay, self._period, self.fine)
        flags = np.empty((len(motion.gap), 3), dtype=bool)
        flags[:, 0] = ~(sign[:-1] * sign[1:] > 3.0).all(axis=1)[at]
        flags[:, 1] = (stuck[:-1] | stuck[1:])[at]
        flags[:, 2] = (lost[:-1] | lost[1:])[at]
        return flags

    def _impulses_before(self, past: Array, first: Array) -> Array:
        """Return the torques' integrals over REACH periods before, N m s, (REACH fine, 2)."""
        reported = np.concatenate((past, first))[-REACH * self.fine - 1 :]
        known = reported[1:, 3:5] * differences(reported[:, 0])[:, None]
        missing = REACH * self.fine - len(known)
        unknown = reported[:1, 3:5] * (self._period / self.fine)
        return np.concatenate((np.repeat(unknown, missing, axis=0), known))

    def _expected_gains(
        self,
        steps: Array,
        speeds: Array,
        torques: Array,
        dry: Array,
        response: TorqueResponse,
        period: Array,
        at: slice,
    ) -> Array:
        """Return the gains in the wheels' speeds per step, rad/s, (m, 2), by (41)."""
        acting = (torques - response.friction[:2] * speeds - dry * np.sign(speeds)) * period[
            :, None
        ]
        total, difference = halves(acting @ SUM_AND_DIFFERENCE)[at].T
        k5, k6 = response.products
        dv = k5 * steps[:, OMEGA_SQUARED] + response.k7 * total
        domega = k6 * steps[:, V_OMEGA] + response.k8 * difference
        return np.array(self._geometry.wheel_velocity(dv, domega)).T


def _lost(lasting: Array, delay: float, period: float, fine: int) -> Flags:
    long = lasting > LONG_STEP * period / fine
    reported: Flags = np.logical_or.reduce(long.reshape(-1, fine), axis=1)
    lost = reported.copy()
    for late in range(1, math.ceil(delay) + 1):
        lost[late:] |= reported[:-late]
    return lost


def _add_torques(steps: Array, pair: Array, first: int, fine: int) -> None:
    """Fill in the torques of a step for every delay; see `acting_weights`.

    `pair`: integrals of sum and difference from REACH periods before the segment on, (n fine, 2).
    """
    count = len(steps)
    out = steps[:, TORQUES:].reshape(count, -1, 2)
    reach = REACH - 1
    if fine == 1:
        far = pair[first + 2 : first + 2 + reach + count]
        near, single = 0, range(DELAYS + 1)
    else:
        weights = np.concatenate((np.arange(fine) + 0.5, fine - 0.5 - np.arange(fine))) / fine
        every = np.lib.stride_tricks.sliding_window_view(pair, 2 * fine, axis=0) @ weights
        start = (first + REACH) * fine
        near, single = (FINE_DELAYS - 1) * fine + 2, range(FINE_DELAYS, DELAYS)
        for late in range(near):
            out[:, late] = every[start - late :: fine][:count]
        far = every[start - reach * fine :: fine][: reach + count]
    for column, late in enumerate(single, near):
        out[:, column] = far[reach - late : reach - late + count]
    late, column = single[-1], near + len(single)
    for size in BATCHES:
        late += size
        part = far[reach - late : reach - late + count + size - 1]
        out[:, column] = moving_sum(part, size) / size
        column += 1


def _mean_products(mean: Array, jump: Array) -> Array:
    """Return the means of [[v v, v omega], [omega v, omega omega]], shape (2, 2, n - 3).

    Under the triangle over periods k and k + 1, from means (2, n) and jumps d of their slopes:

        mean of x y = [x(k) y(k+1) + y(k) x(k+1)] / 2
                      - (b d_y + c d_x) / 12 + 5 / 12 (a bar)(e bar) - d_x d_y / 48
    """
    one, other, bent = mean[:, 1:-2], mean[:, 2:-1], jump[:, 1:-1]
    at_boundary = 0.5 * (one + other) - 0.25 * bent  # the velocities b at the end of period k
    # The mean gain per period over k and k + 1, by the periods before and after.
    before = one - mean[:, :-3] + 0.5 * (bent + jump[:, :-2])
    after = mean[:, 3:] - other - 0.5 * (bent + jump[:, 2:])
    result = _products(one, other) - _products(at_boundary, bent) / 6.0
    return result + 5.0 / 12.0 * _products(before, after) - bent[:, None] * bent / 48.0


def _products(x: Array, y: Array) -> Array:
    """Return (x_i y_j + y_i x_j) / 2 for every pair of rows, shape (2, 2, n)."""
    result = x[:, None] * y
    symmetric: Array = 0.5 * (result + result.swapaxes(0, 1))
    return symmetric


def _means(steps: Array, period: Array, count: int) -> Array:
    """Return means over `count` periods, (n + 1), s, of accumulated columns: distance over time.

    Means of the periods' own velocities would be too large by 2 (jitter / period)^2.
    """
    gathered = np.zeros((len(steps) + 1, steps.shape[1]))
    steps.cumsum(axis=0, out=gathered[1:])
    lasting = period[:, None]
    result: Array = moving_sum(lasting * gathered, count) / moving_sum(lasting, count)
    return result


# Dry friction may hold a motion that it would stop within this many control periods,
SLOW_TURNS = 2.0
# up to this multiple of its estimate.
STUCK_FRACTION = 1.3


def stuck_wheels(motion: StepMotion) -> NDArray[np.bool_]:
    """Return the periods in which dry friction may hold a wheel, shape (n,)."""
    response, period = motion.response, motion.period
    dry = motion.dry + np.array(response.stiction)
    speeds, torques, geometry = motion.wheels.middle, motion.torques, motion.geometry
    if not dry.any():
        return np.zeros(len(period), dtype=bool)
    b, k = geometry.half_track, (*response.products, response.k7, response.k8)
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    v, omega = geometry.body_velocity(*speeds.T)
    most = (response.k7 + b * abs(response.k8)) / radius * dry
    slow = np.abs(speeds) < SLOW_TURNS * most * period[:, None]
    holding = np.minimum(np.maximum(torques, -dry), dry)
    resistance = np.where(slow, holding, np.sign(speeds) * dry) + speeds * response.friction[:2]
    driven = np.array(accelerations(k, v, omega, *(torques - resistance).T))
    dv, domega = driven + motion.pull.T
    most_turning = abs(response.k8) * radius / b * response.holding
    turns_slowly = np.abs(motion.yaw.middle[:, 0]) < SLOW_TURNS * most_turning * period
    domega -= np.where(turns_slowly, 0.0, np.sign(omega) * most_turning)
    resisted = np.where(turns_slowly, b * most_turning, 0.0)[:, None]
    rims = dv[:, None] + domega[:, None] * (-b, b)
    # A wheel may be held if friction can cancel the acceleration it would have without.
    freely = np.abs(rims + (response.k7 - b * response.k8) * resistance)
    freely = np.maximum(freely - resisted, 0.0) / radius
    stuck = slow & (freely < STUCK_FRACTION * most)
    either: NDArray[np.bool_] = stuck[:, 0] | stuck[:, 1]
    return either


def stuck_turning(motion: StepMotion, drive: Array) -> NDArray[np.bool_]:
    """Return the periods in which the floor may hold the robot; `drive` is rad/s^2 by torques."""
    geometry, response = motion.geometry, motion.response
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    lever = radius / geometry.half_track
    most = abs(response.k8) * lever * response.holding
    wheels = abs(response.k8) * (response.friction[2] + response.friction[3])
    slow: NDArray[np.bool_] = np.abs(motion.yaw.middle[:, 0]) < SLOW_TURNS * most * motion.period
    return slow & (np.abs(drive) < most + wheels)
